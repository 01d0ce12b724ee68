/** Numbers in a row. */
export const WIDTH = 8

/** Number of rows with memory at first. */
const FIRST = 64

/** Rows of eight numbers in one array: a page has thousands of blocks and containers, and each object takes longer. */
export class Rows {
  values = new Int32Array(FIRST * WIDTH)
  /** Where the next row begins. */
  end = 0

  /** Adds a row, whose numbers are those of an earlier one or 0. Returns where it begins. */
  add(): number {
    const start = this.end
    this.end += WIDTH
    if (this.end > this.values.length) {
      const larger = new Int32Array(2 * this.values.length)
      larger.set(this.values)
      this.values = larger
    }
    return start
  }
}
