/** Numbers in a row. */
export const WIDTH = 11

/** Number of rows with memory at first. */
const FIRST = 256

/** Memory of pages that have ended, for the next ones, because allocating it takes longer than using it. */
const spare: Int32Array[] = []
const NOTHING = new Int32Array(0)
const MAX_SPARE = 4
const MAX_SPARE_ROWS = 4096

/**
 * Rows of numbers in one array. A page has thousands of blocks and containers, and separate objects are slower.
 */
export class Rows {
  values = spare.pop() ?? new Int32Array(FIRST * WIDTH)
  /** Where the next row begins. */
  end = 0

  /** Adds a row, which may have the numbers of an earlier one. Returns its position. */
  add(): number {
    const start = this.end
    this.end += WIDTH
    if (this.end > this.values.length) {
      const larger = new Int32Array(Math.max(2 * this.values.length, FIRST * WIDTH))
      larger.set(this.values)
      this.values = larger
    }
    return start
  }

  /** Removes all rows and returns their memory to the pool. */
  release(): void {
    const { length } = this.values
    if (length > 0 && length <= MAX_SPARE_ROWS * WIDTH && spare.length < MAX_SPARE) spare.push(this.values)
    this.values = NOTHING
    this.end = 0
  }
}
