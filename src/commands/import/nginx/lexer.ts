import { SyntaxFault } from '../site/syntax-fault.js'

/** A token of an nginx configuration: a word, or one of `;`, `{` and `}`. */
export interface Token {
  readonly type: 'word' | ';' | '{' | '}'
  readonly text: string
  readonly line: number
}

const ESCAPES: Readonly<Record<string, string>> = {
  t: '\t',
  r: '\r',
  n: '\n',
  '"': '"',
  "'": "'",
  '\\': '\\',
  ' ': ' ',
}

/**
 * Splits an nginx configuration into words. A quote counts at the beginning of a word only. A backslash keeps its meaning
 * for patterns unless it escapes a quote, white space or a backslash.
 */
export function* tokens(text: string, file: string): Generator<Token> {
  let at = 0
  let line = 1
  let lineStart = 0
  const fault = (message: string): SyntaxFault => new SyntaxFault({ file, line }, at - lineStart + 1, message)
  const next = (): void => {
    if (text[at] === '\n') {
      line++
      lineStart = at + 1
    }
    at++
  }
  while (at < text.length) {
    const char = text[at]!
    if (/\s/.test(char)) next()
    else if (char === '#') {
      while (at < text.length && text[at] !== '\n') at++
    } else if (char === ';' || char === '{' || char === '}') {
      yield { type: char, text: char, line }
      at++
    } else if (char === '"' || char === "'") {
      const first = line
      at++
      let word = ''
      while (at < text.length && text[at] !== char) word += escaped()
      if (at >= text.length) throw fault(`a quote ${char} of line ${first} has no end`)
      at++
      if (at < text.length && !/[\s;{})]/.test(text[at]!)) throw fault(`white space, ; or { must follow the quote`)
      yield { type: 'word', text: word, line: first }
    } else {
      const first = line
      let word = ''
      while (at < text.length && !/[\s;{]/.test(text[at]!)) {
        // A brace after a dollar sign is part of a variable.
        if (text[at] === '$' && text[at + 1] === '{') {
          const end = text.indexOf('}', at)
          if (end < 0) throw fault('a variable in braces has no end')
          word += text.slice(at, end + 1)
          at = end + 1
        } else word += escaped()
      }
      yield { type: 'word', text: word, line: first }
    }
  }

  /** Takes one character, or one escape. */
  function escaped(): string {
    const char = text[at]!
    const other = text[at + 1]
    if (char === '\\' && other !== undefined) {
      next()
      next()
      return ESCAPES[other] ?? `\\${other}`
    }
    next()
    return char
  }
}
