import { tableOf } from '../../core/extension/tables.js'
import { EDGE_FIELDS } from './edge.js'
import { HTTP_FIELDS } from './http.js'
import type { FieldInfo } from './info.js'
import { pluginField, type AddedField } from './plugin.js'

export type { FieldInfo } from './info.js'

/** Every field of the language. */
export const FIELDS: readonly (FieldInfo | AddedField)[] = tableOf('field', {
  own: [...HTTP_FIELDS, ...EDGE_FIELDS] as readonly (FieldInfo | AddedField)[],
  key: ({ name }) => name,
  complete: pluginField,
})

/** The fields that plug-ins add. */
export const ADDED_FIELDS: readonly AddedField[] = FIELDS.filter((field): field is AddedField => 'read' in field)
