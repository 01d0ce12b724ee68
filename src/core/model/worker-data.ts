import type { Lease, Presence } from '../leases.js'
import { kind } from '../store.js'

/**
 * The machine with the Durable Objects and D1 databases of an account. The scope is the account. The id is
 * {@link WORKER_DATA_ID}.
 */
export interface WorkerDataHome {
  /** Name of the data. The folder that holds it has the same name in a file, so nobody runs another one in its place. */
  readonly data: string
}
export const WORKER_DATA_HOMES = kind<WorkerDataHome>('worker_data_home')
/** Lease of the machine that runs them. The scope is the account. The id is {@link WORKER_DATA_ID}. */
export const WORKER_DATA_LEASES = kind<Lease>('worker_data_lease')
export const WORKER_DATA_ID = 'data'

/** Presence of a machine that runs Workers. */
export interface WorkerMachine extends Presence {
  /** Address of the machine for other machines, as `host:port`. */
  readonly address: string
}
export const WORKER_MACHINES = kind<WorkerMachine>('worker_machine')
