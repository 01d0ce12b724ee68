import { Type, type TSchema } from 'typebox'
import type { Issue } from '../core/errors.js'
import type { ListKind } from '../core/model/list.js'
import { issuesOf, strict } from '../core/schema.js'
import { LIST_TYPES } from './index.js'

const comment = Type.Optional(Type.String({ maxLength: 500, description: 'For people.' }))

/** Returns the shape of an item in a request. */
export const itemShape = (kind: ListKind) =>
  Type.Object({ ...LIST_TYPES[kind].shape.properties, comment }, { ...strict, description: `An item of kind ${kind}.` })

const SHAPES = Object.fromEntries(
  Object.keys(LIST_TYPES).map((kind) => [kind, issuesOf(itemShape(kind as ListKind) as TSchema)]),
) as Record<ListKind, ReturnType<typeof issuesOf>>

/** Returns the issues of an item for a list of that type. Pointers are relative to the item. */
export function itemIssues(kind: ListKind, item: unknown): readonly Issue[] {
  const wrong = SHAPES[kind](item)
  return wrong.length > 0 ? wrong : LIST_TYPES[kind].issues(item)
}

/** Returns an item of a list in the configuration, short forms expanded. */
export function configuredItem(kind: ListKind, item: unknown): unknown {
  return LIST_TYPES[kind].short(item) ?? item
}
