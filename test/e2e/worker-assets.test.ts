import t from 'tap'
import { convert } from '../../pipelines/markdown/index.js'
import { ask } from '../helpers/web.js'
import { configuration, startDaemon, unbuilt } from './daemon.js'
import { call, uploadFiles, uploadScript } from './worker-client.js'

const FILES = 2000

t.test('a site of 2,000 files goes through the API into the proxy', { skip: unbuilt, timeout: 600_000 }, async (t) => {
  const config = configuration('http://127.0.0.1:9')
  const daemon = await startDaemon(t, config)
  const page = (i: number) =>
    `<!doctype html><title>Page ${i}</title><h1>Page ${i}</h1><p>It is number <b>${i}</b>.</p>`
  const files = new Map(Array.from({ length: FILES }, (_, i) => [`/pages/${i}.html`, Buffer.from(page(i))] as const))

  await t.test('uploaded in buckets, the last of them brings the token to deploy with', async (t) => {
    const { jwt, sent, statuses } = await uploadFiles(daemon, 'site', files)
    t.equal(sent, FILES)
    t.equal(statuses.at(-1), 201)
    t.ok(statuses.slice(0, -1).every((status) => status === 202))
    const { status, result } = await uploadScript(daemon, 'site', { assets: { jwt } })
    t.match({ status, ...result }, { status: 200, has_assets: true, has_modules: false })
    const attached = await call(daemon, 'PUT', '/domains', { hostname: 'example.test', service: 'site' })
    t.match(attached, { status: 200, result: { service: 'site', zone_name: 'example.test' } })
  })

  await t.test('served byte for byte, and as Markdown when asked', async (t) => {
    const port = Number(new URL(daemon.proxy).port)
    let wrong = 0
    for (let i = 0; i < FILES; i++) {
      const { status, body } = await ask(port, `/pages/${i}`, { accept: 'text/html' })
      if (status !== 200 || !body.equals(files.get(`/pages/${i}.html`)!)) wrong++
    }
    t.equal(wrong, 0)
    for (const i of [0, 999, 1999]) {
      const { headers, body } = await ask(port, `/pages/${i}`)
      t.equal(headers['content-type'], 'text/markdown; charset=utf-8')
      t.equal(body.toString(), convert(page(i)))
    }
  })

  await t.test('a reload reports that the memory for files needs a restart', async (t) => {
    await daemon.reload({ ...config, workers: { assets: { cache_bytes: '1MB' } } })
    const reported = daemon.lines.filter((line) => line.includes('restart_needed'))
    t.strictSame(
      reported.map((line) => (JSON.parse(line) as { section: string }).section),
      ['workers.assets.cache_bytes'],
    )
  })
})
