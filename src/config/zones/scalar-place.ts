import type { Scalar } from 'yaml'

const ESCAPE_LENGTHS: Readonly<Record<string, number>> = { x: 4, u: 6, U: 10 }
const isSpace = (char: string | undefined): boolean => char !== undefined && /\s/.test(char)

/**
 * Returns the offset in a YAML file at which a character of a scalar's value is written. `source` is the text of the
 * file, `index` the place of the character in the value. Returns the beginning of the scalar if it cannot be found, as
 * after the substitution of `${NAME}`.
 */
export function scalarOffset(source: string, node: Scalar, index: number): number {
  const start = node.range?.[0] ?? 0
  const { value, type } = node
  if (typeof value !== 'string' || (node.source !== undefined && node.source !== value)) return start
  let at = type === 'PLAIN' ? start : start + 1
  if (type === 'BLOCK_LITERAL' || type === 'BLOCK_FOLDED') at = source.indexOf('\n', start) + 1
  let read = 0
  while (read < index) {
    const char = source[at]
    if (type === 'QUOTE_DOUBLE' && char === '\\') {
      const escape = source[at + 1] ?? ''
      at += ESCAPE_LENGTHS[escape] ?? 2
      // A line that ends in a backslash continues without a break.
      if (escape === '\n') while (isSpace(source[at])) at++
      else read += escape === 'U' && value.codePointAt(read)! > 0xffff ? 2 : 1
    } else if (type === 'QUOTE_SINGLE' && char === "'") {
      at += 2
      read++
    } else if (char === value[read]) {
      at++
      read++
    } else if (isSpace(char)) {
      // A folded line, or the indentation of the next one.
      if (isSpace(value[read])) read++
      while (isSpace(source[at])) at++
    } else return start
  }
  if (!isSpace(value[index])) while (isSpace(source[at])) at++
  return at
}
