/** Makes `\n` of every line end of a text that comes in pieces, a `\r\n` cut in the middle included. */
export class LineEnds {
  #afterReturn = false

  read(more: string): string {
    if (more === '') return ''
    const rest = this.#afterReturn && more.startsWith('\n') ? more.slice(1) : more
    this.#afterReturn = more.endsWith('\r')
    if (!rest.includes('\r')) return rest
    // Of one flat copy: what `replace` gives is put together of its lines, and has to be copied once more to be read.
    const text = rest.split('\r\n').join('\n')
    return text.includes('\r') ? text.split('\r').join('\n') : text
  }
}
