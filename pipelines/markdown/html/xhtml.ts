import { decodeHTMLStrict } from 'entities/decode'
import sax from 'sax'
import { readDoctype } from './doctype.js'
import type { Events, Tag, Tokenizer } from '../text/events.js'
import { LineEnds } from './line-ends.js'
import { idOf, isVoid, lowerName } from '../text/names.js'
import { NotConvertible } from '../text/not-convertible.js'
import { traitsOf } from './text-scan.js'

/** Elements of these are known without their prefix: `h:p` is `p` where `h` is bound to XHTML. */
const KNOWN_NAMESPACES: ReadonlySet<string> = new Set([
  'http://www.w3.org/1999/xhtml',
  'http://www.w3.org/2000/svg',
  'http://www.w3.org/1998/Math/MathML',
])

/** Maximum characters passed to sax per call, so the text that sax examines repeatedly stays small. */
const PIECE = 1024

/**
 * Maximum characters that `sax` buffers of an unrecognized `<!...`. The longest declaration that it recognizes is
 * `[CDATA[`.
 */
const MAX_DECLARATION_LENGTH = 16

/** All of HTML's named references, as browsers know them from the XHTML doctypes. sax looks them up one by one. */
const ENTITIES = new Proxy<Record<string, string>>(Object.create(null) as Record<string, string>, {
  get(_, name) {
    if (typeof name !== 'string' || name.startsWith('#')) return undefined
    const reference = `&${name};`
    const decoded = decodeHTMLStrict(reference)
    return decoded === reference ? undefined : decoded
  },
})

/** The attributes of a tag as sax has read them. */
class XmlTag implements Tag {
  name = ''
  id = 0
  /** Attributes in sax are found by name, so each bit may be set. */
  readonly attributeBits = -1
  /** Nobody has looked. */
  readonly valueIsPlain = false
  readonly valueIsTitle = false
  selfClosing = false
  #attributes: Record<string, string> = {}

  set(name: string, tag: sax.Tag): void {
    this.name = name
    this.id = idOf(name)
    this.selfClosing = tag.isSelfClosing
    this.#attributes = tag.attributes
  }

