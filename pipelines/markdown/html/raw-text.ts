import { matches } from '../text/names.js'

const isDelimiter = (char: number) =>
  char === 0x3e || char === 0x2f || char === 0x20 || char === 0x0a || char === 0x09 || char === 0x0c || char === 0x0d

/** `<name` or `</name` in any case, with something after it that ends the name. */
const standsAt = (html: string, at: number, mark: string, name: string) =>
  html.startsWith(mark, at) &&
  matches(html, at + mark.length, name) &&
  isDelimiter(html.charCodeAt(at + mark.length + name.length))

/** Maximum length that must be available as a whole: `</script` and the character after it. */
const MAX_END_TAG_LENGTH = 9

/**
 * Finds the end tag of an element whose contents are text: `</title>`, `</style>`, `</script>`. A script hides its end
 * tag between `<!--<script` and `-->`. WHATWG HTML, 13.2.5.9 to 13.2.5.31.
 */
export class RawText {
  /** End of the certain text after `find`. If the end tag was found, the text ends there. */
  end = 0

  readonly #name: string
  readonly #script: boolean
  /** 0 in a script, 1 after `<!--` in it, 2 after `<script` in that. */
  #escape: 0 | 1 | 2 = 0

  /** `name` is the name of the element. Without a name nothing ends the text. */
  constructor(name: string, script: boolean) {
    this.#name = name
    this.#script = script
  }

  /** Returns whether the end tag is in `html` at or after `from`. Uncertain text is read again. */
  find(html: string, from: number, ended: boolean): boolean {
    return this.#script ? this.#findInScript(html, from, ended) : this.#findTag(html, from, ended)
  }

  #endsAt(html: string, at: number): boolean {
    return this.#name !== '' && standsAt(html, at, '</', this.#name)
  }

  #findTag(html: string, from: number, ended: boolean): boolean {
    const whole = this.#name.length + 3
    let at = html.indexOf('</', from)
    for (; at >= 0; at = html.indexOf('</', at + 2)) {
      if (this.#endsAt(html, at)) {
        this.end = at
        return true
      }
      if (at + whole > html.length) break
    }
    if (ended) this.end = html.length
    else if (at >= 0) this.end = at
    else this.end = html.endsWith('<') ? Math.max(from, html.length - 1) : html.length
    return false
  }

  #findInScript(html: string, start: number, ended: boolean): boolean {
    const whole = Math.max(MAX_END_TAG_LENGTH, this.#name.length + 3)
    let from = start
    let arrow = -1
    for (;;) {
      const at = html.indexOf('<', from)
      if (this.#escape > 0) {
        if (arrow < from) arrow = html.indexOf('-->', from)
        if (arrow < 0) arrow = Infinity
        if (arrow < (at < 0 ? html.length : at)) {
          this.#escape = 0
          from = arrow + 3
          continue
        }
      }
      if (at < 0) {
        // A `-->` may begin at the very end.
        this.end = ended || this.#escape === 0 ? html.length : Math.max(from, html.length - 2)
        return false
      }
      if (this.#escape < 2 && this.#endsAt(html, at)) {
        this.end = at
        return true
      }
      if (at + whole > html.length && !ended) {
        this.end = at
        return false
      }
      from = at + 1
      if (this.#escape === 0 && html.startsWith('<!--', at)) {
        this.#escape = 1
        // The dashes may belong to `-->` as well.
        from = at + 2
      } else if (this.#escape === 1 && standsAt(html, at, '<', 'script')) this.#escape = 2
      else if (this.#escape === 2 && standsAt(html, at, '</', 'script')) this.#escape = 1
    }
  }
}
