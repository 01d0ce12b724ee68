import { Type } from 'typebox'
import { bindingKind, Ref } from './binding-kind.js'

/** A D1 database. */
export const d1 = bindingKind({
  type: 'd1',
  description: 'A D1 database.',
  fields: {
    database_id: Type.Optional(Ref('Id of the database.')),
    id: Type.Optional(Ref('The older name of `database_id`.')),
  },
  example: { database_id: '4f2e4a1c-3c5e-4c8e-9c0a-0a1b2c3d4e5f' },

  check({ database_id, id }) {
    if (database_id === undefined && id === undefined) return [{ pointer: '/database_id', message: 'is required' }]
    if (database_id !== undefined && id !== undefined && database_id !== id)
      return [{ pointer: '/id', message: 'is the older name of database_id and must be the same' }]
    return []
  },

  // Clients read one or the other.
  normalize(binding) {
    const id = binding['database_id'] ?? binding['id']
    return { ...binding, database_id: id, id }
  },
})
