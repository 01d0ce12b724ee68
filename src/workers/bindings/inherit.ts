import { Type } from 'typebox'
import { bindingKind, Ref } from './binding-kind.js'

/** A binding of an earlier version. */
export const inherit = bindingKind({
  type: 'inherit',
  description: 'A binding of an earlier version.',
  fields: {
    old_name: Type.Optional(Ref('The name that it had there. Default: the same.')),
    version_id: Type.Optional(Ref('`latest`, the default, or the id of a version.')),
  },
})
