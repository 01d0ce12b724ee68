// Jobs of log push on a spool that has its records already, each with batches to nowhere.
import { readFileSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { startLogpush } from '../../dist/pipelines/logpush/job-manager.js'
import { readConfig } from '../../dist/src/config/load.js'
import { systemClock } from '../../dist/src/core/clock.js'
import { silentLog as log } from '../../dist/src/core/log.js'
import { openMetrics } from '../../dist/src/core/metrics/metrics.js'
import { LOGPUSH_JOBS } from '../../dist/src/core/model/logpush-job.js'
import { openStore } from '../../dist/src/store/index.js'

export const ZONE = { type: 'zone', id: '9f1839b6152d298aca64c4e906b6d074' }
/** An hour later: the last batch does not wait for its interval. */
export const LATER = { ...systemClock, now: () => Date.now() + 3_600_000 }

/** The cursor of the job `n`, from 1. */
export const cursorOf = (n) => `job-${n}`

/** CPU seconds of the main thread so far; NaN if the system does not report threads as Linux does. */
function mainThreadSeconds() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, 'utf8').split(' ')[0]) / 1e9
  } catch {
    return Number.NaN
  }
}

/** Runs jobs until they have delivered all of the spool. `of`: their settings by number; `tick`: called every 10 ms. */
export async function runJobs({ spools, spool, folder, jobs, of, tick = () => {}, encoding = 'gzip' }) {
  const { logpush: options } = readConfig('{}', 'bench.yaml', {})
  const store = await openStore('memory', { folder: '', log })
  const fixed = { dataset: 'http_requests', enabled: true, kind: '', destination_conf: { sealed: 'file:///bench' } }
  for (let id = 1; id <= jobs; id++)
    await store.batch([{ kind: LOGPUSH_JOBS, scope: ZONE, id: String(id), value: { id, ...fixed, ...of(id) } }])
  const told = { records: 0, sent: 0 }
  const sink = {
    encoding,
    limits: {},
    daily: false,
    async write({ body, records }) {
      for await (const piece of body.read()) told.sent += piece.length
      told.records += records
    },
    async close() {},
  }
  const before = process.cpuUsage()
  const mainBefore = mainThreadSeconds()
  const began = performance.now()
  const logpush = await startLogpush({
    store,
    vault: { open: (sealed) => sealed },
    spools,
    open: () => sink,
    destinationKey: (destination) => destination,
    options: () => options,
    folder: `${folder}/batches`,
    clock: LATER,
    log,
    metrics: openMetrics({ process: false }),
  })
  const cursors = await Promise.all(Array.from({ length: jobs }, (_, i) => spool.cursor(cursorOf(i + 1))))
  while (cursors.some(({ state }) => state.next < spool.end)) {
    const at = performance.now()
    await wait(10)
    tick(performance.now() - at - 10)
  }
  const { user, system } = process.cpuUsage(before)
  const main = mainThreadSeconds() - mainBefore
  const result = { ...told, cpu: (user + system) / 1e6, main, seconds: (performance.now() - began) / 1000 }
  await logpush.close()
  return result
}
