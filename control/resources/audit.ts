import type { Clock } from '../../src/core/clock.js'
import { auditValues } from '../../src/core/audit/audit-values.js'
import { digest } from '../../src/core/digest.js'
import type { Scope } from '../../src/core/scope.js'
import type { AuditEntry, Kind, Write } from '../../src/core/store.js'
import type { Call } from '../http/endpoint.js'
import { SHOWN_KINDS } from './shown-kinds.js'

/** Who made a change, and by which request. */
type Author = Pick<Call, 'caller' | 'requestId' | 'source'>

/** The author and scope of a change: the parts of a call that a write needs. */
export type Actor = Pick<Call, 'scope' | 'accountId' | keyof Author>

/** One change of one record. Without `before` it was created, without `after` it was deleted. */
interface Change {
  /** `update` for what always exists with a default, such as a setting: its first value creates no resource. */
  readonly action?: 'update'
  readonly kind: Kind<unknown>
  readonly scope: Scope
  readonly id: string
  readonly before?: unknown
  readonly after?: unknown
}

/** Returns the audit entry of one change of `call`. It belongs into the same batch as the change. */
export const audit = (clock: Clock, author: Author, change: Change): AuditEntry =>
  entryOf(clock, author, change, { before: digest(change.before), after: digest(change.after) })

/** Returns the audit entry of a change whose digests are known. */
export function entryOf(
  clock: Clock,
  { caller: { type, id, name }, requestId, source }: Author,
  { action, kind, scope, id: resourceId, before, after }: Change,
  digests: Pick<AuditEntry, 'before' | 'after'>,
): AuditEntry {
  const shown = SHOWN_KINDS.get(kind.name)
  return {
    at: new Date(clock.now()).toISOString(),
    actor: { type, id, name },
    action: action ?? (after === undefined ? 'delete' : before === undefined ? 'create' : 'update'),
    resource: { kind: kind.name, scope, id: resourceId },
    requestId,
    ...(source && { request: source }),
    ...digests,
    ...(shown && { values: auditValues(before, after, shown.secrets) }),
  }
}

/** Returns the function that `store.change` calls for the audit entry of its change. */
export const auditOf =
  (clock: Clock, call: Author, record: Pick<Change, 'action' | 'kind' | 'scope' | 'id'>) =>
  (before: unknown, after: unknown): AuditEntry =>
    audit(clock, call, { ...record, before, after })

/**
 * Returns the arguments of `store.batch` for one change of one record: its write, the writes `more` that belong to it,
 * and its audit entry. A record without `before` must not exist yet; else `ifVersion` is the version it must have.
 */
export function audited(
  clock: Clock,
  call: Author,
  { ifVersion, ...change }: Change & { readonly ifVersion?: number | undefined },
  more: readonly Write[] = [],
): [writes: Write[], audit: AuditEntry[]] {
  const { kind, scope, id, before, after } = change
  const wanted = before === undefined ? 0 : ifVersion
  const write = { kind, scope, id, value: after, ...(wanted !== undefined && { ifVersion: wanted }) }
  return [[write, ...more], [audit(clock, call, change)]]
}
