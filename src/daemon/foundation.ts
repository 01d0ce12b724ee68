import { join } from 'node:path'
import type { Config } from '../config/schema.js'
import type { Blobs } from '../core/blobs.js'
import type { Clock } from '../core/clock.js'
import type { ClosingStack } from '../core/closing-stack.js'
import type { Log } from '../core/log.js'
import type { Metrics } from '../core/metrics/metrics.js'
import { fairResolve, systemResolve, type Resolve } from '../egress/fair-resolve.js'
import { GuardedEgress, readEgress } from '../egress/guarded-egress.js'
import { History } from '../history/history.js'
import type { AcceptedLosses } from '../store/index.js'
import { KeyRotation } from '../store/secrets/key-rotation.js'
import type { Keyring } from '../store/secrets/keyring.js'
import { openBlobs } from '../store/open-blobs.js'
import { openVault, secretKeys } from '../store/secrets/vault.js'
import { WEBHOOK_SENDERS } from '../webhooks/lease-kinds.js'
import { openHistoryExchange } from './machines/open-history-exchange.js'
import type { HistoryExchange } from './machines/history-exchange.js'
import { AllZones } from './zones/all-zones.js'
import { AuditedStore, auditLog } from './logs/audit-log.js'
import { openLogPush, type LogPush } from './pipelines/logpush.js'
import { openWhenReachable } from './open-store.js'
import type { DaemonState } from './state/state.js'

/** What every other part of a daemon is built on. */
export interface Foundation {
  readonly store: AuditedStore
  readonly keys: Keyring
  readonly blobs: Blobs
  readonly resolve: Resolve
  readonly egress: GuardedEgress
  readonly logpush: LogPush
  readonly history: History
  /** Undefined without other machines. */
  readonly exchange: HistoryExchange | undefined
  /** The configuration in force, with the zones that were created through the API. */
  readonly effective: () => Config
}

/** Opens the stores, the guarded ways out and log push. Waits for a store that is not reachable yet. */
export async function openFoundation(
  stack: ClosingStack,
  config: () => Config,
  {
    state,
    clock,
    log,
    metrics,
    accepted,
    signal,
  }: {
    state: DaemonState
    clock: Clock
    log: Log
    metrics: Metrics
    accepted: AcceptedLosses
    signal: AbortSignal | undefined
  },
): Promise<Foundation> {
  const first = config()
  const store = stack.use(
    new AuditedStore(await openWhenReachable(first, { log, clock, accepted, ...(signal && { signal }) })),
  )
  const shared = first.store.startsWith('redis')
  // Without Redis every machine still serves the responses it has. A 503 would make a load balancer remove all machines
  // at once.
  if (shared) state.mention(store)
  else state.watch(store, { whileStarting: true })
  const keys = await openVault(store, secretKeys(first), log, { shared })
  const resolve = fairResolve(systemResolve)
  const egress = new GuardedEgress(await readEgress(first.egress), { log, metrics, resolve })
  const logpush = stack.use(await openLogPush(first, { store, keys, egress, clock, log, metrics }))
  state.watch(logpush.disk, { whileStarting: true })
  state.mention(logpush)
  const history = stack.use(await History.open(join(first.data, 'history'), first.history, { clock, log }))
  const exchange = shared
    ? stack.use(await openHistoryExchange(first.store, logpush.machine, history, { clock, log, metrics }))
    : undefined
  const running = () => store.list(WEBHOOK_SENDERS).map(({ id }) => id)
  const rotation = stack.use(
    await KeyRotation.open({
      store,
      ring: keys,
      clock,
      log,
      shared: shared ? { self: logpush.machine, running } : undefined,
    }),
  )
  rotation.start()
  state.mention(rotation)
  if (shared) state.machine = logpush.machine
  state.secrets = async () => await rotation.status()
  const effective = new AllZones(store).in(config)
  store.tell = auditLog(logpush.emitter, effective)
  const blobs = stack.use(await openBlobs(first.store, { folder: first.data, clock, log }))
  state.watch(blobs, { whileStarting: true })
  return { store, keys, blobs, resolve, egress, logpush, history, exchange, effective }
}
