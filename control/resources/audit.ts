import type { Clock } from '../../src/core/clock.js'
import { digest } from '../../src/core/digest.js'
import type { Scope } from '../../src/core/scope.js'
import type { AuditEntry, Kind } from '../../src/core/store.js'
import type { Call } from '../http/endpoint.js'

/** The author and scope of a change: the parts of a call that a write needs. */
export type Actor = Pick<Call, 'scope' | 'accountId' | 'caller' | 'requestId'>

/** Returns the audit entry of one change of `call`. It belongs into the same batch as the change. */
export function audit(
  clock: Clock,
  { caller: { type, id, name }, requestId }: Pick<Call, 'caller' | 'requestId'>,
  change: {
    readonly action: 'create' | 'update' | 'delete'
    readonly kind: Kind<unknown>
    readonly scope: Scope
    readonly id: string
    readonly before?: unknown
    readonly after?: unknown
  },
): AuditEntry {
  const { action, kind, scope, before, after } = change
  return {
    at: new Date(clock.now()).toISOString(),
    actor: { type, id, name },
    action,
    resource: { kind: kind.name, scope, id: change.id },
    requestId,
    before: digest(before),
    after: digest(after),
  }
}
