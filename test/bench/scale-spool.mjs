// Records through the API to files of one job, with the embedded spool and with a stream on one and on three NATS servers.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { cpuOf } from './cpu-of.mjs'
import { OUTPUT } from './log-job.mjs'
import { line } from './log-records.mjs'
import { sized, table } from './measure.mjs'

const { natsCluster, natsServer, NO_NATS } = await import('../helpers/nats.ts')
const { ZONE } = await import('../e2e/daemon.ts')

const RECORDS_PER_REQUEST = 2000
/** A batch of the job. So no record waits for the interval of the job. */
const REQUESTS_PER_BATCH = 5
const CLIENTS = 4
const SECONDS = sized(6, 0.5)

export async function spoolScale(owner, folder, start) {
  const rows = [await measured(owner, folder, start, 'embedded', [], undefined)]
  if (NO_NATS) console.log(`spool on NATS: ${NO_NATS}`)
  else
    for (const count of [1, 3]) {
      const own = join(folder, `nats-${count}`)
      mkdirSync(own)
      const servers = count === 1 ? [await natsServer(own)] : await natsCluster(own, count)
      const hosts = servers.map(({ url }) => url.slice('nats://'.length)).join(',')
      const name = count === 1 ? 'NATS, 1 server' : `NATS, ${count} servers and replicas`
      rows.push(await measured(owner, folder, start, name, servers, `nats://${hosts}?stream=scale&replicas=${count}`))
      for (const server of servers) await server.kill()
    }
  console.log(
    `\nrecords of 2.2 KB, ${RECORDS_PER_REQUEST} in each request, ${CLIENTS} clients, one job (12 fields as CSV, gzip) to files\n`,
  )
  table(rows)
}

async function measured(owner, folder, start, name, servers, url) {
  const out = join(folder, `out-${servers.length}`)
  mkdirSync(out)
  const daemon = await start(owner, folder, `spool-${servers.length}`, {
    logpush: { ...(url !== undefined && { spool: url }), destinations: { allow_file_under: [out] } },
  })
  if (url !== undefined) while (!daemon.lines.some((each) => each.includes('spool_available'))) await wait(50)
  const job = {
    dataset: 'http_requests',
    destination_conf: `file://${out}?gzip=true`,
    enabled: true,
    output_options: OUTPUT,
    max_upload_records: RECORDS_PER_REQUEST * REQUESTS_PER_BATCH,
  }
  await daemon.call('POST', `/zones/${ZONE}/logpush/jobs`, job)
  const body = Array.from({ length: RECORDS_PER_REQUEST }, (_, n) => line(n)).join('')
  const post = async () =>
    await daemon.call('POST', `/zones/${ZONE}/edged/records/http_requests`, body, 'application/x-ndjson')
  for (let n = 0; n < REQUESTS_PER_BATCH; n++) await post()
  while ((await lag(daemon)) > 0) await wait(50)

  const cpuNow = () => ({ edged: cpuOf(daemon.pid), servers: servers.reduce((sum, { pid }) => sum + cpuOf(pid), 0) })
  const before = cpuNow()
  const from = performance.now()
  const times = []
  let requests = 0
  const client = async () => {
    while (performance.now() - from < SECONDS * 1000 || requests % REQUESTS_PER_BATCH > 0) {
      requests++
      const sent = performance.now()
      await post()
      times.push(performance.now() - sent)
    }
  }
  await Promise.all(Array.from({ length: CLIENTS }, client))
  const seconds = (performance.now() - from) / 1000
  const accepted = cpuNow()
  const records = requests * RECORDS_PER_REQUEST
  while ((await lag(daemon)) > 0) await wait(50)
  const delivered = cpuNow()
  times.sort((a, b) => a - b)
  daemon.signal('SIGTERM')
  await daemon.ended
  const each = (used, key) => (((used[key] - before[key]) * 1e6) / records).toFixed(1)
  return {
    spool: name,
    'records/s': Math.round(records / seconds),
    'request p50 ms': times[Math.floor(times.length / 2)].toFixed(0),
    'p99 ms': times[Math.floor(times.length * 0.99)].toFixed(0),
    'CPU us per record until accepted': each(accepted, 'edged'),
    'until delivered': each(delivered, 'edged'),
    'CPU of NATS': each(delivered, 'servers'),
  }
}

/** Records that the job has yet to deliver. */
async function lag({ admin }) {
  const text = await (await fetch(`${admin}/metrics`)).text()
  const lines = text.split('\n').filter((each) => each.startsWith('edged_logpush_lag_records{'))
  return lines.reduce((sum, each) => sum + Number(each.split(' ').at(-1)), 0)
}
