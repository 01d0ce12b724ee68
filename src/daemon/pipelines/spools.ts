import { join } from 'node:path'
import { Forwarder } from '../../../pipelines/logpush/spool/nats/forwarder.js'
import { SharedSpools } from '../../../pipelines/logpush/spool/nats/index.js'
import { natsTarget } from '../../../pipelines/logpush/spool/nats/target.js'
import { openSpools } from '../../../pipelines/logpush/spool/index.js'
import type { EventSpools, Spools } from '../../../pipelines/logpush/spool/types.js'
import type { Config } from '../../config/schema.js'
import type { Clock } from '../../core/clock.js'
import type { ClosingStack } from '../../core/closing-stack.js'
import type { Log } from '../../core/log.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import type { Store } from '../../core/store.js'

/** Maximum size on this machine of what waits for the servers of a shared spool. */
const BUFFER_BYTES = 1e9

export interface DaemonSpools {
  /** What jobs read, and requests write. */
  readonly spools: Spools
  /** The spools in the data folder: what jobs read, or what waits for the servers of a shared spool. */
  readonly local: Spools
  /** Where the daemon writes its own records. */
  readonly events: EventSpools
  /** Name of this machine, the same after a restart. */
  readonly machine: string
}

interface Deps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** Opens the log spool below the data folder, or the spool of all machines with a buffer below the data folder. */
export async function openDaemonSpools(
  { data, logpush }: Pick<Config, 'data' | 'logpush'>,
  stack: ClosingStack,
  { store, clock, log, metrics }: Deps,
): Promise<DaemonSpools> {
  const { spool, retention_bytes: bytes, retention_age: ageMs } = logpush
  const folder = join(data, 'spool')
  if (spool === 'embedded') {
    const spools = stack.use(await openSpools(folder, { clock, log, metrics, limits: { bytes, ageMs } }))
    return { spools, events: spools, machine: spools.id, local: spools }
  }
  const limits = { bytes: Math.min(bytes, BUFFER_BYTES), ageMs }
  const local = stack.use(await openSpools(folder, { clock, log, metrics, limits }))
  const self = local.id
  const spools = stack.use(
    new SharedSpools(natsTarget(spool), { store, self, clock, log, metrics, limits: { bytes, ageMs } }),
  )
  await spools.start()
  const open = spools.open.bind(spools)
  const events = stack.use(new Forwarder({ local, open, clock, log }))
  await events.start()
  return { spools, events, machine: self, local }
}
