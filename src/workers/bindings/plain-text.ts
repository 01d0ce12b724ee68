import { Type } from 'typebox'
import { bindingKind } from './binding-kind.js'

/** A text. */
export const plainText = bindingKind({
  type: 'plain_text',
  description: 'A text.',
  fields: { text: Type.String({ description: 'The text.' }) },
  example: { text: 'Hello' },
})
