import { join } from 'node:path'
import { Registry } from 'prom-client'
import type { Test } from 'tap'
import { openSpools } from '../../../pipelines/logpush/spool/index.js'
import type { Spools } from '../../../pipelines/logpush/spool/types.js'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import { spoolContract, type SpoolSetup } from '../../contracts/spool.js'
import { testFolder } from '../../helpers/folder.js'
import { natsServer, NO_NATS } from '../../helpers/nats.js'
import { machine, sharedStore } from './shared-spool-helper.js'

async function setup(t: Test, open: (metrics: Registry) => Promise<Spools>): Promise<SpoolSetup> {
  const metrics = new Registry()
  let spools = await open(metrics)
  t.teardown(async () => await spools.close())
  return {
    spools,
    async reopen() {
      await spools.close()
      return (spools = await open(new Registry()))
    },
    async lost() {
      const sums: Record<string, number> = {}
      for (const { labels, value } of (await metrics.getSingleMetric('edged_logpush_records_lost_total')!.get()).values)
        sums[labels['reason']!] = (sums[labels['reason']!] ?? 0) + value
      return sums
    },
  }
}

spoolContract({
  name: 'the embedded spool',
  skip: false,
  async open(t, limits) {
    const folder = testFolder(t)
    return await setup(
      t,
      async (metrics) => await openSpools(folder, { clock: systemClock, log: silentLog, metrics, limits }),
    )
  },
})

spoolContract({
  name: 'a spool on NATS',
  skip: NO_NATS,
  async open(t, limits) {
    const server = await natsServer(join(testFolder(t), 'nats'))
    t.teardown(async () => await server.kill())
    const store = await sharedStore(t)
    return await setup(t, async (metrics) => await machine({ server, store, metrics, limits }))
  },
})
