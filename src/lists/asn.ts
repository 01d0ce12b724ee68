import { Type, type Static } from 'typebox'
import type { Value } from '../expr/index.js'
import { listType } from './list-type.js'

const Item = Type.Object({
  asn: Type.Integer({ minimum: 0, maximum: 2 ** 32 - 1, description: 'Number of an autonomous system.' }),
})

/** Numbers of autonomous systems. */
export const asn = listType<Static<typeof Item>>({
  kind: 'asn',
  member: 'asn',
  shape: Item,
  short: (value) => (typeof value === 'number' ? { asn: value } : undefined),
  issues: () => [],
  key: ({ asn }) => String(asn),
  found: ({ asn }, search) => String(asn) === search,
  table() {
    const numbers = new Set<Value>()
    return {
      add: ({ asn }) => numbers.add(asn),
      remove: ({ asn }) => numbers.delete(asn),
      has: (value) => numbers.has(value),
    }
  },
})
