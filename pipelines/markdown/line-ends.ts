/** Makes `\n` of every line end of a text that comes in pieces, a `\r\n` cut in the middle included. */
export class LineEnds {
  #afterReturn = false

  read(text: string): string {
    if (text === '') return ''
    const rest = this.#afterReturn && text.startsWith('\n') ? text.slice(1) : text
    this.#afterReturn = text.endsWith('\r')
    return rest.includes('\r') ? rest.replace(/\r\n?/g, '\n') : rest
  }
}
