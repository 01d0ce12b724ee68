import { SyntaxFault } from '../site/syntax-fault.js'

/** A token of a Caddyfile. */
export interface Token {
  readonly text: string
  readonly line: number
  /** In quotes, backquotes or as a heredoc: never a brace or a comment. */
  readonly quoted: boolean
}

/** Splits a Caddyfile into tokens. A backslash at the end of a line continues it. */
export function tokens(text: string, file: string): Token[] {
  const found: Token[] = []
  let at = 0
  let line = 1
  let lineStart = 0
  /** Line breaks that a backslash hides: tokens after them belong to the line before. */
  let joined = 0
  const fault = (message: string): SyntaxFault => new SyntaxFault({ file, line }, at - lineStart + 1, message)
  const take = (): string => {
    const char = text[at++]!
    if (char === '\n') {
      line++
      lineStart = at
    }
    return char
  }
  while (at < text.length) {
    const char = text[at]!
    if (char === '\\' && /^\\\r?\n/.test(text.slice(at, at + 3))) {
      while (take() !== '\n');
      joined++
    } else if (/\s/.test(char)) {
      if (take() === '\n') joined = 0
    } else if (char === '#') {
      while (at < text.length && text[at] !== '\n') at++
    } else {
      const started = line
      const first = line - joined
      const heredoc = /^<<([\w-]+)\r?\n/.exec(text.slice(at, at + 130))
      if (heredoc) found.push({ text: heredocOf(heredoc[0].length, heredoc[1]!), line: first, quoted: true })
      else if (char === '"' || char === '`') found.push({ text: quoted(char), line: first, quoted: true })
      else {
        let word = ''
        while (at < text.length && !/\s/.test(text[at]!)) {
          if (text[at] === '\\' && text[at + 1] === '"') at++
          word += take()
        }
        found.push({ text: word, line: first, quoted: false })
      }
      // What follows a text of several lines is still on the line of the directive.
      joined += line - started
    }
  }
  return found

  function quoted(quote: string): string {
    const start = fault(`the quote ${quote} has no end`)
    at++
    let word = ''
    while (text[at] !== quote) {
      if (at >= text.length) throw start
      // Other escapes keep their backslash: patterns need it.
      if (quote === '"' && text[at] === '\\' && text[at + 1] === '"') at++
      word += take()
    }
    at++
    return word
  }

  /** The lines up to the marker, without the indentation of the marker. */
  function heredocOf(length: number, marker: string): string {
    const start = fault(`the heredoc <<${marker} has no end`)
    for (let taken = 0; taken < length; taken++) take()
    const lines: string[] = []
    for (;;) {
      if (at >= text.length) throw start
      const ends = new RegExp(`^([^\\S\n]*)${marker}(?=\\s|$)`).exec(text.slice(at, at + 1000))
      if (ends) {
        at += ends[0].length
        return lines.map((each) => (each.startsWith(ends[1]!) ? each.slice(ends[1]!.length) : each)).join('\n')
      }
      let one = ''
      while (at < text.length && text[at] !== '\n') one += take()
      if (at < text.length) take()
      lines.push(one.replace(/\r$/, ''))
    }
  }
}
