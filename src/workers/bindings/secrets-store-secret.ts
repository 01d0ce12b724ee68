import { bindingKind, Ref } from './binding-kind.js'

/** A secret of a secrets store. */
export const secretsStoreSecret = bindingKind({
  type: 'secrets_store_secret',
  description: 'A secret of a secrets store.',
  fields: { store_id: Ref('Id of the store.'), secret_name: Ref('Name of the secret in it.') },
  example: { store_id: 'f7f1d9d8', secret_name: 'token' },
})
