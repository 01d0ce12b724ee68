import { createHash } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { convert } from '../../pipelines/markdown/convert.js'
import { systemClock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import { ASSET_SESSIONS } from '../../src/core/model/worker-assets.js'
import { account } from '../../src/core/scope.js'
import { openStore } from '../../src/store/index.js'
import { deployed } from '../helpers/deployed-assets.js'
import { ask } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE } from './daemon.js'

const FILES = 2000
const A = `/accounts/${ACCOUNT}/workers`

t.test('a site of 2,000 files goes through the API into the proxy', { skip: unbuilt, timeout: 240_000 }, async (t) => {
  const folder = t.testdir()
  const config = configuration('http://127.0.0.1:9')
  const page = (i: number) =>
    `<!doctype html><title>Page ${i}</title><h1>Page ${i}</h1><p>It is number <b>${i}</b>.</p>`
  const files = new Map(Array.from({ length: FILES }, (_, i) => [`/pages/${i}.html`, Buffer.from(page(i))] as const))
  const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex').slice(0, 32)
  const byHash = new Map([...files.values()].map((bytes) => [hashOf(bytes), bytes]))

  await t.test('uploaded in buckets, the last of them brings the completion token', async (t) => {
    const daemon = await startDaemon(t, config, folder)
    const manifest = Object.fromEntries(
      [...files].map(([path, bytes]) => [path, { hash: hashOf(bytes), size: bytes.length }]),
    )
    const opened = await fetch(`${daemon.control}${A}/scripts/site/assets-upload-session`, {
      method: 'POST',
      headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
      body: JSON.stringify({ manifest }),
    })
    const { result } = (await opened.json()) as { result: { jwt: string; buckets: string[][] } }
    t.equal(result.buckets.flat().length, FILES)
    const statuses: number[] = []
    for (const bucket of result.buckets) {
      const form = new FormData()
      for (const hash of bucket) {
        const content = byHash.get(hash)!.toString('base64')
        form.append(hash, new File([content], hash, { type: 'text/html; charset=utf-8' }))
      }
      const headers = { authorization: `Bearer ${result.jwt}` }
      const answer = await fetch(`${daemon.control}${A}/assets/upload?base64=true`, {
        method: 'POST',
        headers,
        body: form,
      })
      await answer.arrayBuffer()
      statuses.push(answer.status)
    }
    t.equal(statuses.pop(), 201)
    t.ok(statuses.every((status) => status === 202))
    daemon.signal('SIGTERM')
    t.equal(await daemon.ended, 0)
  })

  // The version as an upload of the script with the token stores it.
  const store = await openStore('embedded', { folder: join(folder, 'data'), log: silentLog, clock: systemClock })
  const [session] = store.list(ASSET_SESSIONS, account(ACCOUNT))
  const { manifest = '' } = session!.value
  await deployed(store, ACCOUNT, 'site', { manifest, hostname: 'example.test', zoneId: ZONE })
  await store.close()

  await t.test('served byte for byte, and as Markdown when asked', async (t) => {
    const daemon = await startDaemon(t, config, folder)
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
})
