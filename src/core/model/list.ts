import { kind } from '../store.js'

/** Types of items of a named list. */
export const LIST_KINDS = ['ip', 'hostname', 'asn', 'redirect'] as const
export type ListKind = (typeof LIST_KINDS)[number]

/** Returns the kind of the list with a name, in one account; `unknown` if it cannot be known here. Undefined if the list does not exist. */
export type ListNamed = (name: string) => ListKind | 'unknown' | undefined

/** A stored list. The scope is the account. The id is 32 hexadecimal digits. */
export interface StoredList {
  readonly id: string
  readonly name: string
  readonly kind: ListKind
  readonly description: string
  readonly num_items: number
  readonly created_on: string
  readonly modified_on: string
}
export const LISTS = kind<StoredList>('list')

/**
 * The owner of a list name in an account, and the number of rules of the account and its zones that use it. The id is
 * the name. A count changes in the batch that changes the rules, so no list can be deleted while a new rule uses it.
 */
export interface ListName {
  readonly list_id: string
  readonly kind: ListKind
  readonly rules: number
}
export const LIST_NAMES = kind<ListName>('list_name')

/** An item as stored and returned, with the member of its kind in addition, as in `{ip: "192.0.2.1"}`. */
export interface ListItem {
  readonly id: string
  readonly created_on: string
  readonly modified_on: string
  readonly comment?: string
  readonly [member: string]: unknown
}

/**
 * Items of a list, in the order of their ids. They are stored in up to {@link BUCKETS} records by the first digits of
 * their ids. Changing one item rewrites one small record, and replacing all items does not need one record per item.
 * The scope is the account.
 */
export interface ListBucket {
  readonly list_id: string
  readonly items: readonly ListItem[]
}
export const LIST_ITEMS = kind<ListBucket>('list_items')
export const bucketId = (listId: string, bucket: string): string => `${listId}.${bucket}`
/** Returns the record of an item, by its id. */
export const bucketOf = (itemId: string): string => itemId.slice(0, 2)
export const BUCKETS: readonly string[] = Array.from({ length: 256 }, (_, at) => at.toString(16).padStart(2, '0'))

/** The latest changes to items of lists of an account, oldest first. The id is `latest`. */
export interface ListOperations {
  readonly operations: readonly { readonly id: string; readonly completed: string }[]
}
export const LIST_OPERATIONS = kind<ListOperations>('list_operations')
