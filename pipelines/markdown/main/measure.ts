import { codeAt } from '../characters.js'

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

/** Measures one block. One pass: the time is linear in the length. */
export function measure(markdown: string): BlockMeasure {
  const { length } = markdown
  /** For each open bracket, the characters before it, and whether it is that of an image. */
  const brackets: number[] = []
  let text = 0
  let links = 0
  let words = 0
  let inWord = false
  for (let at = 0; at < length; at++) {
    const char = codeAt(markdown, at)
    if (char <= 0x20) {
      inWord = false
      continue
    }
    if (char === BACKSLASH) continue
    if (char === LESS && /^<[a-z][a-z\d+.-]*:/i.test(markdown.slice(at, at + 20))) {
      const end = markdown.indexOf('>', at)
      if (end > at) {
        text += end - at
        links += end - at
        words++
        at = end
        continue
      }
    }
    if (char === OPEN_BRACKET) {
      brackets.push(at > 0 && codeAt(markdown, at - 1) === 0x21 ? -1 - text : text)
      inWord = false
    } else if (char === CLOSE_BRACKET) {
      const before = brackets.pop()
      if (before !== undefined && markdown.charCodeAt(at + 1) === OPEN_PARENTHESIS) {
        // The text that describes an image is not the text of the page.
        if (before < 0) text = -1 - before
        else links += text - before
        at = endOfDestination(markdown, at + 2)
      }
      inWord = false
    } else {
      const isLetter = isWord(char)
      if (isLetter) text++
      if (isLetter && !inWord) words++
      inWord = isLetter
    }
  }
  return { text, links: Math.min(links, text), words }
}

const isWord = (char: number): boolean =>
  (char >= 0x61 && char <= 0x7a) || (char >= 0x41 && char <= 0x5a) || (char >= 0x30 && char <= 0x39) || char > 0xbf

function endOfDestination(markdown: string, from: number): number {
  let depth = 1
  for (let at = from; at < markdown.length; at++) {
    const char = codeAt(markdown, at)
    if (char === OPEN_PARENTHESIS) depth++
    else if (char === 0x29 && --depth === 0) return at
    else if (char === 0x0a) return at
  }
  return markdown.length
}
