import { part } from './characters.js'
import { indexOfUnit } from './code-units.js'
import { decodeAttribute } from './entities.js'
import { MAX_PARENTHESES } from './escape.js'
import type { Tag } from './events.js'
import { withLineFeeds } from './line-ends.js'
import { attributeBit, elementAt, hasName, KNOWN_NAMES, lowerName, mix, unitsMatch, type ElementName } from './names.js'
import { decodeUtf8Text } from './utf8-text.js'

const TAB = 0x09
const LF = 0x0a
const FF = 0x0c
const CR = 0x0d
const SPACE = 0x20
const QUOTE = 0x22
const AMPERSAND = 0x26
const APOSTROPHE = 0x27
const OPENING = 0x28
const CLOSING = 0x29
const SLASH = 0x2f
const LESS = 0x3c
const EQUALS = 0x3d
const GREATER = 0x3e
const BACKSLASH = 0x5c

/** Offsets kept from one tag to the next: a tag with more gives the memory back. */
const KEPT = 4096

/** Where the name of a tag or of an attribute ends, and an unquoted value: bits for each character. */
const SPACE_BIT = 1
const SLASH_BIT = 2
const GREATER_BIT = 4
const EQUALS_BIT = 8
const ENDS = new Uint8Array(0x10000)
for (const char of [SPACE, LF, TAB, FF, CR]) ENDS[char] = SPACE_BIT
ENDS[SLASH] = SLASH_BIT
ENDS[GREATER] = GREATER_BIT
ENDS[EQUALS] = EQUALS_BIT

/** What of an attribute's value takes another look: what may have to be decoded, what an address may have to escape. */
const DECODE_BIT = 1
const ESCAPE_BIT = 2
const NUL_BIT = 4
const RETURN_BIT = 8
/** It may be part of a character of UTF-8. */
const FOREIGN_BIT = 16
/** In an address it needs an escape unless all of them match. */
const PARENTHESIS_BIT = 32
/** It needs an escape in a title. */
const TITLE_BIT = 64
const VALUES = new Uint8Array(0x10000).fill(ESCAPE_BIT)
VALUES.fill(0, 0x21, 0x7f)
VALUES.fill(ESCAPE_BIT | FOREIGN_BIT, 0x80, 0x100)
VALUES[LESS] = VALUES[GREATER] = ESCAPE_BIT
VALUES[BACKSLASH] = VALUES[LF] = ESCAPE_BIT | TITLE_BIT
VALUES[QUOTE] = TITLE_BIT
VALUES[OPENING] = VALUES[CLOSING] = PARENTHESIS_BIT
VALUES[AMPERSAND] = DECODE_BIT | ESCAPE_BIT | TITLE_BIT
VALUES[0] = NUL_BIT | ESCAPE_BIT
VALUES[CR] = RETURN_BIT | ESCAPE_BIT | TITLE_BIT

const isSpace = (char: number) => ENDS[char] === SPACE_BIT

/**
 * The tag that is being read. It holds where its attributes stand in the page and copies nothing before it is asked.
 * WHATWG HTML, 13.2.5.6 to 13.2.5.40.
 */
export class OpenTag implements Tag {
  name = ''
  id = KNOWN_NAMES
  attributeBits = 0
  selfClosing = false
  valueIsPlain = false
  valueIsTitle = false
  /** What the table knows of the name. */
  element: ElementName | undefined = undefined

  #html = ''
  #units: Uint16Array = new Uint16Array(0)
  /** Each character of the page is a byte of UTF-8. */
  #isUtf8 = false
  /** Four numbers for each attribute: where its name and its value start and end. */
  #offsets = new Int32Array(256)
  #used = 0

  /** The text whose tags are read from now on, and its code units. `isUtf8`: its characters are bytes of UTF-8. */
  within(html: string, units: Uint16Array, isUtf8 = false): void {
    this.#html = html
    this.#isUtf8 = isUtf8
    this.#units = units
  }

