import type { Clock } from '../../core/clock.js'
import type { Sample } from '../../telemetry/samples.js'

const SAMPLE_MS = 60_000
/** Samples that are compared: those of 15 minutes. */
const MAX_SAMPLES = 16

interface Counted {
  /** Milliseconds since 1970. */
  readonly at: number
  /** By account and script. */
  readonly exceptions: ReadonlyMap<string, number>
}

/** A Worker that has thrown exceptions lately. */
export interface ThrowingWorker {
  readonly account: string
  readonly script: string
  readonly exceptions: number
  /** Milliseconds since 1970. */
  readonly since: number
}

/** Remembers which Workers have thrown exceptions in the last 15 minutes. */
export class WorkerExceptions {
  readonly #read: (prefix: string) => Promise<readonly Sample[]>
  readonly #clock: Clock
  readonly #timer: NodeJS.Timeout
  #samples: Counted[]

  constructor(read: (prefix: string) => Promise<readonly Sample[]>, clock: Clock) {
    this.#read = read
    this.#clock = clock
    // A daemon that starts has counted none.
    this.#samples = [{ at: clock.now(), exceptions: new Map() }]
    this.#timer = setInterval(() => void this.#sample(), SAMPLE_MS).unref()
  }

  /** Returns the Workers that have thrown exceptions since the oldest sample. */
  async list(): Promise<ThrowingWorker[]> {
    const now = await this.#now()
    const [oldest = now] = this.#samples
    return [...now.exceptions].flatMap(([key, count]) => {
      const exceptions = count - (oldest.exceptions.get(key) ?? 0)
      if (exceptions <= 0) return []
      const before = this.#samples.findLast((sample) => (sample.exceptions.get(key) ?? 0) < count) ?? oldest
      const first = this.#samples.find(
        (sample) => (sample.exceptions.get(key) ?? 0) > (oldest.exceptions.get(key) ?? 0),
      )
      const [account = '', script = ''] = key.split('/')
      return [{ account, script, exceptions, since: Math.min((first ?? now).at, before.at + SAMPLE_MS) }]
    })
  }

  close(): void {
    clearInterval(this.#timer)
  }

  /** Never rejects: a process that does not respond is left out. */
  async #sample(): Promise<void> {
    const counted = await this.#now().catch(() => undefined)
    if (counted) this.#samples = [...this.#samples, counted].slice(-MAX_SAMPLES)
  }

  async #now(): Promise<Counted> {
    const exceptions = new Map<string, number>()
    for (const { name, labels, value } of await this.#read('edged_worker_requests_total')) {
      const { account = '', script = '', outcome } = labels
      if (name !== 'edged_worker_requests_total' || outcome !== 'exception') continue
      const key = `${account}/${script}`
      exceptions.set(key, (exceptions.get(key) ?? 0) + value)
    }
    return { at: this.#clock.now(), exceptions }
  }
}
