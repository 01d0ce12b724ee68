import type { Watched } from '../../../pipelines/logpush/monitor.js'
import { WORKER_SCRIPTS } from '../../core/model/worker.js'
import { WEBHOOKS } from '../../core/model/webhook.js'
import type { Scope } from '../../core/scope.js'
import type { StoreReader } from '../../core/store.js'

/** A job or pipeline that does not deliver. */
export interface FailingJob {
  readonly kind: 'pipeline' | 'job'
  /** Name of the pipeline, or id of the job. */
  readonly name: string
  readonly destination: string
  readonly error: string | null
}

/** A webhook to which nothing is sent for a while, because attempts have failed. */
export interface OpenBreaker {
  readonly webhook_id: string
  readonly name: string
  readonly account_id: string
}

/** The state of what runs beside the proxy, for `edged status`. */
export interface RunningWork {
  readonly failing_jobs: readonly FailingJob[]
  readonly open_circuit_breakers: readonly OpenBreaker[]
  /** Names of Workers, by account. */
  readonly workers: Readonly<Record<string, readonly string[]>>
}

/** Returns what fails, and the Workers. */
export function runningWork({
  store,
  running,
  breakers,
}: {
  store: StoreReader
  running: readonly Watched[]
  breakers: Iterable<{ readonly scope: Scope; readonly webhookId: string }>
}): RunningWork {
  const workers: Record<string, string[]> = {}
  for (const { scope, id } of store.list(WORKER_SCRIPTS)) (workers[scope.id] ??= []).push(id)
  return {
    failing_jobs: running.flatMap((job) => {
      const state = job.state()
      if (state !== 'failing' && state !== 'waiting') return []
      const { kind, name, destination } = job
      return [{ kind, name, destination, error: job.error() }]
    }),
    open_circuit_breakers: [...breakers].map(({ scope, webhookId: id }) => ({
      webhook_id: id,
      name: store.get(WEBHOOKS, scope, id)?.value.label ?? '',
      account_id: scope.id,
    })),
    workers,
  }
}
