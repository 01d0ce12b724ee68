import type { ListKind } from '../../src/core/model/list.js'
import { LIST_TYPES } from '../../src/lists/index.js'
import { sha256 } from '../http/auth/config-index.js'

/**
 * The id of an item: made from what it says, so that the same item added again is found where it is, and no list holds
 * one twice.
 */
export const itemId = (listId: string, kind: ListKind, item: unknown): string =>
  sha256(`${listId}\n${LIST_TYPES[kind].key(item)}`).slice(0, 32)
