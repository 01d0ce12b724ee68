import type { Random } from './random.js'

/**
 * Kinds of faults. Each has a rate, per call.
 *
 * - `full` means that a write stores a part of its bytes and fails, and that no file can be created or renamed.
 * - `short` means that a write stores a part of its bytes and says so.
 * - `sync` means that a sync fails. Some of the bytes are clean then: a later sync skips them.
 * - `cut` means that a file cannot be cut off, `read` that it cannot be read.
 * - `descriptors` means that nothing can be opened for a while.
 * - `slow` means that a call takes up to 5 s.
 * - `refused` means that a receiver rejects a batch for now, `unheard` that it took the batch and the answer is lost.
 * - `late` means that a receiver answers after up to 60 s, `too_large` that it rejects batches of many records.
 * - `broken` means that a connection ends before a command arrives, `restart` that the server ends and begins again.
 * - `stale` means that a replica lacks the newest messages.
 * - `away` means that a machine cannot reach the shared store for up to 40 s. `unheard` also means that the store made a
 *   change and the answer is lost.
 */
export const FAULTS = [
  'full',
  'short',
  'sync',
  'cut',
  'read',
  'descriptors',
  'slow',
  'refused',
  'unheard',
  'late',
  'too_large',
  'away',
  'broken',
  'restart',
  'stale',
] as const
export type FaultKind = (typeof FAULTS)[number]
export type Rates = Readonly<Partial<Record<FaultKind, number>>>

const CODES = { full: 'ENOSPC', sync: 'EIO', cut: 'EIO', read: 'EIO', descriptors: 'EMFILE' } as const

export const failure = (code: string): Error => Object.assign(new Error(`${code}: simulated`), { code })

/** Decides which calls fail. */
export class Faults {
  readonly random: Random
  #rates: Rates

  constructor(rates: Rates, random: Random) {
    this.#rates = rates
    this.random = random
  }

  /** From now on nothing fails. */
  end(): void {
    this.#rates = {}
  }

  has(kind: FaultKind): boolean {
    return this.random.chance(this.#rates[kind] ?? 0)
  }

  isOn(kind: FaultKind): boolean {
    return (this.#rates[kind] ?? 0) > 0
  }

  /** Throws the error of a kind at its rate. */
  strike(kind: keyof typeof CODES): void {
    if (this.has(kind)) throw failure(CODES[kind])
  }
}
