import { assertMembers, assertName } from '../../../src/core/extension/members.js'
import type { GivenRow } from '../../../src/core/extension/tables.js'
import { ANY } from './any.js'
import { dataset, type Dataset, type DatasetInfo, type FieldType } from './dataset.js'

const TYPES: ReadonlySet<FieldType> = new Set([
  'string',
  'int',
  'float',
  'bool',
  'timestamp',
  'object',
  'array[string]',
  'array[int]',
  'array[object]',
] as const)

/** Converts a dataset of a plug-in to a row of the table. Throws a TypeError if its members are not valid. */
export function pluginDataset(row: GivenRow): Dataset {
  assertName('name', row['name'], /^[a-z][a-z0-9_]{0,63}$/, 'shop_orders')
  assertMembers(row, { scopes: 'array', clock: 'string', fields: 'object', 'defaults?': 'array' })
  const info = row as unknown as DatasetInfo
  if (info.name === ANY) throw new TypeError(`${ANY} is the name of records of any form; choose another name`)
  if (info.scopes.length === 0 || info.scopes.some((scope) => scope !== 'account' && scope !== 'zone'))
    throw new TypeError('scopes must have account, zone or both')
  for (const [field, type] of Object.entries(info.fields))
    if (!TYPES.has(type)) throw new TypeError(`the type of ${field} must be one of ${[...TYPES].join(', ')}`)
  const named = [info.clock, ...(info.defaults ?? []), ...(info.deprecated ?? []), ...(info.unfilterable ?? [])]
  for (const field of named)
    if (!Object.hasOwn(info.fields, field)) throw new TypeError(`${field} is not a member of fields`)
  return dataset(info)
}
