import type { EventLoopYield } from '../../core/schedule/event-loop-yield.js'
import type { TransformedRecords } from '../../core/extension/record-transform.js'
import { MAX_OUTPUTS } from './source.js'

const LINE_FEED = 0x0a
const EXCLAMATION_MARK = 0x21
/** Lines that are read before other work may run. */
const STEP_LINES = 1024
const MAX_REASON = 500

/** Collects the outcomes of one call. Nothing that a module responds with is trusted. */
export class Outcomes implements TransformedRecords {
  readonly starts: number[] = []
  readonly ends: number[] = []
  readonly firsts: number[] = [0]
  readonly invalid = new Map<number, string>()
  #parts: Uint8Array[] = []
  #length = 0

  /** Number of records with an outcome. */
  get count(): number {
    return this.firsts.length - 1
  }

  get bytes(): Uint8Array {
    if (this.#parts.length > 1) this.#parts = [Buffer.concat(this.#parts)]
    return this.#parts[0] ?? new Uint8Array(0)
  }

  /** Adds an invalid record. */
  reject(reason: string): void {
    this.invalid.set(this.count, reason)
    this.firsts.push(this.starts.length)
  }

  /**
   * Adds the outcomes of a response, for at most `max` records. Returns their number. Outcomes after the first malformed
   * line are ignored.
   */
  async add(response: Uint8Array, max: number, loop: EventLoopYield): Promise<number> {
    const base = this.#length
    let at = 0
    let added = 0
    let lines = 0
    const end = (from: number): number => response.indexOf(LINE_FEED, from)
    while (added < max && at < response.length) {
      const close = end(at)
      if (close < 0) break
      if (response[at] === EXCLAMATION_MARK) this.reject(textOf(response.subarray(at + 1, close)))
      else {
        const records = numberOf(response.subarray(at, close))
        if (records === undefined) break
        const before = this.starts.length
        let from = close + 1
        for (let record = 0; record < records; record++) {
          const to = end(from)
          if (to < 0) {
            this.starts.length = before
            this.ends.length = before
            break
          }
          this.starts.push(base + from)
          this.ends.push(base + to)
          from = to + 1
          if (++lines % STEP_LINES === 0) await loop.yieldToEventLoop()
        }
        if (this.starts.length - before < records) break
        this.firsts.push(this.starts.length)
        at = from
        added++
        continue
      }
      at = close + 1
      added++
    }
    this.#parts.push(response)
    this.#length += response.length
    return added
  }
}

function textOf(json: Uint8Array): string {
  try {
    return String(JSON.parse(Buffer.from(json).toString()))
      .replaceAll(/\s+/g, ' ')
      .slice(0, MAX_REASON)
  } catch {
    return 'the module responded with text that is not an outcome'
  }
}

function numberOf(digits: Uint8Array): number | undefined {
  const text = digits.length > 6 ? '' : Buffer.from(digits).toString('latin1')
  return /^\d+$/.test(text) && Number(text) <= MAX_OUTPUTS ? Number(text) : undefined
}
