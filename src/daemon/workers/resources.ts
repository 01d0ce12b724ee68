import type { Blobs } from '../../core/blobs.js'
import type { Clock } from '../../core/clock.js'
import type { Emitter } from '../../core/emit.js'
import type { Log } from '../../core/log.js'
import { WORKER_SCRIPTS } from '../../core/model/worker.js'
import type { Store } from '../../core/store.js'
import type { Tails } from '../../../control/workers/services/tail-sessions.js'
import { observe } from '../../workers/observability/observability.js'
import type { ResourceHandler } from '../../workers/runtime/resource-server.js'
import { ANALYTICS_DATASET, analyticsResource } from '../../workers/runtime/resources/analytics.js'
import { emailResource } from '../../workers/runtime/resources/email.js'
import { kvResource } from '../../workers/runtime/resources/kv.js'
import { queueResource } from '../../workers/runtime/resources/queue.js'
import { r2Resource } from '../../workers/runtime/resources/r2.js'
import { ratelimitResource } from '../../workers/runtime/resources/ratelimit.js'
import { tailResource } from '../../workers/runtime/resources/tail.js'
import { TRACE_DATASET, traceRecord } from '../../workers/observability/trace-record.js'
import { KeyValues, MAX_KEYS } from '../../workers/storage/key-values.js'
import { ObjectUploads } from '../../workers/storage/object-uploads.js'
import { Objects } from '../../workers/storage/objects.js'
import type { Queues } from '../../workers/storage/queues.js'
import { assetsResource } from './assets.js'
import { cacheResource } from './cache.js'
import type { Mailer } from './mail.js'
import type { WorkerRegistry } from './registry.js'

interface ResourceDeps {
  readonly store: Store
  readonly blobs: Blobs
  readonly queues: Queues
  readonly mailer: Mailer
  readonly workers: WorkerRegistry
  readonly tails: Tails
  readonly emitter: Emitter
  readonly cacheBytes: number
  readonly clock: Clock
  readonly log: Log
}

/** Returns what handles the calls of scripts to their bindings, by the type of resource. */
export function workerResources(deps: ResourceDeps): ReadonlyMap<string, ResourceHandler> {
  const { store, blobs, queues, mailer, workers, emitter, cacheBytes, clock } = deps
  const stored = { store, blobs: () => blobs, clock }
  const objects = new Objects(stored)
  return new Map<string, ResourceHandler>([
    ['kv', kvResource({ store, clock, values: new KeyValues(stored, MAX_KEYS) })],
    ['ratelimit', ratelimitResource(clock)],
    ['assets', assetsResource(workers, blobs)],
    ['r2', r2Resource(objects, new ObjectUploads({ store, clock, objects }))],
    ['queue', queueResource(queues)],
    ['cache', cacheResource({ clock, maxBytes: cacheBytes })],
    ['tail', tracesResource(deps)],
    ['email', emailResource(async (call, mail) => await mailer.send(call, mail))],
    [
      'analytics',
      analyticsResource((scope, record) => {
        if (emitter.wants(ANALYTICS_DATASET, scope)) emitter.emit(ANALYTICS_DATASET, scope, record())
      }),
    ],
  ])
}

/** Passes the traces of scripts to live sessions, to the log and to log push. */
const tracesResource = ({ store, workers, tails, emitter, log }: ResourceDeps): ResourceHandler =>
  tailResource({
    send(scope, script, event) {
      tails.send(scope, script, event)
      const stored = store.get(WORKER_SCRIPTS, scope, script)?.value
      if (stored) observe(log, { scope, script: stored }, event)
      if (stored?.logpush && emitter.wants(TRACE_DATASET, scope))
        emitter.emit(TRACE_DATASET, scope, traceRecord(event, stored))
    },
    lost(scope, count) {
      workers.metrics.tracesLost(count)
      log.warn({ event: 'worker_traces_lost', account: scope.id, count })
    },
  })
