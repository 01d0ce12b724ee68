import type { LogpushJob } from '../../src/core/model/logpush-job.js'
import type { LogpushConfig } from '../../src/config/schema.js'
import type { Scope } from '../../src/core/scope.js'
import type { Sink } from '../../src/core/sink.js'
import type { Vault } from '../../src/core/vault.js'
import type { Watched } from '../../pipelines/logpush/monitor.js'
import type { Spools } from '../../pipelines/logpush/spool/types.js'
import type { ControlDeps } from '../http/context.js'
import type { LiveSessions } from './live-sessions.js'

/** What there is to know about a destination before anything is sent to it. */
export interface Destinations {
  /** Checks the form, without any I/O. Throws InvalidInput with the pointer "". */
  check(destination: string): void
  /** Opens it; connects to nothing yet. */
  open(destination: string): Sink
  /** Whether a job needs an ownership challenge for it. */
  needsOwnership(destination: string): boolean
  /** Returns it without secrets. Takes any text. */
  redact(destination: string): string
}

/** A job as it will run, its destination in the clear. */
export type PlainJob = Omit<LogpushJob, 'destination_conf'> & { readonly destination_conf: string }

/** A job as it is read: without its destination if none of the keys opens it. */
export type ReadJob = Omit<PlainJob, 'destination_conf'> & { readonly destination_conf: string | undefined }

/** Services of the log push area of the API besides configuration and store. */
export interface LogpushServices {
  readonly vault: Vault
  /** Keys of ownership challenges, 32 bytes each, the same on every machine. The first one signs; each is valid. */
  readonly challengeKeys: () => readonly [Uint8Array, ...Uint8Array[]]
  readonly destinations: Destinations
  readonly spools: Pick<Spools, 'open' | 'id'>
  readonly live: LiveSessions
  /** Returns the pipelines and jobs that run. */
  readonly running?: () => readonly Watched[]
  /** Resolves when a stored job has its place: records that are accepted from then on reach it. */
  readonly settled: (id: string) => Promise<void>
  /** Resolves when all enabled jobs for this dataset that are known now have their place. */
  readonly settledFor: (scope: Scope, dataset: string) => Promise<void>
  /** Attempts what a job could not deliver again now. Returns false if the job does not run on this machine. */
  readonly retry?: (id: string) => boolean
  /** Resolves when the retention flag of a zone is in force. */
  readonly retentionSettled?: (scope: Scope) => Promise<void>
  /** The configuration in force now. */
  readonly limits: () => Pick<LogpushConfig, 'jobs_per_scope' | 'filter'>
  /** Called for each request that contained records. */
  readonly observeIngest?: (dataset: string, counts: { readonly accepted: number; readonly rejected: number }) => void
}

export interface LogpushDeps extends ControlDeps {
  readonly logpush: () => LogpushServices
}
