import type { ListKind } from '../../src/core/model/list.js'
import { LIST_TYPES } from '../../src/lists/index.js'
import { sha256 } from '../http/auth/config-index.js'

/**
 * Returns the id of an item, derived from its content: adding the same item again replaces it, so a list has no
 * duplicates.
 */
export const itemId = (listId: string, kind: ListKind, item: unknown): string =>
  sha256(`${listId}\n${LIST_TYPES[kind].key(item)}`).slice(0, 32)
