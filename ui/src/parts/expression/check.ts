interface Fault {
  readonly message: string
  readonly reason: string
  readonly line: number
  /** Counts bytes, from 1. */
  readonly column: number
  readonly length: number
  readonly fix: { readonly text: string } | null
}

/** What `edged/expressions/check` returns. */
export interface Checked {
  readonly valid: boolean
  readonly errors: readonly Fault[]
  readonly hints: readonly string[]
}

/** An error at its place in the text, in characters. */
export interface Found {
  readonly from: number
  readonly to: number
  readonly message: string
  /** Text that mends the error in place of the part. */
  readonly fix: string | undefined
}

/** Returns the errors of a check at their places in the text. */
export const foundIn = (text: string, { errors }: Checked): readonly Found[] =>
  errors.map(({ line, column, length, reason, fix }) => {
    const lines = text.split('\n')
    const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0)
    const own = lines[line - 1] ?? ''
    const from = before + charactersOf(own, column - 1)
    const to = before + charactersOf(own, column - 1 + Math.max(length, 1))
    return {
      from: Math.min(from, text.length),
      to: Math.min(to, text.length),
      message: reason,
      fix: fix?.text,
    }
  })

/** Returns the text with an error mended. */
export const mended = (text: string, { from, to, fix = '' }: Found): string =>
  text.slice(0, from) + fix + text.slice(to)

/** Returns an error in words, with the part that it is about. */
export function wordsOf(text: string, { from, to, message }: Found): string {
  const part = text.slice(from, to).trim()
  if (message === 'unknown identifier') return `No field or function ${part}.`
  const sentence = `${message[0]?.toUpperCase() ?? ''}${message.slice(1)}`
  return part === '' || sentence.includes(part) ? `${sentence}.` : `${sentence}: ${part}`
}

/** Returns how many characters of a line are in its first bytes. */
function charactersOf(line: string, bytes: number): number {
  const encoded = new TextEncoder().encode(line).subarray(0, Math.max(bytes, 0))
  return new TextDecoder().decode(encoded).length
}
