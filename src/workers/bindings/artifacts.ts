import { Type } from 'typebox'
import { bindingKind } from './binding-kind.js'

/** A namespace of artifacts; it need not exist. */
export const artifacts = bindingKind({
  type: 'artifacts',
  description: 'A namespace of artifacts; it need not exist.',
  fields: {
    namespace: Type.String({
      minLength: 2,
      maxLength: 63,
      pattern: '^[A-Za-z0-9][A-Za-z0-9._-]*[A-Za-z0-9._]$',
      'x-message':
        'must be 2 to 63 letters, digits, dots, underscores and hyphens, the first a letter or digit, the last no hyphen',
    }),
  },
  example: { namespace: 'builds' },
})
