/**
 * What plug-ins are written with: types, and the schema builder. A plug-in is a module whose default export registers
 * rows of the product's tables. It gets everything as its argument, so it needs no package at run time.
 *
 *     export default (edged) => {
 *       edged.dataset({ name: 'shop_orders', scopes: ['account'], clock: 'Time', fields: { Time: 'timestamp' } })
 *     }
 */
import type { DatasetInfo } from '../../pipelines/records/fields/dataset.js'
import type { PluginSink } from '../../sinks/contract/plugin-types.js'
import type { PluginSource } from '../core/extension/source-types.js'
import type { PluginFunction } from '../expr/language/plugin-types.js'
import type { PluginAction, PluginField } from '../rules/plugin-types.js'
import type { SchemaBuilder } from './schema-builder.js'

export type { DatasetInfo, FieldType, FilterNode } from '../../pipelines/records/fields/dataset.js'
export type {
  PluginSink,
  PluginSinkConnection,
  PluginSinkContext,
  PluginSinkError,
} from '../../sinks/contract/plugin-types.js'
export type { PluginObjectSchema, PluginSchema } from '../core/extension/schema.js'
export type { PluginRecords, PluginSource, PluginSourceContext } from '../core/extension/source-types.js'
export type { Batch, BatchBody, SinkFailure, SinkLimits } from '../core/sink.js'
export type { PluginFunction, PluginParam } from '../expr/language/plugin-types.js'
export type {
  PluginAction,
  PluginDecision,
  PluginField,
  PluginRequest,
  PluginResponse,
  PluginRun,
} from '../rules/plugin-types.js'
export { Type, type SchemaBuilder } from './schema-builder.js'

/** The argument of the default export of a plug-in. Its functions are for use during that call only. */
export interface Edged {
  readonly Type: SchemaBuilder
  /** Adds a type of destination of log push jobs and pipelines. */
  readonly sink: (sink: PluginSink) => void
  /** Adds a source of pipelines. */
  readonly source: (source: PluginSource) => void
  /** Adds an action of rules. */
  readonly action: (action: PluginAction) => void
  /** Adds a function of the rules language. */
  readonly function: (definition: PluginFunction) => void
  /** Adds a field of the rules language. */
  readonly field: (field: PluginField) => void
  /** Adds a type of log records. */
  readonly dataset: (dataset: DatasetInfo) => void
}

/** The default export of a plug-in. */
export type Plugin = (edged: Edged) => void | Promise<void>
