/** A job of the daemon whose destination asks for Parquet files. */
import { mkdir, readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Cloudflare from 'cloudflare'
import { parquetReadObjects } from 'hyparquet'
import t from 'tap'
import { testFolder } from '../helpers/folder.js'
import { until } from '../helpers/web.js'
import { configuration, startDaemon, TOKEN, unbuilt, ZONE } from './daemon.js'

t.test(
  'records that come in reach Parquet files of a job with format=parquet',
  { skip: unbuilt, timeout: 600_000 },
  async (t) => {
    const folder = testFolder(t)
    const out = join(folder, 'out')
    await mkdir(out)
    const config = configuration('http://127.0.0.1:1', { logpush: { destinations: { allow_file_under: [out] } } })
    const daemon = await startDaemon(t, config, folder)
    const client = new Cloudflare({ apiToken: TOKEN, baseURL: daemon.control, maxRetries: 0 })
    const destination_conf = `file://${out}/{DATE}?format=parquet`
    const job = await client.logpush.jobs.create({
      zone_id: ZONE,
      destination_conf,
      enabled: true,
      filter: '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":500}}',
      output_options: { field_names: ['RayID', 'EdgeStartTimestamp', 'EdgeResponseStatus'] },
      max_upload_records: 1000,
    })
    t.match(job, { dataset: 'http_requests', enabled: true, destination_conf })

    const record = (at: number) =>
      `{"RayID":"${at}","EdgeResponseStatus":${at % 2 ? 503 : 200},"EdgeStartTimestamp":1506702504433000200}`
    const sent = await fetch(`${daemon.control}/zones/${ZONE}/edged/records/http_requests`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}` },
      body: Array.from({ length: 4000 }, (_, at) => record(at)).join('\n'),
    })
    t.equal(sent.status, 202)
    const found = async () =>
      (await readdir(out, { recursive: true })).filter((name) => /(^|\/)[^.][^/]*\.parquet$/.test(name))
    await until(async () => (await found()).length >= 2)
    const rows = []
    for (const name of await found()) {
      t.match(name, /^\d{8}\//)
      const { buffer, byteOffset, byteLength } = await readFile(join(out, name))
      rows.push(...(await parquetReadObjects({ file: buffer.slice(byteOffset, byteOffset + byteLength) })))
    }
    t.strictSame(
      rows.map(({ RayID }) => Number(RayID)).toSorted((a, b) => a - b),
      Array.from({ length: 2000 }, (_, at) => 2 * at + 1),
    )
    t.match(rows[0], { EdgeResponseStatus: 503n, EdgeStartTimestamp: new Date(1506702504433) })
    t.ok(Number(await daemon.metric(`edged_pipeline_parquet_files_total{job="${job?.id}"}`)) >= 2)
    t.equal(await daemon.metric(`edged_logpush_records_delivered_total{job="${job?.id}"}`), 2000)
  },
)
