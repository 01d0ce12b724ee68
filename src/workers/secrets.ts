import type { Binding } from '../core/model/worker.js'
import type { Sealed } from '../core/vault.js'
import { BINDINGS } from './bindings/index.js'

const NONE: readonly string[] = []
const membersOf = ({ type }: Binding): readonly string[] => BINDINGS.get(type)?.secret ?? NONE

/** Returns the binding after applying `change` to each secret member. */
function mapped(binding: Binding, change: (value: unknown) => unknown): Binding {
  const secret = membersOf(binding).filter((member) => binding[member] !== undefined)
  if (secret.length === 0) return binding
  return { ...binding, ...Object.fromEntries(secret.map((member) => [member, change(binding[member])])) }
}

/** Returns the stored form of a binding, with its secret members encrypted. */
export const sealBinding = (binding: Binding, seal: (text: string) => string): Binding =>
  mapped(binding, (value): Sealed => ({ sealed: seal(JSON.stringify(value)) }))

/** Returns the binding with its secrets unencrypted. */
export const openBinding = (binding: Binding, open: (sealed: string) => string): Binding =>
  mapped(binding, (value) => JSON.parse(open((value as Sealed).sealed)) as unknown)

/** Returns the binding as the API shows it, without its secrets. */
export function bindingResponse(binding: Binding): Binding {
  const secret = membersOf(binding)
  if (secret.length === 0) return binding
  return Object.fromEntries(
    Object.entries(binding).filter(([member]) => !secret.includes(member)),
  ) as unknown as Binding
}

/** Returns whether a binding is a secret, as `GET .../secrets` lists them. */
export const isSecret = (binding: Binding): boolean => membersOf(binding).length > 0
