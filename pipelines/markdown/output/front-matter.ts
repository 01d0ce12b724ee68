import type { Tag } from '../text/events.js'

/** The `<meta>` elements that count, best first. */
const FIELDS = {
  title: ['name title', 'property og:title'],
  description: ['name description', 'property og:description'],
  image: ['property og:image'],
} as const

/** Values of the page's `<meta>` elements. */
export class FrontMatter {
  readonly #values = new Map<string, string>()

  /** Records a `<meta>`. The first one of a type that has a value counts. */
  meta(tag: Tag): void {
    const content = tag.attribute('content')?.trim()
    if (content === undefined || content === '') return
    for (const attribute of ['name', 'property']) {
      const key = tag.attribute(attribute)
      if (key === undefined) continue
      const source = `${attribute} ${key.trim().toLowerCase()}`
      if (!this.#values.has(source)) this.#values.set(source, content)
    }
  }

  /** Returns the block, or '' if no field has a value. */
  toString(): string {
    let lines = ''
    for (const [field, sources] of Object.entries(FIELDS)) {
      const source = sources.find((each) => this.#values.has(each))
      if (source !== undefined) lines += `${field}: ${scalar(this.#values.get(source) as string)}\n`
    }
    return lines === '' ? '' : `---\n${lines}---`
  }
}

/**
 * Returns text as a YAML scalar. It is plain if every parser of YAML 1.1 or 1.2 reads the same text from it, otherwise
 * in double quotes. YAML 1.2.2, 7.3.1 and 7.3.3.
 */
function scalar(text: string): string {
  const isPlain =
    /^[\p{L}][\p{L}\p{N}\p{M} .,;!?()'"/&%+*=@_~$–—…·|‘’“”-]*$/u.test(text) &&
    !/^(?:true|false|yes|no|on|off|null|y|n|nan|inf)$/i.test(text)
  if (isPlain || /^https?:\/\/[\w.~/?&=%+@,;!$()*-]+$/.test(text)) return text
  const escaped = text
    // A half of a surrogate pair is not a character and cannot be written in any encoding.
    .replace(/[\ud800-\udbff][\udc00-\udfff]|[\ud800-\udfff]/g, (pair) => (pair.length === 2 ? pair : '\ufffd'))
    // oxlint-disable-next-line no-control-regex
    .replace(/["\\\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g, (char) => ESCAPES[char] ?? unicode(char))
  return `"${escaped}"`
}

const ESCAPES: Readonly<Record<string, string>> = { '"': '\\"', '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' }

const unicode = (char: string) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
