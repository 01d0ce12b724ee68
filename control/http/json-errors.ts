import type { Pause } from '../../src/core/schedule/event-loop-yield.js'

/** Tokens and line breaks that are read between two pauses. */
const SLICE_TOKENS = 1000

/**
 * Returns the position at which a text stops being JSON, as `line 3, column 7: a value is expected`. Undefined if it is
 * JSON. The engine's own message has no position, and quotes the text.
 */
export async function jsonIssue(text: string, pause: Pause): Promise<string | undefined> {
  const { at, expected } = await scan(text, pause)
  if (at === text.length && expected === 'the end of the text') return undefined
  const before = text.slice(0, at)
  let line = 1
  for (let next = before.indexOf('\n'); next >= 0; next = before.indexOf('\n', next + 1))
    if (++line % SLICE_TOKENS === 0) await pause()
  const column = at - before.lastIndexOf('\n')
  return `line ${line}, column ${column}: ${at >= text.length ? 'the text ends too early' : `${expected} is expected`}`
}

const SPACE = /[ \t\n\r]*/y
const SCALAR = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/y
// oxlint-disable-next-line no-control-regex -- a string holds none (RFC 8259, 7)
const PLAIN = /[^"\\\u0000-\u001f]*/y
const ESCAPE = /\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})/y

type Expected =
  | 'a value'
  | 'a value or ]'
  | 'a member name'
  | 'a member name or }'
  | 'a colon'
  | 'a comma or ]'
  | 'a comma or }'
  | 'the end of the text'

/** Reads the tokens with a stack of the open brackets. Stops at the first unexpected token. */
async function scan(text: string, pause: Pause): Promise<{ at: number; expected: string }> {
  const open: string[] = []
  let expected: Expected = 'a value'
  let at = after(SPACE, text, 0)
  for (let tokens = 1; ; tokens++) {
    if (tokens % SLICE_TOKENS === 0) await pause()
    const char = text[at]
    const closing: boolean = char !== undefined && expected.endsWith(` or ${char}`)
    if (closing) {
      open.pop()
      at += 1
    } else if (expected.startsWith('a value') && (char === '[' || char === '{')) {
      open.push(char)
      at += 1
    } else if (expected === 'a colon' || expected.startsWith('a comma')) {
      if (char !== (expected === 'a colon' ? ':' : ',')) return { at, expected }
      at += 1
    } else {
      const end = expected.startsWith('a value')
        ? value(text, at)
        : expected.startsWith('a member name')
          ? name(text, at)
          : at
      if (end === at) return { at, expected }
      if (end < 0) return { at: -end, expected: 'the end of the string, or a valid escape,' }
      at = end
    }
    expected = next(expected, closing ? '' : (char ?? ''), open.at(-1))
    at = after(SPACE, text, at)
  }
}

/** Returns the next expected tokens, from the expected ones, the first character and the innermost open bracket. */
function next(expected: Expected, char: string, inner: string | undefined): Expected {
  if (expected.startsWith('a value') && char === '[') return 'a value or ]'
  if (expected.startsWith('a value') && char === '{') return 'a member name or }'
  if (expected.startsWith('a member name') && char !== '') return 'a colon'
  if (expected === 'a colon') return 'a value'
  if (char === ',') return inner === '[' ? 'a value' : 'a member name'
  if (inner === undefined) return 'the end of the text'
  return inner === '[' ? 'a comma or ]' : 'a comma or }'
}

function after(pattern: RegExp, text: string, at: number): number {
  pattern.lastIndex = at
  return pattern.test(text) ? pattern.lastIndex : at
}

const value = (text: string, at: number): number => (text[at] === '"' ? string(text, at) : after(SCALAR, text, at))

const name = (text: string, at: number): number => (text[at] === '"' ? string(text, at) : at)

/** Returns the end of the string that starts here; negative if the string is broken. */
function string(text: string, start: number): number {
  let at = start + 1
  for (;;) {
    at = after(PLAIN, text, at)
    if (text[at] === '"') return at + 1
    const end = after(ESCAPE, text, at)
    if (end === at) return -at
    at = end
  }
}
