/** A member of a queue. */
export interface Linked<T> {
  before: T | undefined
  after: T | undefined
}

/** A queue with a sum of bytes, oldest first. */
export class Queue<T extends Linked<T>> {
  first: T | undefined
  last: T | undefined
  bytes = 0

  push(entry: T, bytes: number): void {
    entry.before = this.last
    entry.after = undefined
    if (this.last) this.last.after = entry
    else this.first = entry
    this.last = entry
    this.bytes += bytes
  }

  remove(entry: T, bytes: number): void {
    if (entry.before) entry.before.after = entry.after
    else this.first = entry.after
    if (entry.after) entry.after.before = entry.before
    else this.last = entry.before
    entry.before = entry.after = undefined
    this.bytes -= bytes
  }
}
