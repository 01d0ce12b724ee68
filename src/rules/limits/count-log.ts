import type { Limit } from '../limit.js'

/** A change of the counts of one key that other processes of this machine have to know. */
export interface CountEvent {
  /** `mitigate` means that the key is under mitigation until `amount`, in milliseconds since 1970. */
  readonly type: 'count' | 'reset' | 'mitigate'
  readonly limit: Limit
  readonly key: string
  /** Number of the window, of own counts with its elapsed part; 0 if it does not matter. */
  readonly window: number
  readonly amount: number
  /** Counted by another machine. */
  readonly foreign: boolean
}

/** The order of all counts on this machine. Every process applies the same events in the same order. */
export interface CountLog {
  /** Receives the events of all processes, own ones included. */
  apply: (event: CountEvent) => void
  /** Appends an event. When it returns, the events before it and itself are applied, and none after it. */
  append(event: CountEvent): void
  /** Applies all events appended so far. */
  sync(): void
}
