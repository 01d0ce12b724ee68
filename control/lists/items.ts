import { Type } from 'typebox'
import { LIST_OPERATIONS, type ListItem } from '../../src/core/model/list.js'
import { LIST_TYPES } from '../../src/lists/index.js'
import { area } from '../http/area.js'
import { ApiResponse } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import type { ListRepository } from './list-repository.js'
import { addItems, removeItems, replaceItems } from './item-changes.js'
import { ItemQuery, ItemResult, NewItems, Operation, RemovedItems, Started } from './schemas.js'

const PATH = '/rules/lists/:list_id/items'

const rows = area<ListRepository>({ scopes: ['account'], access: ACCESS.lists, refusal: 'badList' })

/** Items of lists. Changes are complete when the response is sent; the response is an operation nevertheless. */
export const items = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the items of a list',
    query: ItemQuery,
    result: Type.Array(ItemResult),
    handle(repository, { scope, params, query: { cursor, per_page, search } }) {
      const { kind } = repository.get(scope, params.list_id)
      const found: ListItem[] = []
      for (const item of repository.items(scope, params.list_id, cursor === undefined ? '' : idOf(cursor))) {
        if (search !== undefined && !LIST_TYPES[kind].found(item, search)) continue
        found.push(item)
        if (found.length > per_page) break
      }
      const shown = found.slice(0, per_page)
      const after = found.length > per_page ? Buffer.from(shown.at(-1)?.id ?? '').toString('base64url') : undefined
      return new ApiResponse(shown, {
        result_info: { count: shown.length, per_page, cursors: after === undefined ? {} : { after } },
      })
    },
  }),
  rows.post(PATH, {
    summary: 'Add items to a list; one that is there already is replaced',
    body: NewItems,
    maxBytes: 10_000_000,
    result: Started,
    handle: async (repository, call) => ({
      operation_id: await addItems(repository, call, call.params.list_id, call.body),
    }),
  }),
  rows.put(PATH, {
    summary: 'Replace all items of a list',
    body: NewItems,
    maxBytes: 10_000_000,
    result: Started,
    handle: async (repository, call) => ({
      operation_id: await replaceItems(repository, call, call.params.list_id, call.body),
    }),
  }),
  rows.delete(PATH, {
    summary: 'Delete items of a list by their ids',
    body: RemovedItems,
    maxBytes: 10_000_000,
    result: Started,
    async handle(repository, call) {
      const ids = call.body.items.map(({ id }) => id)
      return { operation_id: await removeItems(repository, call, call.params.list_id, ids) }
    },
  }),
  rows.get(`${PATH}/:item_id`, {
    summary: 'Read an item of a list',
    result: ItemResult,
    handle(repository, { scope, params: { list_id, item_id } }) {
      repository.get(scope, list_id)
      // Items are in the order of their ids, so only the first one can be it.
      for (const item of repository.items(scope, list_id, justBefore(item_id))) {
        if (item.id === item_id) return item
        break
      }
      throw new ApiError('itemNotFound', undefined, `could not find the item ${item_id} in the list`)
    },
  }),
  rows.get('/rules/lists/bulk_operations/:operation_id', {
    summary: 'Read how a change to items went; the latest hundred of the account are kept',
    result: Operation,
    handle(repository, { scope, params: { operation_id } }) {
      const latest = repository.deps.store.get(LIST_OPERATIONS, scope, 'latest')?.value.operations
      const found = latest?.find(({ id }) => id === operation_id)
      if (!found) throw new ApiError('operationNotFound', undefined, `could not find the operation ${operation_id}`)
      return { id: found.id, status: 'completed' as const, completed: found.completed }
    },
  }),
])

const ID = /^[0-9a-f]{32}$/

/** Decodes a cursor to its id. */
function idOf(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString()
  if (!ID.test(id)) throw new ApiError('badQuery', '/cursor', 'is not one that a list has given')
  return id
}

/** Returns a string that sorts before this id and all later ones, and after all earlier ones. */
const justBefore = (id: string): string => (ID.test(id) ? `${id.slice(0, -1)}${before(id.slice(-1))}` : '~')

/** Returns the character before a digit. No id contains it, and all greater ids follow. */
const before = (digit: string): string => String.fromCharCode(digit.charCodeAt(0) - 1)
