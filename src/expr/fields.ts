import { EDGE_FIELDS } from './fields-edge.js'
import { HTTP_FIELDS } from './fields-http.js'
import type { FieldInfo } from './field-info.js'

export type { FieldInfo } from './field-info.js'

/** Every field of the language. */
export const FIELDS: readonly FieldInfo[] = [...HTTP_FIELDS, ...EDGE_FIELDS]
