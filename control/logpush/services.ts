import type { LogpushJob } from '../../src/core/model/logpush-job.js'
import type { LogpushConfig } from '../../src/config/schema.js'
import type { Scope } from '../../src/core/scope.js'
import type { Sink } from '../../src/core/sink.js'
import type { Vault } from '../../src/core/vault.js'
import type { DeadLetterEntry } from '../../pipelines/logpush/dead-letter-index.js'
import type { LagHistory } from '../../pipelines/logpush/lag-history.js'
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
  /** Returns a text of the destination, such as a response, without the secrets of the destination. */
  hideSecrets(text: string, destination: string): string
}

/** A job as it will run, its destination in the clear. */
export type PlainJob = Omit<LogpushJob, 'destination_conf'> & { readonly destination_conf: string }

/** A job as it is read: without its destination if none of the keys opens it. */
export type ReadJob = Omit<PlainJob, 'destination_conf'> & { readonly destination_conf: string | undefined }

/** The file of a dead letter is elsewhere, deleted, damaged or in use. The message is shown to the owner of the job. */
export class DeadLetterUnreadable extends Error {
  override readonly name = 'DeadLetterUnreadable'
}

/** Where dead letters are sent again. */
export interface ReplayTarget {
  readonly sink: Sink
  /** Without secrets. */
  readonly destination: string
  /** Whether each line is a record. If not, a dead letter is sent as one batch. */
  readonly isLines: boolean
  readonly stop: AbortSignal
}

/** Outcome of a dead letter that was sent again. */
export interface ReplayedDeadLetter {
  readonly id: string
  /** Records, those of earlier calls included. */
  readonly delivered: number
  readonly failed: number
  readonly left: number
  /** Why records are left. Null if none are. */
  readonly error: string | null
}

/** Records in the dead letter destination, by job. */
export interface DeadLetters {
  /** Returns how many records of a job were not sent again. */
  waiting(job: string): number
  /** Newest first. */
  list(job: string): Promise<readonly DeadLetterEntry[]>
  /** Reads the file to its end. Throws {@link DeadLetterUnreadable}. */
  check(entry: DeadLetterEntry): Promise<void>
  /** Yields the lines. Throws {@link DeadLetterUnreadable}. */
  read(entry: DeadLetterEntry): AsyncIterable<Uint8Array>
  /** Sends what is left of a dead letter, until the destination fails. Throws {@link DeadLetterUnreadable}. */
  replay(job: string, entry: DeadLetterEntry, target: ReplayTarget): Promise<ReplayedDeadLetter>
}

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
  readonly deadLetters?: DeadLetters
  /** Lag of pipelines and jobs over time. */
  readonly lags?: Pick<LagHistory, 'points' | 'stepMs'>
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
