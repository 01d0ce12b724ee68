/** Converts every line end of a text that arrives in pieces to `\n`, including a `\r\n` cut in the middle. */
export class LineEnds {
  #afterReturn = false

  read(more: string): string {
    if (more === '') return ''
    const rest = this.#afterReturn && more.startsWith('\n') ? more.slice(1) : more
    this.#afterReturn = more.endsWith('\r')
    if (!rest.includes('\r')) return rest
    // A flat copy: the result of `replace` is a rope of its lines, which would be copied again when it is read.
    const text = rest.split('\r\n').join('\n')
    return text.includes('\r') ? text.split('\r').join('\n') : text
  }
}
