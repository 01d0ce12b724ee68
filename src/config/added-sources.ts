import { Type, type TObject } from 'typebox'
import { assertMembers, assertName } from '../core/extension/members.js'
import type { PluginSource } from '../core/extension/source-types.js'
import { tableOf, type GivenRow } from '../core/extension/tables.js'
import { strict } from '../core/schema.js'

interface SourceRow {
  readonly name: string
  /** Undefined for a source of the product itself. */
  readonly plugin?: PluginSource
}

function pluginSource(row: GivenRow): SourceRow {
  assertName('name', row['name'], /^[a-z][a-z0-9_]{0,63}$/, 'ticker')
  assertMembers(row, { description: 'string', schema: 'object', open: 'function' })
  const plugin = row as unknown as PluginSource
  return { name: plugin.name, plugin }
}

/** Returns the sources that plug-ins add to those with the names `own`. */
export const addedSources = (own: readonly string[]): readonly PluginSource[] =>
  tableOf<SourceRow>('source', {
    own: own.map((name) => ({ name })),
    key: ({ name }) => name,
    complete: pluginSource,
  }).flatMap(({ plugin }) => plugin ?? [])

/** Returns the schema of a source with one member, which names it. */
export const sourceSchema = ({ name, description, schema }: PluginSource): TObject =>
  Type.Object({ [name]: schema }, { ...strict, description })
