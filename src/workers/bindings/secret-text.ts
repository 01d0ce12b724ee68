import { Type } from 'typebox'
import { bindingKind } from './binding-kind.js'

/** A secret text. */
export const secretText = bindingKind({
  type: 'secret_text',
  description: 'A secret text.',
  fields: { text: Type.String({ description: 'The secret. Never shown.' }) },
  example: { text: 'hush' },
  secret: ['text'],
})