  /**
   * Reads the tag whose name starts at `start`. Returns the position after its `>`, or -1 if the text ends before.
   *
   *     <a href="/" title=Home>
   *      ^
   */
  read(start: number): number {
    const html = this.#html
    const units = this.#units
    const { length } = html
    this.#used = 0
    this.attributeBits = 0
    this.selfClosing = false
    if (this.#offsets.length > KEPT) this.#offsets = new Int32Array(KEPT)

    let at = start | 0
    let key = 0
    let seen = 0
    let char = 0
    for (; at < length; at++) {
      char = units[at] as number
      if (((ENDS[char] as number) & (GREATER_BIT | SLASH_BIT | SPACE_BIT)) !== 0) break
      key = mix(key, char)
      seen |= char
    }
    if (at === length) return -1
    const element = elementAt(units, start, at, key, seen < 0x80)
    this.element = element
    this.id = element === undefined ? KNOWN_NAMES : element.id
    this.name = element === undefined ? lowerName(this.#decoded(html.slice(start, at))) : element.name
    return char === GREATER ? at + 1 : this.#readAttributes(html, units, at)
  }

  /** Reads an end tag, likewise. Most of them end the element whose tag was read last. */
  readEnd(start: number): number {
    const { element } = this
    if (element === undefined) return this.read(start)
    const end = start + element.codes.length
    if (end >= this.#html.length || this.#units[end] !== GREATER || !hasName(this.#units, start, end, element.codes))
      return this.read(start)
    this.#used = 0
    this.attributeBits = 0
    this.selfClosing = false
    return end + 1
  }

  #readAttributes(html: string, units: Uint16Array, from: number): number {
    const length = html.length
    const ends = ENDS
    let at = from | 0
    while (at < length) {
      let char = units[at] as number
      if (char === GREATER) {
        this.selfClosing = units[at - 1] === SLASH && this.#slashIsOwn(at - 1)
        return at + 1
      }
      if (char === SLASH || isSpace(char)) {
        at++
        continue
      }

      // A name may begin with `=`, and with nothing else that ends one.
      const nameStart = at++
      for (; at < length; at++) {
        char = units[at] as number
        if (ends[char] !== 0) break
      }
      const nameEnd = at
      while (at < length && isSpace((char = units[at] as number))) at++
      if (char !== EQUALS) {
        this.#add(nameStart, nameEnd, nameEnd, nameEnd)
        continue
      }
      at++
      while (at < length && isSpace((char = units[at] as number))) at++
      if (at >= length) return -1

      let valueStart = at
      if (char === QUOTE || char === APOSTROPHE) {
        valueStart++
        at = indexOfUnit(html, units, char === QUOTE ? '"' : "'", char, valueStart)
        if (at < 0) return -1
        this.#add(nameStart, nameEnd, valueStart, at)
        at++
      } else {
        for (; at < length; at++) {
          if (((ENDS[units[at] as number] as number) & (GREATER_BIT | SPACE_BIT)) !== 0) break
        }
        this.#add(nameStart, nameEnd, valueStart, at)
      }
    }
    return -1
  }

  /** Whether the slash belongs to the tag, not to an unquoted value as in `<a href=/>`. */
  #slashIsOwn(at: number): boolean {
    return this.#used === 0 || (this.#offsets[this.#used - 1] ?? 0) <= at
  }

  #add(nameStart: number, nameEnd: number, valueStart: number, valueEnd: number): void {
    const used = this.#used
    if (used + 4 > this.#offsets.length) {
      const larger = new Int32Array(this.#offsets.length * 4)
      larger.set(this.#offsets)
      this.#offsets = larger
    }
    const offsets = this.#offsets
    offsets[used] = nameStart
    offsets[used + 1] = nameEnd
    offsets[used + 2] = valueStart
    offsets[used + 3] = valueEnd
    this.attributeBits |= attributeBit(this.#units[nameStart] as number, nameEnd - nameStart)
    this.#used = used + 4
  }

  attribute(name: string): string | undefined {
    const index = this.#find(name)
    return index < 0 ? undefined : this.#value(this.#offsets[index + 2] as number, this.#offsets[index + 3] as number)
  }

  attributeStarts(name: string, start: string): boolean {
    const index = this.#find(name)
    if (index < 0) return false
    const from = this.#offsets[index + 2] as number
    return (this.#offsets[index + 3] as number) - from >= start.length && unitsMatch(this.#units, from, start)
  }

  attributeFirst(name: string): number {
    const index = this.#find(name)
    if (index < 0) return 0
    const from = this.#offsets[index + 2] as number
    return from < (this.#offsets[index + 3] as number) ? (this.#units[from] as number) : 0
  }

  attributeIncludes(name: string, text: string): boolean {
    const index = this.#find(name)
    if (index < 0) return false
    const units = this.#units
    const first = text.charCodeAt(0)
    const last = (this.#offsets[index + 3] as number) - text.length
    for (let at = (this.#offsets[index + 2] as number) | 0; at <= last; at++)
      if (((units[at] as number) | 0x20) === first && unitsMatch(units, at, text)) return true
    return false
  }

  attributeUnits(name: string, read: (units: Uint16Array, start: number, end: number) => number): number {
    const index = this.#find(name)
    return index < 0 ? 0 : read(this.#units, this.#offsets[index + 2] as number, this.#offsets[index + 3] as number)
  }

  /** The place of an attribute among the offsets, -1 if the tag does not have it. */
  #find(name: string): number {
    if ((this.attributeBits & attributeBit(name.charCodeAt(0), name.length)) === 0) return -1
    const offsets = this.#offsets
    for (let index = 0; index < this.#used; index += 4) {
      const start = offsets[index] as number
      const end = offsets[index + 1] as number
      if (end - start === name.length && unitsMatch(this.#units, start, name)) return index
    }
    return -1
  }

  attributes(): Map<string, string> {
    const offsets = this.#offsets
    const all = new Map<string, string>()
    for (let index = 0; index < this.#used; index += 4) {
      const name = lowerName(this.#decoded(this.#html.slice(offsets[index], offsets[index + 1])))
      if (!all.has(name)) all.set(name, this.#value(offsets[index + 2] as number, offsets[index + 3] as number))
    }
    return all
  }

  #decoded(name: string): string {
    return this.#isUtf8 ? decodeUtf8Text(name) : name
  }

  /** A value that stands between two positions of the page. */
  #value(start: number, end: number): string {
    const units = this.#units
    const values = VALUES
    let seen = 0
    let at = start | 0
    for (const last = end - 3; at < last; at += 4) {
      seen |=
        (values[units[at] as number] as number) |
        (values[units[at + 1] as number] as number) |
        (values[units[at + 2] as number] as number) |
        (values[units[at + 3] as number] as number)
    }
    for (; at < end; at++) seen |= values[units[at] as number] as number
    this.valueIsPlain =
      (seen & ~TITLE_BIT) === 0 || ((seen & ~TITLE_BIT) === PARENTHESIS_BIT && this.#parenthesesMatch(start, end))
    this.valueIsTitle = (seen & TITLE_BIT) === 0
    const written = part(this.#html, start, end)
    const all = (seen & FOREIGN_BIT) !== 0 && this.#isUtf8 ? decodeUtf8Text(written) : written
    const raw = (seen & RETURN_BIT) === 0 ? all : withLineFeeds(all)
    const value = (seen & DECODE_BIT) === 0 ? raw : decodeAttribute(raw)
    return (seen & NUL_BIT) === 0 ? value : value.replaceAll('\0', '\ufffd')
  }

  /** Whether the parentheses of a value match, as those of an address in Markdown have to. */
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
    this.#units = new Uint16Array(0)
    this.#used = 0
  }
}