  attribute(name: string): string | undefined {
    return Object.hasOwn(this.#attributes, name) ? this.#attributes[name] : undefined
  }

  attributeFirst(name: string): number {
    const value = this.attribute(name)
    return value ? value.charCodeAt(0) : 0
  }

  attributeIncludes(name: string, text: string): boolean {
    return this.attribute(name)?.toLowerCase().includes(text) === true
  }

  attributeUnits(): number {
    return -1
  }

  attributeStarts(name: string, start: string): boolean {
    return this.attribute(name)?.toLowerCase().startsWith(start) === true
  }

  attributes(): Map<string, string> {
    const all = new Map<string, string>()
    for (const [name, value] of Object.entries(this.#attributes)) {
      const lower = lowerName(name)
      if (!all.has(lower)) all.set(lower, value)
    }
    return all
  }
}

/**
 * Makes sax fail on two attributes with one name instead of dropping the second. sax checks for each attribute whether
 * it exists already.
 */
function rejectDuplicates(attributes: Record<string, string>): void {
  Object.defineProperty(attributes, 'hasOwnProperty', {
    value(this: object, name: string): boolean {
      if (name !== 'hasOwnProperty' && Object.hasOwn(this, name))
        throw new NotConvertible(`not well-formed: two attributes named ${name}`)
      return false
    },
  })
}

/**
 * Reads XHTML by the rules of XML, with `sax` in strict mode. Reports the same events as an HTML page of the same
 * elements, with names in lower case and without a prefix bound to XHTML, SVG or MathML, and no end tag for `<br/>`.
 * Any error in the markup throws NotConvertible from `write` or `end`, as a browser would show an error instead of the
 * page.
 *
 * Named references are known with and without a doctype. Entities that a page declares itself are not expanded.
 */
export class XhtmlTokenizer implements Tokenizer {
  readonly #events: Events
  readonly #parser: sax.SAXParser
  readonly #lineEnds = new LineEnds()
  readonly #tag = new XmlTag()

  #depth = 0
  #sawRoot = false
  /** The depth of the element that is not wanted, 0 without one. */
  #unwanted = 0
  /** The depth of the wanted script inside it, 0 without one. */
  #script = 0
  /** Prefixes that open elements bind, innermost last, and for each prefix its bindings in the same order. */
  #bound: { depth: number; prefix: string }[] = []
  #uris = new Map<string, string[]>()

  constructor(events: Events) {
    this.#events = events
    // Without positions sax does not limit its buffers, and a picture in a data: URL is no error. The page is limited.
    const parser = sax.parser(true, { position: false })
    const handlers: Partial<sax.SAXParser> = {
      ENTITIES,
      onerror({ message }) {
        throw new NotConvertible(`not well-formed: ${message}`)
      },
      onsgmldeclaration() {
        throw new NotConvertible('not well-formed: a declaration outside the doctype')
      },
      onopentagstart: ({ attributes }) => rejectDuplicates(attributes as Record<string, string>),
      onattribute({ name }) {
        // sax asks the object with the attributes for its method of this name.
        if (name === 'hasOwnProperty') throw new NotConvertible(`an attribute named ${name}`)
      },
      onopentag: (tag) => this.#open(tag as sax.Tag),
      onclosetag: (name) => this.#close(name),
      ontext: (text) => this.#text(text),
      oncdata: (text) => this.#text(text),
      oncomment: (text) => {
        if (this.#unwanted === 0) events.comment?.(text)
      },
      ondoctype(text) {
        const { name, publicId, systemId, quirks } = readDoctype(text, false)
        events.doctype?.(name, publicId, systemId, quirks)
      },
    }
    Object.assign(parser, handlers)
    this.#parser = parser
  }

  write(text: string): void {
    const read = this.#lineEnds.read(text)
    for (let at = 0; at < read.length; at += PIECE) {
      this.#parser.write(read.slice(at, at + PIECE))
      const { sgmlDecl } = this.#parser as { sgmlDecl?: string }
      if (sgmlDecl !== undefined && sgmlDecl.length > MAX_DECLARATION_LENGTH) {
        throw new NotConvertible('not well-formed: a declaration outside the doctype')
      }
    }
  }

  end(): void {
    this.#parser.close()
    if (!this.#sawRoot) throw new NotConvertible('not well-formed: no element')
  }

  #open(from: sax.Tag): void {
    if (this.#depth === 0 && this.#sawRoot) throw new NotConvertible('not well-formed: a second root element')
    this.#sawRoot = true
    this.#depth++
    this.#bind(from.attributes)
    const name = this.#localName(from.name)
    const tag = this.#tag
    tag.set(name, from)
    if (this.#unwanted === 0) {
      if (this.#events.open(tag) === 'skip') this.#unwanted = this.#depth
    } else if (this.#script === 0 && name === 'script' && this.#events.open(tag) !== 'skip') {
      this.#script = this.#depth
    }
  }

  #close(fullName: string): void {
    const depth = this.#depth--
    const name = this.#localName(fullName)
    this.#unbind(depth)
    if (this.#unwanted === 0) {
      if (!isVoid(name)) this.#events.close(name, idOf(name))
    } else if (depth === this.#script) {
      this.#script = 0
      this.#events.close(name, idOf(name))
    } else if (depth === this.#unwanted) this.#unwanted = 0
  }

  #text(text: string): void {
    if (this.#unwanted === 0 || this.#script > 0) this.#events.text(text, traitsOf(text))
  }

  #bind(attributes: Record<string, string>): void {
    for (const name in attributes) {
      if (!name.startsWith('xmlns:')) continue
      const prefix = name.slice('xmlns:'.length)
      this.#bound.push({ depth: this.#depth, prefix })
      const uris = this.#uris.get(prefix)
      if (uris === undefined) this.#uris.set(prefix, [attributes[name] ?? ''])
      else uris.push(attributes[name] ?? '')
    }
  }

  #unbind(depth: number): void {
    for (let last = this.#bound.at(-1); last?.depth === depth; last = this.#bound.at(-1)) {
      this.#bound.pop()
      this.#uris.get(last.prefix)?.pop()
    }
  }

  #localName(name: string): string {
    const colon = name.indexOf(':')
    if (colon < 0) return lowerName(name)
    const uri = this.#uris.get(name.slice(0, colon))?.at(-1)
    return lowerName(uri !== undefined && KNOWN_NAMESPACES.has(uri) ? name.slice(colon + 1) : name)
  }
}
