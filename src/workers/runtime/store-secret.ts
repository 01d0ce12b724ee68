import { secretName, STORE_SECRET_NAMES, STORE_SECRETS } from '../../core/model/secrets-store.js'
import type { Scope } from '../../core/scope.js'
import type { StoreReader } from '../../core/store.js'
import { secretOf, type Vault } from '../../core/vault.js'

/** Returns the value of a secret that Workers may use. Undefined if it does not exist or its key is lost. */
export function storeSecret(
  { store, vault }: { readonly store: StoreReader; readonly vault: Pick<Vault, 'open'> },
  scope: Scope,
  [storeId, name]: readonly [storeId: string, name: string],
): string | undefined {
  const owner = store.get(STORE_SECRET_NAMES, scope, secretName(storeId, name))?.value
  const secret = owner && store.get(STORE_SECRETS, scope, owner.id)?.value
  if (!secret?.scopes.includes('workers')) return undefined
  try {
    return vault.open(secret.value.sealed, secretOf(STORE_SECRETS, scope, secret.id))
  } catch {
    return undefined
  }
}
