import { assertMembers, assertName } from '../../core/extension/members.js'
import type { GivenRow } from '../../core/extension/tables.js'
import { calledSafely, fromPlugin, pluginType } from '../language/plugin-value.js'
import type { Value } from '../language/value.js'
import type { FieldInfo } from './info.js'

/** A field that a plug-in adds. */
export interface AddedField extends FieldInfo {
  /** Returns the value of a request. */
  readonly read: (request: unknown) => Value | undefined
}

/** Converts a field of a plug-in to a row of the table. Throws a TypeError if its members are not valid. */
export function pluginField(row: GivenRow): AddedField {
  assertName('name', row['name'], /^[a-z][a-z0-9_]*(?:\.[a-z][a-z0-9_]*)+$/, 'acme.tenant')
  assertMembers(row, { type: 'string', description: 'string', 'phases?': 'array', get: 'function' })
  const { name, description, phases, get } = row as unknown as Omit<FieldInfo, 'type'> & {
    get: (request: unknown) => unknown
  }
  const type = pluginType(row['type'])
  return {
    name,
    type,
    group: 'request',
    description,
    ...(phases && { phases }),
    // Whether it reads something that rules rewrite is not known, so it is read again after they do.
    mutable: true,
    read: (request) =>
      fromPlugin(
        calledSafely(name, () => get.call(row, request)),
        type,
      ),
  }
}
