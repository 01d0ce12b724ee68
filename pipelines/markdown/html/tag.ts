import { part } from '../text/characters.js'
import { decodeAttribute } from './entities.js'
import { MAX_PARENTHESES } from '../output/escape.js'
import type { Tag } from '../text/events.js'
import { withLineFeeds } from './line-ends.js'
import { attributeBit, ELEMENTS, KNOWN_NAMES, lowerName, unitsMatch, type ElementName } from '../text/names.js'
import { pageScanner } from './page-scanner.js'
import {
  ATTRIBUTE_NAME,
  ATTRIBUTE_NAME_END,
  ATTRIBUTE_SIZE,
  ATTRIBUTE_TRAITS,
  ATTRIBUTE_VALUE,
  ATTRIBUTE_VALUE_END,
  ATTRIBUTES,
  TAG_ATTRIBUTES,
  TAG_ATTRIBUTES_END,
  TAG_BITS,
  TAG_ID,
  TAG_NAME,
  TAG_NAME_END,
  TAG_SELF_CLOSING,
  TOKENS,
  VALUE_DECODE,
  VALUE_FOREIGN,
  VALUE_NUL,
  VALUE_PARENTHESIS,
  VALUE_RETURN,
  VALUE_TITLE,
} from '../scanner/layout.js'
import { decodeUtf8Text } from './utf8-text.js'

// Local names for numbers of other modules. They become part of the compiled code, and are not looked up at each use.
const ROWS = ELEMENTS
const ID = TAG_ID
const BITS = TAG_BITS
const SELF_CLOSING = TAG_SELF_CLOSING
const FIRST = TAG_ATTRIBUTES
const LAST = TAG_ATTRIBUTES_END
const ALL = ATTRIBUTES / 4
const SIZE = ATTRIBUTE_SIZE
const NAME = ATTRIBUTE_NAME
const NAME_END = ATTRIBUTE_NAME_END
const VALUE = ATTRIBUTE_VALUE
const VALUE_END = ATTRIBUTE_VALUE_END
const TRAITS = ATTRIBUTE_TRAITS

const OPENING = 0x28
const CLOSING = 0x29

/**
 * The tag that is being read. It stores the positions of its attributes in the page and copies nothing before an
 * attribute is requested. WHATWG HTML, 13.2.5.6 to 13.2.5.40.
 */
export class OpenTag implements Tag {
  name = ''
  id = KNOWN_NAMES
  attributeBits = 0
  selfClosing = false
  valueIsPlain = false
  valueIsTitle = false
  /** Entry of the name in the table. */
  element: ElementName | undefined = undefined

  readonly #scanner = pageScanner()
  #html = ''
  #units: Uint8Array = this.#scanner.units
  #table: Int32Array = this.#scanner.table
  /** Each character of the page is a byte of UTF-8. */
  #isUtf8 = false
  /** Where the numbers of its attributes start and end in the table. */
  #first = 0
  #last = 0

  /** Sets the text that the scanner reads from now on. With `isUtf8` its characters are bytes of UTF-8. */
  within(html: string, isUtf8 = false): void {
    this.#html = html
    this.#isUtf8 = isUtf8
    this.#units = this.#scanner.units
    this.#table = this.#scanner.table
  }

  /** Loads a scanned tag. */
  take(table: Int32Array, token: number): void {
    const id = table[token + ID] as number
    const element = ROWS[id]
    this.id = id
    this.element = element
    this.name = element === undefined ? this.#unknownName(table, token) : element.name
    this.#first = ALL + (table[token + FIRST] as number) * SIZE
    this.#last = ALL + (table[token + LAST] as number) * SIZE
    this.attributeBits = table[token + BITS] as number
    this.selfClosing = table[token + SELF_CLOSING] !== 0
  }

