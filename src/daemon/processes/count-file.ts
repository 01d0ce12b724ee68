import { randomBytes } from 'node:crypto'
import { closeSync, constants, fstatSync, openSync, readSync, writeSync } from 'node:fs'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import type { CountEvent, CountLog } from '../../rules/limits/count-log.js'

const READ_BYTES = 64 * 1024
const NEWLINE = 10

/** A file of counts and the position up to which it was read. */
export interface CountSegment {
  readonly path: string
  readonly position: number
}

interface OpenSegment {
  readonly path: string
  readonly file: number
  position: number
}

type Line = readonly [writer: string, number: number, event: Omit<CountEvent, 'foreign'>, foreign: 0 | 1]

/**
 * Counts of rate limits in the order in which the processes of this machine made them. All processes append to one file
 * in memory. An append is atomic and takes about 2 microseconds, so a request is counted and judged at its place in that
 * order without waiting for another process, and limits are exact.
 *
 * Each event is one line of JSON with an empty line before it, so an append that a kill cuts off damages no other event.
 */
export class CountFile implements CountLog {
  apply: (event: CountEvent) => void = () => undefined
  readonly #log: Log
  /** Oldest first; the last one is appended to. Two while the processes change to a new file. */
  #segments: OpenSegment[]
  readonly #writer = randomBytes(6).toString('hex')
  #number = 0
  #failing = false
  readonly #buffer = Buffer.allocUnsafeSlow(READ_BYTES)

  /** Throws if a file cannot be opened. */
  constructor(segments: readonly CountSegment[], log: Log) {
    this.#log = log
    this.#segments = segments.map(opened)
  }

  get segments(): readonly CountSegment[] {
    return this.#segments.map(({ path, position }) => ({ path, position }))
  }

  /** Bytes of the current file that were read. */
  get size(): number {
    return this.#segments.at(-1)?.position ?? 0
  }

  /** Appends to another file from now on; the earlier one is still read. */
  use(path: string): void {
    this.#segments.push(opened({ path, position: 0 }))
  }

  /** Stops reading a file that no process appends to any more. */
  forget(path: string): void {
    this.sync()
    const segment = this.#segments.find((one) => one.path === path)
    if (!segment) return
    this.#segments = this.#segments.filter((one) => one !== segment)
    closeSync(segment.file)
  }

  append(event: CountEvent): void {
    const number = ++this.#number
    const { foreign, ...rest } = event
    const line = `\n${JSON.stringify([this.#writer, number, rest, foreign ? 1 : 0] satisfies Line)}\n`
    try {
      writeSync(this.#segments.at(-1)!.file, line)
      this.#failing = false
    } catch (error) {
      // Its own counts are better than none.
      if (!this.#failing) this.#log.error({ event: 'counts_not_shared', error: messageOf(error) })
      this.#failing = true
      this.apply(event)
      return
    }
    this.#read(number)
  }

  sync(): void {
    this.#read(undefined)
  }

  close(): void {
    for (const { file } of this.#segments) closeSync(file)
    this.#segments = []
  }

  /** Applies the events up to the own one with this number, or all. */
  #read(until: number | undefined): void {
    for (const segment of this.#segments) if (this.#readSegment(segment, until)) return
  }

  #readSegment(segment: OpenSegment, until: number | undefined): boolean {
    for (;;) {
      const length = readSync(segment.file, this.#buffer, 0, READ_BYTES, segment.position)
      let start = 0
      for (let end = this.#lineEnd(start, length); end >= 0; end = this.#lineEnd(start, length)) {
        const own = end > start ? this.#applyLine(this.#buffer.toString('utf8', start, end)) : undefined
        start = end + 1
        if (own !== undefined && own === until) {
          segment.position += start
          return true
        }
      }
      // A line that is longer than the buffer is not an event of ours.
      segment.position += start === 0 && length === READ_BYTES ? length : start
      if (length < READ_BYTES) return false
    }
  }

  #lineEnd(start: number, length: number): number {
    const end = this.#buffer.indexOf(NEWLINE, start)
    return end < length ? end : -1
  }

  /** Returns the number of an own event. */
  #applyLine(text: string): number | undefined {
    let line: Line
    try {
      line = JSON.parse(text) as Line
    } catch {
      return undefined
    }
    const [writer, number, event, foreign] = line
    this.apply({ ...event, foreign: foreign === 1 })
    return writer === this.#writer ? number : undefined
  }
}

function opened({ path, position }: CountSegment): OpenSegment {
  const file = openSync(path, constants.O_RDWR | constants.O_APPEND | constants.O_CREAT, 0o600)
  return { path, file, position: Math.min(position, fstatSync(file).size) }
}
