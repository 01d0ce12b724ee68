import type { Duplex } from 'node:stream'
import type { Scope } from '../../core/scope.js'

/** A call of the machine with the data. The script owns Durable Objects, or is undefined for the D1 databases. */
export interface DataCall {
  readonly script: string | undefined
  /** The connection may outlive the process, for example as a WebSocket. */
  readonly mayStay: boolean
}

export const DATA_PLACES = ['none', 'here', 'elsewhere', 'unreachable', 'away'] as const

/** Location of the data of an account, and the machine that ran it last. */
export interface DataPlace {
  readonly place: (typeof DATA_PLACES)[number]
  readonly machine: string | null
}

/**
 * Knows which of several machines runs the Durable Objects and D1 databases of each account. One machine runs all data
 * of an account, because only one process can open the files. The others forward calls to it.
 */
export interface DataHomes {
  /** Returns whether this machine runs the data of the account. */
  isHere(scope: Scope): boolean
  /** Returns whether some machine has the data. */
  isTaken(scope: Scope): boolean
  /**
   * Takes the data if this machine has it, or, with `isNew`, if no machine has it. Rejects with {@link DataAway} if that
   * cannot be known now.
   */
  claim(scope: Scope, isNew: boolean): Promise<void>
  /** Returns why calls fail now. Undefined while the machine with the data responds. */
  away(scope: Scope): string | undefined
  /** Asks the machine with the data for a response. */
  responds(scope: Scope): Promise<boolean>
  /** Resolves with the machine that has the data, after asking it. */
  place(scope: Scope): Promise<DataPlace>
  /** Opens a call. Rejects with {@link DataAway}. */
  connect(scope: Scope, call: DataCall): Promise<Duplex>
  /**
   * Waits until the machine with the data runs the stored state. Resolves with the scripts that do not run there, and
   * why. Rejects with {@link DataAway}.
   */
  apply(scope: Scope): Promise<ReadonlyMap<string, string>>
}

/** The machine with the Durable Objects and D1 databases of an account does not respond. */
export class DataAway extends Error {
  override readonly name = 'DataAway'
}
