/** Returns a text with every line end as `\n`. */
export function withLineFeeds(text: string): string {
  if (!text.includes('\r')) return text
  // A flat copy. The result of `replace` is a rope of its lines, which would be copied again when it is read.
  const lines = text.split('\r\n').join('\n')
  return lines.includes('\r') ? lines.split('\r').join('\n') : lines
}

/** Converts every line end of a text that arrives in pieces to `\n`, including a `\r\n` cut in the middle. */
export class LineEnds {
  #afterReturn = false

  read(more: string): string {
    if (more === '') return ''
    const rest = this.#afterReturn && more.startsWith('\n') ? more.slice(1) : more
    this.#afterReturn = more.endsWith('\r')
    return withLineFeeds(rest)
  }

  /** Ends the text. Another one begins. */
  reset(): void {
    this.#afterReturn = false
  }
}
