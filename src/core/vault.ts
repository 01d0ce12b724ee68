import { Type, type Static } from 'typebox'
import { strict } from './schema.js'
import type { Scope } from './scope.js'
import type { Kind } from './store.js'

/** How a secret stands inside a stored record; nothing else there has this form. Answers of the API leave it out. */
export const Sealed = Type.Object({ sealed: Type.String() }, strict)
export type Sealed = Static<typeof Sealed>

/** Encrypts secrets before they are stored. */
export interface Vault {
  /**
   * The secret, encrypted for one place: `open` needs the same `aad`, so that what was sealed for one record cannot be
   * used in another. For a stored secret, `aad` is `secretOf(kind, scope, id)`.
   */
  seal(plaintext: string, aad: string): string
  /** The secret again; throws where the text was changed, belongs elsewhere or was sealed under a key that is not known. */
  open(sealed: string, aad: string): string
}

/** Additional data for the secrets of one record. */
export const secretOf = (kind: Kind<unknown>, scope: Scope, id: string): string =>
  JSON.stringify([kind.name, scope.type, scope.id, id])
