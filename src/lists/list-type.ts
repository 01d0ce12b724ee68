import type { TObject } from 'typebox'
import type { Issue } from '../core/errors.js'
import type { ListKind } from '../core/model/list.js'
import type { NamedList } from '../expr/index.js'

/** A type of list, with the shape of its items, their equality, and how requests are matched with them. */
export interface ListType<I = unknown> {
  readonly kind: ListKind
  /** The member that contains the item, as in `{ip: "192.0.2.1"}`. */
  readonly member: string
  /** The members other than `comment`. */
  readonly shape: TObject
  /** Returns the item for the short form of the configuration. Undefined if a value is not a short form. */
  short(value: unknown): unknown
  /** Returns the issues of an item that matches the shape. */
  issues(item: I): readonly Issue[]
  /** Returns the key of an item. Two items of one list with the same key are equal. */
  key(item: I): string
  /** Returns whether an item is found by a search of the API. */
  found(item: I, search: string): boolean
  /** Creates an empty table of items. */
  table(): ItemTable<I>
}

/** The items of one list, looked up for each request. The cost of a change does not depend on the number of items. */
export interface ItemTable<I = unknown> {
  /** Adds an item. Replaces one with the same key. */
  add(item: I): void
  remove(item: I): void
  /** Present if expressions can name the list. */
  readonly has?: NamedList['has']
  /** Present for redirects. Returns the redirect for a URL, or undefined. */
  readonly find?: (url: string) => FoundRedirect | undefined
}

/** A redirect of a list, as a byte string: `location` contains path suffix and query if the item preserves them. */
export interface FoundRedirect {
  readonly location: string
  readonly status: number
}

/** Describes a type of list. */
export const listType = <I>(type: ListType<I>): ListType => type
