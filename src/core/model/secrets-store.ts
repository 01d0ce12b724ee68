import { kind, type NameOwner } from '../store.js'
import type { Sealed } from '../vault.js'

/** A store of secrets that several scripts share. The scope is the account. The id is 32 hexadecimal digits. */
export interface StoredSecretStore {
  readonly id: string
  readonly name: string
  readonly created: string
  readonly modified: string
}
export const SECRET_STORES = kind<StoredSecretStore>('secret_store')
/** The store that owns a name. The scope is the account. The id is the name. */
export const SECRET_STORE_NAMES = kind<NameOwner>('secret_store_name')

/** A secret of a store. The scope is the account. The id is 32 hexadecimal digits. */
export interface StoredSecret {
  readonly id: string
  readonly store_id: string
  readonly name: string
  readonly comment: string
  /** Products that may use it, for example `workers`. */
  readonly scopes: readonly string[]
  readonly created: string
  readonly modified: string
  /** Encrypted for this record. */
  readonly value: Sealed
}
export const STORE_SECRETS = kind<StoredSecret>('store_secret')
/** The secret that owns a name. The scope is the account. The id is {@link secretName}. */
export const STORE_SECRET_NAMES = kind<NameOwner>('store_secret_name')

/** Names are unique within a store. */
export const secretName = (storeId: string, name: string): string => `${storeId}/${name}`
