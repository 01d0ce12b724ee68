import type { Test } from 'tap'
import type { Metrics } from '../../../src/core/metrics/metrics.js'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog, type Log } from '../../../src/core/log.js'
import type { Store } from '../../../src/core/store.js'
import { SharedSpools } from '../../../pipelines/logpush/spool/nats/index.js'
import { natsTarget } from '../../../pipelines/logpush/spool/nats/target.js'
import { openStore } from '../../../src/store/index.js'
import type { NatsServer } from '../../helpers/nats.js'

/** A store that several machines of a test share. */
export async function sharedStore(t: Test): Promise<Store> {
  const store = await openStore('memory', { folder: '', log: silentLog, clock: systemClock })
  t.teardown(async () => await store.close())
  return store
}

export interface MachineOptions {
  readonly server: Pick<NatsServer, 'url'>
  readonly store: Store
  readonly name?: string
  readonly metrics?: Metrics
  readonly limits?: { readonly bytes: number; readonly ageMs?: number }
  readonly log?: Log
}

/** The shared spools as one machine has them, connected. */
export async function machine({ server, store, name = 'one', metrics, limits, log }: MachineOptions) {
  const spools = new SharedSpools(natsTarget(server.url), {
    store,
    self: name,
    clock: systemClock,
    log: log ?? silentLog,
    metrics,
    limits: limits ?? { bytes: 200_000_000 },
  })
  await spools.start()
  return spools
}
