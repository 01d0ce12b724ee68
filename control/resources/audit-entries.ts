import { Type } from 'typebox'
import { InvalidInput } from '../../src/core/errors.js'
import type { Scope } from '../../src/core/scope.js'
import type { AuditEntry, AuditOrder, FoundEntry, Store } from '../../src/core/store.js'
import { mayUse } from '../http/auth/access.js'
import type { Call } from '../http/endpoint.js'
import type { ControlConfig } from '../http/context.js'
import { InvalidQuery } from '../http/query.js'

/** Entries of the audit record that one request examines, at about 5 us each. The cursor leads to the others. */
export const MAX_EXAMINED = 50_000
/** Entries are in the order of their changes; their times follow clocks that can differ or be set back by this much. */
const CLOCK_SLACK_MS = 3_600_000

export interface AuditSearch {
  readonly order: AuditOrder
  /** Goes on behind this entry. */
  readonly cursor?: string | undefined
  readonly limit: number
  /** Milliseconds since 1970, inclusive and exclusive. */
  readonly since?: number
  readonly before?: number
  readonly matches: (entry: AuditEntry) => boolean
}

export interface AuditResult {
  readonly entries: readonly AuditEntry[]
  /** Undefined if there are no further entries. */
  readonly cursor: string | undefined
}

/** Returns the entries that match, at most `limit`, from those that one request may examine. */
export async function searchAudit(store: Pick<Store, 'audit'>, search: AuditSearch): Promise<AuditResult> {
  const { order, limit, since = -Infinity, before = Infinity, matches } = search
  const entries: AuditEntry[] = []
  let last: FoundEntry | undefined
  for await (const found of store.audit(search.cursor, MAX_EXAMINED, order)) {
    const { entry } = found
    const at = Date.parse(entry.at)
    if (order === 'newest_first' ? at < since - CLOCK_SLACK_MS : at >= before + CLOCK_SLACK_MS)
      return { entries, cursor: undefined }
    // One entry more than asked for shows that there is another page.
    if (at >= since && at < before && matches(entry)) {
      if (entries.length === limit) return { entries, cursor: last?.cursor }
      entries.push(entry)
    }
    last = found
  }
  const rest = last && store.audit(last.cursor, 1, order)[Symbol.asyncIterator]()
  return { entries, cursor: (await rest?.next())?.done === false ? last?.cursor : undefined }
}

/** Returns a test for the changes of an account and of its zones that the caller can see. */
export function visibleTo(config: ControlConfig, { scope, caller }: Pick<Call, 'scope' | 'caller'>) {
  const zones = new Set(
    config.zones.flatMap(({ id, account }) =>
      account === scope.id && mayUse(caller, [], { account, zone: id }) ? id : [],
    ),
  )
  return ({ resource: { scope: of } }: { readonly resource: { readonly scope: Scope } }): boolean =>
    of.type === 'zone' ? zones.has(of.id) : of.type === 'account' && of.id === scope.id
}

/** Returns the milliseconds since 1970 of a query parameter. Throws InvalidQuery at its name. */
export function queryTime(text: string, name: string): number {
  try {
    return auditTime(text, name)
  } catch (error) {
    throw error instanceof InvalidInput ? new InvalidQuery(error.issues) : error
  }
}

/** A time in a query: a date, which begins at midnight UTC, or a time by RFC 3339. */
export const AuditTime = (description: string) =>
  Type.String({ maxLength: 40, description: `${description} A date or a time by RFC 3339.` })

const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/i

/** Returns the milliseconds since 1970 of a query parameter. Throws InvalidInput at its name. */
export function auditTime(text: string, name: string): number {
  const at = TIME.test(text) ? Date.parse(text) : NaN
  if (Number.isNaN(at))
    throw new InvalidInput([{ pointer: `/${name}`, message: 'must be a date or a time by RFC 3339' }])
  return at
}
