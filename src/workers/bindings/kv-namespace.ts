import { bindingKind, Ref } from './binding-kind.js'

/** A KV namespace. */
export const kvNamespace = bindingKind({
  type: 'kv_namespace',
  description: 'A KV namespace.',
  fields: { namespace_id: Ref('Id of the namespace.') },
  example: { namespace_id: '0f2ac74b498b48028cb68387c421e279' },
})
