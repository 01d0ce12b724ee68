import type { Scope } from './scope.js'

/** An event under its wire names, with wire values; numbers beyond 2^53 stand as bigint. */
export type LogRecord = Readonly<Record<string, unknown>>

/** Takes the events that the daemon itself makes. Never waits and never throws: what cannot be kept is counted. */
export interface Emitter {
  /** Whether any job takes such records now; a producer makes no record that nobody wants. */
  wants(dataset: string, scope: Scope): boolean
  emit(dataset: string, scope: Scope, record: LogRecord): void
}
