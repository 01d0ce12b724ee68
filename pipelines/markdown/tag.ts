import { decodeHTMLAttribute } from 'entities/decode'
import type { Tag } from './events.js'
import { attributeBit, elementAt, KNOWN_NAMES, lowerName, matches, mix, type ElementName } from './names.js'

const TAB = 0x09
const LF = 0x0a
const FF = 0x0c
const SPACE = 0x20
const QUOTE = 0x22
const AMPERSAND = 0x26
const APOSTROPHE = 0x27
const SLASH = 0x2f
const EQUALS = 0x3d
const GREATER = 0x3e

/** Offsets kept from one tag to the next: a tag with more gives the memory back. */
const KEPT = 4096

const isSpace = (char: number) => char === SPACE || char === LF || char === TAB || char === FF

/** The value of an attribute as it stands in the page, without its quotes, decoded. */
function decode(raw: string): string {
  // A loop: values are short, and a search for NUL in text of two bytes per character stops at every ASCII letter.
  for (let at = 0; at < raw.length; at++) {
    const char = raw.charCodeAt(at)
    if (char === AMPERSAND || char === 0) return decodeHTMLAttribute(raw).replaceAll('\0', '\ufffd')
  }
  return raw
}

/**
 * The tag that is being read. It holds where its attributes stand in the page and copies nothing before it is asked.
 * WHATWG HTML, 13.2.5.6 to 13.2.5.40.
 */
export class OpenTag implements Tag {
  name = ''
  id = KNOWN_NAMES
  attributeBits = 0
  selfClosing = false
  /** What the table knows of the name. */
  element: ElementName | undefined = undefined

  #html = ''
  /** Four numbers for each attribute: where its name and its value start and end. */
  #offsets = new Int32Array(256)
  #used = 0

  /**
   * Reads the tag whose name starts at `start`. Returns the position after its `>`, or -1 if `html` ends before.
   *
   *     <a href="/" title=Home>
   *      ^
   */
  read(html: string, start: number): number {
    const length = html.length
    this.#html = html
    this.#used = 0
    this.attributeBits = 0
    this.selfClosing = false
    if (this.#offsets.length > KEPT) this.#offsets = new Int32Array(KEPT)

    let at = start
    let hash = 0
    let char = 0
    for (; at < length; at++) {
      char = html.charCodeAt(at)
      if (char === GREATER || char === SLASH || isSpace(char)) break
      hash = mix(hash, char)
    }
    if (at === length) return -1
    const element = elementAt(html, start, at, hash)
    this.element = element
    this.id = element === undefined ? KNOWN_NAMES : element.id
    this.name = element === undefined ? lowerName(html.slice(start, at)) : element.name
    return char === GREATER ? at + 1 : this.#readAttributes(html, at)
  }

  #readAttributes(html: string, from: number): number {
    const length = html.length
    let at = from
    while (at < length) {
      let char = html.charCodeAt(at)
      if (char === GREATER) {
        this.selfClosing = html.charCodeAt(at - 1) === SLASH && this.#slashIsOwn(at - 1)
        return at + 1
      }
      if (char === SLASH || isSpace(char)) {
        at++
        continue
      }

      // A name may begin with `=`, and with nothing else that ends one.
      const nameStart = at++
      for (; at < length; at++) {
        char = html.charCodeAt(at)
        if (char === EQUALS || char === GREATER || char === SLASH || isSpace(char)) break
      }
      const nameEnd = at
      while (at < length && isSpace((char = html.charCodeAt(at)))) at++
      if (char !== EQUALS) {
        this.#add(nameStart, nameEnd, nameEnd, nameEnd)
        continue
      }
      at++
      while (at < length && isSpace((char = html.charCodeAt(at)))) at++
      if (at >= length) return -1

      let valueStart = at
      if (char === QUOTE || char === APOSTROPHE) {
        valueStart++
        at = html.indexOf(char === QUOTE ? '"' : "'", valueStart)
        if (at < 0) return -1
        this.#add(nameStart, nameEnd, valueStart, at)
        at++
      } else {
        for (; at < length; at++) {
          char = html.charCodeAt(at)
          if (char === GREATER || isSpace(char)) break
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
    this.attributeBits |= attributeBit(this.#html.charCodeAt(nameStart), nameEnd - nameStart)
    this.#used = used + 4
  }

  attribute(name: string): string | undefined {
    if ((this.attributeBits & attributeBit(name.charCodeAt(0), name.length)) === 0) return undefined
    const offsets = this.#offsets
    for (let index = 0; index < this.#used; index += 4) {
      const start = offsets[index] as number
      const end = offsets[index + 1] as number
      if (end - start === name.length && matches(this.#html, start, name)) {
        return decode(this.#html.slice(offsets[index + 2], offsets[index + 3]))
      }
    }
    return undefined
  }

  attributes(): Map<string, string> {
    const offsets = this.#offsets
    const all = new Map<string, string>()
    for (let index = 0; index < this.#used; index += 4) {
      const name = lowerName(this.#html.slice(offsets[index], offsets[index + 1]))
      if (!all.has(name)) all.set(name, decode(this.#html.slice(offsets[index + 2], offsets[index + 3])))
    }
    return all
  }

  /** Lets go of the page. */
  clear(): void {
    this.#html = ''
    this.#used = 0
  }
}
