import { lengthOf } from '../characters.js'
import { CodeUnits } from '../code-units.js'

/** Measures of the Markdown of a block. */
export interface BlockMeasure {
  /** Characters without white space and addresses. */
  readonly text: number
  /** Part of them in links. */
  readonly links: number
  readonly words: number
}

const BACKSLASH = 0x5c
const LESS = 0x3c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_PARENTHESIS = 0x28

/** What a character is: part of a word, or one that may mean something in Markdown. */
const IN_WORD = 1
const MARK = 2
const CLASSES = new Uint8Array(0x10000).fill(IN_WORD, 0xc0)
for (const char of 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789')
  CLASSES[char.charCodeAt(0)] = IN_WORD
for (const char of '\\<[]') CLASSES[char.charCodeAt(0)] = MARK

const code = new CodeUnits()

/** For each open bracket, the characters before it, negative if it is that of an image. */
const brackets: number[] = []

/** Measures one block. One pass: the time is linear in the length. */
export function measure(markdown: string): BlockMeasure {
  const length = lengthOf(markdown)
  const units = code.fill(markdown)
  const classes = CLASSES
  brackets.length = 0
  let text = 0
  let links = 0
  let words = 0
  let before = 0
  /** No `>` follows: without it, each `<` of a long block would search to its end. */
  let isOpenEnded = false
  for (let at = 0 | 0; at < length; at++) {
    const char = units[at] as number
    const kind = classes[char] as number
    if (kind !== MARK) {
      text += kind
      words += kind & ~before
      before = kind
      continue
    }
    if (char === BACKSLASH) continue
    if (char === LESS && !isOpenEnded && /^<[a-z][a-z\d+.-]*:/i.test(markdown.slice(at, at + 20))) {
      const end = markdown.indexOf('>', at)
      if (end > at) {
        text += end - at
        links += end - at
        words++
        at = end
        continue
      }
      isOpenEnded = true
    }
    if (char === OPEN_BRACKET) {
      brackets.push(at > 0 && units[at - 1] === 0x21 ? -1 - text : text)
      before = 0
    } else if (char === CLOSE_BRACKET) {
      const opened = brackets.pop()
      if (opened !== undefined && units[at + 1] === OPEN_PARENTHESIS) {
        // The text that describes an image is not the text of the page.
        if (opened < 0) text = -1 - opened
        else links += text - opened
        at = endOfDestination(units, length, at + 2)
      }
      before = 0
    } else before = 0
  }
  return { text, links: Math.min(links, text), words }
}

function endOfDestination(units: Uint16Array, length: number, from: number): number {
  let depth = 1
  for (let at = from | 0; at < length; at++) {
    const char = units[at]!
    if (char === OPEN_PARENTHESIS) depth++
    else if (char === 0x29 && --depth === 0) return at
    else if (char === 0x0a) return at
  }
  return length
}