  #unknownName(table: Int32Array, token: number): string {
    return this.#lowerName(table[token + TAG_NAME] as number, table[token + TAG_NAME_END] as number)
  }

  #lowerName(start: number, end: number): string {
    return lowerName(this.#decoded(this.#html.slice(start, end)))
  }

  /**
   * Reads the tag whose name starts at `start`. Returns the position after its `>`, or -1 if the text ends before.
   *
   *     <a href="/" title=Home>
   *      ^
   */
  read(start: number): number {
    const end = this.#scanner.scanTag(start, this.#html.length)
    if (end >= 0) this.take(this.#table, TOKENS / 4)
    return end
  }

  attribute(name: string): string | undefined {
    const index = this.#find(name)
    return index < 0 ? undefined : this.#value(index)
  }

  attributeStarts(name: string, start: string): boolean {
    const index = this.#find(name)
    if (index < 0) return false
    const from = this.#table[index + VALUE] as number
    return (this.#table[index + VALUE_END] as number) - from >= start.length && unitsMatch(this.#units, from, start)
  }

  attributeFirst(name: string): number {
    const index = this.#find(name)
    if (index < 0) return 0
    const from = this.#table[index + VALUE] as number
    return from < (this.#table[index + VALUE_END] as number) ? (this.#units[from] as number) : 0
  }

  attributeIncludes(name: string, text: string): boolean {
    const index = this.#find(name)
    if (index < 0) return false
    const units = this.#units
    const first = text.charCodeAt(0)
    const last = (this.#table[index + VALUE_END] as number) - text.length
    for (let at = (this.#table[index + VALUE] as number) | 0; at <= last; at++)
      if (((units[at] as number) | 0x20) === first && unitsMatch(units, at, text)) return true
    return false
  }

  attributeUnits(name: string, read: (units: Uint8Array, start: number, end: number) => number): number {
    const index = this.#find(name)
    if (index < 0) return 0
    return read(this.#units, this.#table[index + VALUE] as number, this.#table[index + VALUE_END] as number)
  }

  /** The place of an attribute in the table, -1 if the tag does not have it. */
  #find(name: string): number {
    if ((this.attributeBits & attributeBit(name.charCodeAt(0), name.length)) === 0) return -1
    const table = this.#table
    const last = this.#last
    for (let index = this.#first; index < last; index += SIZE) {
      const start = table[index + NAME] as number
      const end = table[index + NAME_END] as number
      if (end - start === name.length && unitsMatch(this.#units, start, name)) return index
    }
    return -1
  }

  attributes(): Map<string, string> {
    const table = this.#table
    const all = new Map<string, string>()
    for (let index = this.#first; index < this.#last; index += SIZE) {
      const name = this.#lowerName(table[index + NAME] as number, table[index + NAME_END] as number)
      if (!all.has(name)) all.set(name, this.#value(index))
    }
    return all
  }

  #decoded(name: string): string {
    return this.#isUtf8 ? decodeUtf8Text(name) : name
  }

  /** The value of the attribute at a place in the table. */
  #value(index: number): string {
    const table = this.#table
    const start = table[index + VALUE] as number
    const end = table[index + VALUE_END] as number
    const traits = table[index + TRAITS] as number
    const escapes = traits & ~VALUE_TITLE
    this.valueIsPlain = escapes === 0 || (escapes === VALUE_PARENTHESIS && this.#parenthesesMatch(start, end))
    this.valueIsTitle = (traits & VALUE_TITLE) === 0
    const written = part(this.#html, start, end)
    const all = (traits & VALUE_FOREIGN) !== 0 && this.#isUtf8 ? decodeUtf8Text(written) : written
    const raw = (traits & VALUE_RETURN) === 0 ? all : withLineFeeds(all)
    const value = (traits & VALUE_DECODE) === 0 ? raw : decodeAttribute(raw)
    return (traits & VALUE_NUL) === 0 ? value : value.replaceAll('\0', '\ufffd')
  }

  /** Returns whether the parentheses of a value match, as is required in an address in Markdown. */
  #parenthesesMatch(start: number, end: number): boolean {
    const units = this.#units
    let depth = 0
    for (let at = start | 0; at < end; at++) {
      const char = units[at] as number
      if (char === OPENING && ++depth > MAX_PARENTHESES) return false
      if (char === CLOSING && --depth < 0) return false
    }
    return depth === 0
  }

  /** Lets go of the page. */
  clear(): void {
    this.#html = ''
    this.#first = this.#last = 0
  }
}
