import type { ListItem } from '../../src/core/model/list.js'
import { configuredItem } from '../../src/lists/item-check.js'
import { UNKNOWN_TIME, type ControlConfig } from '../http/context.js'
import { itemId } from './item-id.js'

const prepared = new WeakMap<ControlConfig['lists'][number], readonly ListItem[]>()

/** Returns the items of a configured list as in API responses, in the order of their ids; built once. */
export function configuredItems(listId: string, list: ControlConfig['lists'][number]): readonly ListItem[] {
  const known = prepared.get(list)
  if (known) return known
  const times = { created_on: UNKNOWN_TIME, modified_on: UNKNOWN_TIME }
  const items = list.items.map((given) => {
    const item = configuredItem(list.kind, given) as object
    return { ...item, id: itemId(listId, list.kind, item), ...times }
  })
  items.sort((a, b) => (a.id < b.id ? -1 : 1))
  prepared.set(list, items)
  return items
}
