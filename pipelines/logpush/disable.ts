import type { Clock } from '../../src/core/clock.js'
import { digest } from '../../src/core/digest.js'
import { newUuid } from '../../src/core/ids.js'
import { LOGPUSH_JOBS } from '../../src/core/model/logpush-job.js'
import type { Scope } from '../../src/core/scope.js'
import type { Store } from '../../src/core/store.js'

/** Disables a job that has failed for too long, on the daemon's own account. */
export async function disable(store: Store, clock: Clock, scope: Scope, id: string): Promise<void> {
  const requestId = newUuid()
  await store.change(
    LOGPUSH_JOBS,
    scope,
    id,
    (job) => (job?.enabled ? { ...job, enabled: false } : job),
    (before, after) => ({
      at: new Date(clock.now()).toISOString(),
      actor: { type: 'system', id: 'logpush' },
      action: 'update',
      resource: { kind: LOGPUSH_JOBS.name, scope, id },
      requestId,
      before: digest(before),
      after: digest(after),
    }),
  )
}
