import type { Addresses } from '../text/address.js'
import { collapse } from '../text/characters.js'
import type { Tag } from '../text/events.js'

/** Valid names of tags and attributes (CommonMark 0.31.2, 6.6). */
const NAME = /^[a-z][a-z\d-]*$/
const ATTRIBUTE = /^[a-z_:][\w.:-]*$/

/** Attributes that are scripts, which are always dropped. */
const SCRIPT = /^(?:on|srcdoc$)/

/** Attributes whose value is an address. */
const ADDRESSES = new Set('href src action formaction poster cite background longdesc data xlink:href'.split(' '))

/** Addresses that are scripts or separate pages. Pictures are neither. */
const UNSAFE = /^(?:javascript|vbscript|data(?!:image\/(?!svg)))\s*:/i

/** Returns whether Markdown can contain a tag of that name. */
export const isTagName = (name: string): boolean => NAME.test(name)

/**
 * Returns a start tag as it is written in Markdown. It is on one line, its addresses are resolved with the page's
 * `<base>`, and it has no scripts. `src` replaces its own.
 */
export function startTag(tag: Tag, addresses: Addresses, src?: string): string {
  const attributes = tag.attributes()
  if (src !== undefined) attributes.set('src', src)
  let text = `<${tag.name}`
  for (const [name, raw] of attributes) {
    if (!ATTRIBUTE.test(name) || SCRIPT.test(name)) continue
    const value = ADDRESSES.has(name) ? addresses.resolve(raw) : raw
    if (ADDRESSES.has(name) && UNSAFE.test(value)) continue
    text += ` ${name}="${/[&"<\n\r]/.test(value) ? value.replace(/[&"<\n\r]/g, reference) : value}"`
  }
  return text + '>'
}

/** Returns text as HTML, with white space collapsed. */
export function htmlText(text: string): string {
  const line = collapse(text)
  return /[&<>]/.test(line) ? line.replace(/[&<>]/g, reference) : line
}

function reference(char: string): string {
  switch (char) {
    case '&':
      return '&amp;'
    case '<':
      return '&lt;'
    case '>':
      return '&gt;'
    case '"':
      return '&quot;'
    default:
      return `&#${char.charCodeAt(0)};`
  }
}

/** A tag that remains valid after the call that passed it. */
export class HeldTag implements Tag {
  readonly name: string
  readonly id: number
  readonly attributeBits: number
  readonly selfClosing: boolean
  readonly valueIsPlain = false
  readonly valueIsTitle = false
  readonly #attributes: Map<string, string>

  constructor(tag: Tag) {
    this.name = tag.name
    this.id = tag.id
    this.attributeBits = tag.attributeBits
    this.selfClosing = tag.selfClosing
    this.#attributes = tag.attributes()
  }

  attribute(name: string): string | undefined {
    return this.#attributes.get(name)
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
    return this.#attributes
  }
}
