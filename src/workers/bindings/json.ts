import { Type } from 'typebox'
import { bindingKind } from './binding-kind.js'

/** Any JSON value. */
export const json = bindingKind({
  type: 'json',
  description: 'Any JSON value.',
  fields: { json: Type.Unknown({ description: 'The value.' }) },
  example: { json: { limit: 3 } },
})
