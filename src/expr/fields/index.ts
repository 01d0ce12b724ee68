import { EDGE_FIELDS } from './edge.js'
import { HTTP_FIELDS } from './http.js'
import type { FieldInfo } from './info.js'

export type { FieldInfo } from './info.js'

/** Every field of the language. */
export const FIELDS: readonly FieldInfo[] = [...HTTP_FIELDS, ...EDGE_FIELDS]
