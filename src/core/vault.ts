import { Type, type Static } from 'typebox'
import { strict } from './schema.js'
import type { Scope } from './scope.js'
import type { Kind } from './store.js'

/** An encrypted secret inside a stored record. Nothing else has this form. API responses omit it. */
export const Sealed = Type.Object({ sealed: Type.String() }, strict)
export type Sealed = Static<typeof Sealed>

/** Encrypts secrets before they are stored. */
export interface Vault {
  /**
   * Encrypts a secret for one purpose: `open` needs the same `aad`, so a secret encrypted for one record cannot be used
   * in another. For a stored secret, `aad` is `secretOf(kind, scope, id)`.
   */
  seal(plaintext: string, aad: string): string
  /** Decrypts a secret. Throws if the text was changed, `aad` differs or the key is unknown. */
  open(sealed: string, aad: string): string
}

/** Returns the additional data for the secrets of one record. */
export const secretOf = (kind: Kind<unknown>, scope: Scope, id: string): string =>
  JSON.stringify([kind.name, scope.type, scope.id, id])
