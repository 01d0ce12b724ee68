import { bindingKind, Ref } from './binding-kind.js'

/** An uploaded part as WebAssembly, for service-worker scripts. */
export const wasmModule = bindingKind({
  type: 'wasm_module',
  description: 'An uploaded part as WebAssembly, for service-worker scripts.',
  fields: { part: Ref('Name of the part.') },
  example: { part: 'blob.bin' },
  part: 'part',
})
