/** A daemon whose pipelines have transforms: over its own records, and over those of a listener. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { request } from 'undici'
import { findWorkerd } from '../../src/workers/runtime/binary.js'
import { testFolder, textsBelow } from '../helpers/folder.js'
import { freePort } from '../helpers/free-port.js'
import { startOrigin } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'
import { configuration, startDaemon, unbuilt, ZONE } from './daemon.js'

const skip = unbuilt || (findWorkerd() === undefined && 'the npm package workerd is not installed')

t.test('pipelines of the daemon run modules', { skip, timeout: 600_000 }, async (t) => {
  const folder = testFolder(t)
  const [own, web] = [join(folder, 'own'), join(folder, 'web')]
  for (const path of [own, web]) await mkdir(path)
  await writeFile(
    join(folder, 'own.js'),
    `export default { record({ ClientRequestPath: path, EdgeStartTimestamp: start }) {
  if (path === '/health') return null
  if (path === '/fails') throw new Error('from the module')
  return { path, isExact: typeof start === 'bigint' }
} }`,
  )
  await writeFile(join(folder, 'web.js'), 'export default { record: (record) => [record, { ...record, again: true }] }')
  const { url } = await startOrigin(t, (_request, response) => void response.end('hello'))
  const port = await freePort()
  const common = { max_upload_interval_seconds: 1 }
  const config = configuration(url, {
    pipelines: [
      {
        ...common,
        name: 'own',
        source: { zone: ZONE },
        dataset: 'http_requests',
        transform: './own.js',
        set: { from: 'edged' },
        destination_conf: `file://${own}/logs`,
      },
      {
        ...common,
        name: 'web',
        source: { http: `127.0.0.1:${port}` },
        dataset: 'any',
        transform: './web.js',
        destination_conf: `file://${web}/logs`,
      },
    ],
  })
  const daemon = await startDaemon(t, config, folder)
  for (const path of ['/a', '/health', '/fails', '/b']) {
    const response = await request(`${daemon.proxy}${path}`, { headers: { host: 'example.test' } })
    await response.body.dump()
  }
  await until(() => daemon.lines.some((line) => line.includes(`listening on http://127.0.0.1:${port}`)))
  const posted = await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', body: '{"n":1}\n' })
  t.equal(posted.status, 202)
  await until(async () => (await textsBelow(own)).join('').includes('"/b"') && (await textsBelow(web)).length > 0)
  const lines = (await textsBelow(own)).join('').split('\n').filter(Boolean)
  t.same(
    lines.toSorted(),
    ['/a', '/b'].map((path) => `{"path":"${path}","isExact":true,"from":"edged"}`),
  )
  t.same((await textsBelow(web)).join(''), '{"n":1}\n{"n":1,"again":true}\n')
  t.equal(await daemon.metric('edged_pipeline_transform_records_in_total{pipeline="own"}'), 4)
  t.equal(await daemon.metric('edged_pipeline_records_invalid_total{pipeline="own"}'), 1)
  t.equal(await daemon.metric('edged_pipeline_transform_records_out_total{pipeline="web"}'), 2)
})
