import { Type } from 'typebox'
import { LIST_KINDS, type ListItem, type ListKind } from '../../src/core/model/list.js'
import { checkedByHand, strict } from '../../src/core/schema.js'
import { EdgedSource } from '../resources/file-source.js'
import { itemShape } from '../../src/lists/item-check.js'

const Description = Type.Optional(Type.String({ maxLength: 500, description: 'Default: empty.' }))

export const NewList = Type.Object(
  {
    name: Type.String({
      pattern: '^[a-zA-Z0-9_]{1,50}$',
      description: 'Expressions say $name; they know lower-case letters, digits and _.',
      'x-message': 'must be 1 to 50 letters, digits and _',
    }),
    kind: Type.Enum([...LIST_KINDS]),
    description: Description,
  },
  strict,
)

export const ListChange = Type.Object({ description: Description }, strict)

export const ListResult = Type.Object({
  id: Type.String(),
  name: Type.String(),
  kind: Type.Enum([...LIST_KINDS]),
  description: Type.String(),
  num_items: Type.Integer(),
  num_referencing_filters: Type.Integer({ description: 'Rules of the account and its zones that use it.' }),
  created_on: Type.String(),
  modified_on: Type.String(),
  edged_source: EdgedSource,
})

const anyItem = (further: object) =>
  Type.Union(
    LIST_KINDS.map((kind: ListKind) => Type.Object({ ...itemShape(kind).properties, ...further }, { ...strict })),
  )

/** Each item is checked by hand against the kind of the list. */
export const NewItems = Type.Array(checkedByHand('ListItem', anyItem({})))

export const ItemResult = Type.Unsafe<ListItem>(
  anyItem({ id: Type.String(), created_on: Type.String(), modified_on: Type.String() }),
)

export const RemovedItems = Type.Object(
  { items: Type.Array(Type.Object({ id: Type.String() }, strict), { minItems: 1, description: 'Ids of items.' }) },
  strict,
)

export const ItemQuery = Type.Object({
  cursor: Type.Optional(Type.String({ maxLength: 200, description: 'Of the page before, from its result_info.' })),
  per_page: Type.Integer({ minimum: 1, maximum: 500, default: 500 }),
  search: Type.Optional(
    Type.String({
      maxLength: 1024,
      description: 'Addresses begin with it, host names and URLs of redirects contain it, numbers are it.',
    }),
  ),
})

export const Started = Type.Object({ operation_id: Type.String() })

export const Operation = Type.Object({
  id: Type.String(),
  status: Type.Literal('completed'),
  completed: Type.String({ description: 'When it was completed.' }),
})
