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
