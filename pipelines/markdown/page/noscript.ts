import { codeAt } from '../text/characters.js'

/** Minimum characters of text for which the contents of a `noscript` are content, not a request to enable scripts. */
export const MIN_NOSCRIPT_TEXT = 200

const BACKSLASH = 0x5c
const OPEN_BRACKET = 0x5b
const CLOSE_BRACKET = 0x5d
const OPEN_PARENTHESIS = 0x28
const LESS = 0x3c

/** Returns how many characters of text Markdown has without white space, links, images and escaped markup. */
export function proseLength(markdown: string): number {
  const { length } = markdown
  /** For each open bracket, the number of characters before it. */
  const brackets: number[] = []
  let count = 0
  for (let at = 0; at < length; at++) {
    const char = codeAt(markdown, at)
    if (char <= 0x20) continue
    if (char === LESS || (char === BACKSLASH && markdown.charCodeAt(at + 1) === LESS)) {
      at = endOf(markdown, '>', at)
      continue
    }
    count++
    if (char === BACKSLASH) at++
    else if (char === OPEN_BRACKET) brackets.push(count - 1)
    else if (char === CLOSE_BRACKET) {
      const before = brackets.pop()
      if (before === undefined || markdown.charCodeAt(at + 1) !== OPEN_PARENTHESIS) continue
      count = before
      at = endOf(markdown, ')', at)
    }
  }
  return count
}

/** Returns the next position of `mark` on this line, or the end of the line. */
function endOf(markdown: string, mark: string, from: number): number {
  const line = markdown.indexOf('\n', from)
  const end = line < 0 ? markdown.length : line
  const at = markdown.slice(from, end).indexOf(mark)
  return at < 0 ? end : from + at
}
