import type { TObject } from 'typebox'
import type { Issue } from '../core/errors.js'
import type { ListKind } from '../core/model/list.js'
import type { NamedList } from '../expr/index.js'

/** What the items of a kind of list are: their shape, when two are the same, and how requests are matched with them. */
export interface ListType<I = unknown> {
  readonly kind: ListKind
  /** The member that holds the item, as in `{ip: "192.0.2.1"}`. */
  readonly member: string
  /** What stands beside `comment`. */
  readonly shape: TObject
  /** The item for the short form of the configuration; undefined if a value is no short form. */
  short(value: unknown): unknown
  /** What the shape cannot say of an item that fits it. */
  issues(item: I): readonly Issue[]
  /** Two items of one list with the same key are the same. */
  key(item: I): string
  /** Returns whether an item is found by a search of the API. */
  found(item: I, search: string): boolean
  /** An empty table of items. */
  table(): ItemTable<I>
}

/** The items of one list, ready to be asked for each request. Changes cost the same however many items there are. */
export interface ItemTable<I = unknown> {
  /** Adds an item. Replaces one with the same key. */
  add(item: I): void
  remove(item: I): void
  /** Present where expressions can name the list. */
  readonly has?: NamedList['has']
  /** Present for redirects: where a URL leads, undefined for nowhere. */
  readonly find?: (url: string) => FoundRedirect | undefined
}

/** Where a list redirects to, as a byte string: path suffix and query are in `location` where the item keeps them. */
export interface FoundRedirect {
  readonly location: string
  readonly status: number
}

/** Describes a kind of list. */
export const listType = <I>(type: ListType<I>): ListType => type
