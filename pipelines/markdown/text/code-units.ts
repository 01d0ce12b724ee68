/** Code units whose memory is retained between texts. A larger buffer is released when a much shorter text arrives. */
const KEPT = 128 * 1024

const isLittleEndian = new Uint8Array(Uint16Array.of(1).buffer)[0] === 1

/**
 * Code units of a text as an array of numbers. Reading its characters one by one takes a third of the time of
 * `charCodeAt`, and filling the array takes almost no time.
 *
 * A loop over it begins at `from | 0`. Otherwise the engine checks in every iteration that the index is an integer.
 */
export class CodeUnits {
  /** Code units of the text, a 0, and the rest of earlier texts. */
  units: Uint16Array = new Uint16Array(0)
  #bytes: Buffer = Buffer.alloc(0)

  fill(text: string): Uint16Array {
    const { length } = text
    if (length >= this.units.length || (this.units.length > KEPT && length < this.units.length / 4)) {
      this.units = new Uint16Array(length + 1 + (this.units.length === 0 ? 0 : length >> 1))
      this.#bytes = Buffer.from(this.units.buffer)
    }
    const { units } = this
    this.#bytes.write(text, 'utf16le')
    if (!isLittleEndian) this.#bytes.subarray(0, 2 * length).swap16()
    units[length] = 0
    return units
  }
}
