import type { Scope } from './scope.js'

/** An event under its wire names, with wire values. Numbers beyond 2^53 are bigint. */
export type LogRecord = Readonly<Record<string, unknown>>

/** Accepts the events of the daemon itself. Never waits and never throws. Events that cannot be stored are counted. */
export interface Emitter {
  /** Returns whether any job currently reads such records. Otherwise producers skip the records. */
  wants(dataset: string, scope: Scope): boolean
  emit(dataset: string, scope: Scope, record: LogRecord): void
  /** Emits an event that must not be lost. Resolves when it is stored for the jobs that read it; rejects if it cannot be. */
  save?(dataset: string, scope: Scope, record: LogRecord): Promise<void>
}
