import { lengthOf } from '../text/characters.js'
import { CodeUnits } from '../text/code-units.js'
import type { Leaf } from '../output/frame.js'

const LESS = 0x3c
const GREATER = 0x3e
const COLON = 0x3a
const BANG = 0x21
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_PARENTHESIS = 0x28
const CLOSE_PARENTHESIS = 0x29
const LF = 0x0a

/**
 * Classes of characters. A character is text, or may have a meaning in Markdown. Line feeds and characters between
 * cells are neither.
 */
const IS_TEXT = 1
const MARK = 2
const CLASSES = new Uint8Array(0x10000).fill(IS_TEXT)
for (const char of '\n|') CLASSES[char.charCodeAt(0)] = 0
for (const char of '\\<[]\0') CLASSES[char.charCodeAt(0)] = MARK

/** Characters that a scheme may have after its first letter, besides letters. */
const SCHEME = new Uint8Array(0x10000)
for (const char of '0123456789+.-') SCHEME[char.charCodeAt(0)] = 1

/** Characters that may end a destination, and the 0 after a block. */
const STOPS = new Uint8Array(0x10000)
for (const char of '()\n\0') STOPS[char.charCodeAt(0)] = 1

/** Maximum characters of the scheme of an address, with `<` and `:`. */
const MAX_SCHEME = 20

/** Characters before each open bracket, negative for the bracket of an image. */
const brackets: number[] = []

const code = new CodeUnits()

/** Measures of the Markdown of a block that does not come from a line, such as a table. */
export class BlockMeasure {
  /** Characters without addresses. */
  text = 0
  /** Characters in links. */
  links = 0

  /** Measures a block. */
  of(kind: Leaf, contents: string): void {
    this.links = 0
    if (kind === 'fence') this.text = lengthOf(contents)
    else if (kind === 'rule') this.text = 0
    else this.read(code.fill(contents), 0, lengthOf(contents))
  }

  /** Measures the block between two positions. A 0 is at the second position. One pass takes linear time. */
  read(units: Uint16Array, start: number, end: number): void {
    const classes = CLASSES
    brackets.length = 0
    let text = 0
    let links = 0
    /** Whether no `>` follows. Without this flag, each `<` of a long block would search to its end. */
    let isOpenEnded = false
    const far = end - 3
    let at = start | 0
    for (;;) {
      let kind = classes[units[at] as number] as number
      for (; at < far; kind = classes[units[at] as number] as number) {
        // Four per iteration, because the overhead of an iteration is most of its time.
        const second = classes[units[at + 1] as number] as number
        const third = classes[units[at + 2] as number] as number
        const fourth = classes[units[at + 3] as number] as number
        if ((kind | second | third | fourth) >= MARK) break
        text += kind + second + third + fourth
        at += 4
      }
      while (kind !== MARK) {
        text += kind
        kind = classes[units[++at] as number] as number
      }
      if (at >= end) break
      const char = units[at] as number
      if (char === OPEN_BRACKET) brackets.push(at > start && units[at - 1] === BANG ? -text : text)
      else if (char === CLOSE_BRACKET) {
        const opened = brackets.pop()
        if (opened !== undefined && units[at + 1] === OPEN_PARENTHESIS) {
          // The text that describes an image is not the text of the page.
          if (opened < 0) text = -1 - opened
          else links += text - opened
          at = endOfDestination(units, end, at + 2)
        }
      } else if (char === LESS && !isOpenEnded && hasScheme(units, at)) {
        const from = at
        while (at < end && units[at] !== GREATER) at++
        isOpenEnded = at === end
        if (!isOpenEnded) {
          text += at - from
          links += at - from
          at++
          continue
        }
        at = from
      }
      if (++at > end) break
    }
    this.text = text
    this.links = Math.min(links, text)
  }
}

/** Returns whether an address begins after a `<`. */
function hasScheme(units: Uint16Array, at: number): boolean {
  for (let look = at + 1; look < at + MAX_SCHEME; look++) {
    const char = units[look] as number
    if (char === COLON) return look > at + 1
    const isLetter = (char | 0x20) >= 0x61 && (char | 0x20) <= 0x7a
    if (!isLetter && (look === at + 1 || SCHEME[char] !== 1)) return false
  }
  return false
}

/** Returns the end of the destination of a link, which is at its `)`, at the end of the line or of the block. */
function endOfDestination(units: Uint16Array, end: number, from: number): number {
  const stops = STOPS
  let depth = 1
  for (let at = from | 0; ; at++) {
    while (stops[units[at] as number] === 0) at++
    if (at >= end) return end
    const char = units[at] as number
    if (char === OPEN_PARENTHESIS) depth++
    else if (char === LF || (char === CLOSE_PARENTHESIS && --depth === 0)) return at
  }
}
