import { kind } from '../store.js'

/** What the items of a named list are. */
export const LIST_KINDS = ['ip', 'hostname', 'asn', 'redirect'] as const
export type ListKind = (typeof LIST_KINDS)[number]

/** The kind of the list that a name stands for, in one account; undefined where there is no such list. */
export type ListNamed = (name: string) => ListKind | undefined

/** A list as it is stored. Scope: the account; id: 32 hexadecimal digits. */
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
 * Which list has a name in the account of the scope, and how many rules of the account and its zones use it; id: the
 * name. A count changes in the batch that changes the rules, so that no list can be removed while a rule comes to use it.
 */
export interface ListName {
  readonly list_id: string
  readonly kind: ListKind
  readonly rules: number
}
export const LIST_NAMES = kind<ListName>('list_name')

/** An item as it is stored and answered: beside these it has the member of its kind, as in `{ip: "192.0.2.1"}`. */
export interface ListItem {
  readonly id: string
  readonly created_on: string
  readonly modified_on: string
  readonly comment?: string
  readonly [member: string]: unknown
}

/**
 * Items of a list, in the order of their ids. They are kept in up to {@link BUCKETS} records, told by the first digits of
 * their ids, so that changing one item of many costs little, and replacing them all does not need a record for each.
 * Scope: the account.
 */
export interface ListBucket {
  readonly list_id: string
  readonly items: readonly ListItem[]
}
export const LIST_ITEMS = kind<ListBucket>('list_items')
export const bucketId = (listId: string, bucket: string): string => `${listId}.${bucket}`
/** The record that an item is kept in, by its id. */
export const bucketOf = (itemId: string): string => itemId.slice(0, 2)
export const BUCKETS: readonly string[] = Array.from({ length: 256 }, (_, at) => at.toString(16).padStart(2, '0'))

/** The latest changes to items of lists of an account, oldest first; id: `latest`. */
export interface ListOperations {
  readonly operations: readonly { readonly id: string; readonly completed: string }[]
}
export const LIST_OPERATIONS = kind<ListOperations>('list_operations')
