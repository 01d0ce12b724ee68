import { kind, type NameOwner } from '../store.js'
import type { Sealed } from '../vault.js'

/** A database that scripts connect to. The scope is the account. The id is 32 hexadecimal digits. */
export interface StoredHyperdrive {
  readonly id: string
  readonly name: string
  readonly origin: {
    readonly scheme: string
    readonly host: string
    readonly port: number
    readonly database: string
    readonly user: string
  }
  /** Encrypted for this record. */
  readonly password: Sealed
  readonly caching: Readonly<Record<string, unknown>>
  readonly origin_connection_limit: number
  readonly created_on: string
  readonly modified_on: string
}
export const HYPERDRIVES = kind<StoredHyperdrive>('hyperdrive')
/** The configuration that owns a name. The scope is the account. The id is the name. */
export const HYPERDRIVE_NAMES = kind<NameOwner>('hyperdrive_name')
