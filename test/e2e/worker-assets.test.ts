import { createHash } from 'node:crypto'
import t from 'tap'
import { convert } from '../../pipelines/markdown/convert.js'
import { ask } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt } from './daemon.js'

const FILES = 2000
const AUTHORIZED = { authorization: `Bearer ${TOKEN}` }

t.test('a site of 2,000 files goes through the API into the proxy', { skip: unbuilt, timeout: 240_000 }, async (t) => {
  const config = configuration('http://127.0.0.1:9')
  const daemon = await startDaemon(t, config)
  const A = `${daemon.control}/accounts/${ACCOUNT}/workers`
  const page = (i: number) =>
    `<!doctype html><title>Page ${i}</title><h1>Page ${i}</h1><p>It is number <b>${i}</b>.</p>`
  const files = new Map(Array.from({ length: FILES }, (_, i) => [`/pages/${i}.html`, Buffer.from(page(i))] as const))
  const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex').slice(0, 32)
  const byHash = new Map([...files.values()].map((bytes) => [hashOf(bytes), bytes]))
  let completion: string | undefined

  await t.test('uploaded in buckets, the last of them brings the completion token', async (t) => {
    const manifest = Object.fromEntries(
      [...files].map(([path, bytes]) => [path, { hash: hashOf(bytes), size: bytes.length }]),
    )
    const opened = await fetch(`${A}/scripts/site/assets-upload-session`, {
      method: 'POST',
      headers: { ...AUTHORIZED, 'content-type': 'application/json' },
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
      const answer = await fetch(`${A}/assets/upload?base64=true`, { method: 'POST', headers, body: form })
      const { result: uploaded } = (await answer.json()) as { result: { jwt?: string } }
      completion = uploaded.jwt
      statuses.push(answer.status)
    }
    t.equal(statuses.pop(), 201)
    t.ok(statuses.every((status) => status === 202))
  })

  await t.test('deployed with the token, on a domain', async (t) => {
    const form = new FormData()
    form.append('metadata', JSON.stringify({ assets: { jwt: completion } }))
    const answer = await fetch(`${A}/scripts/site`, { method: 'PUT', headers: AUTHORIZED, body: form })
    t.match(await answer.json(), { success: true, result: { has_assets: true, has_modules: false } })
    const attached = await fetch(`${A}/domains`, {
      method: 'PUT',
      headers: { ...AUTHORIZED, 'content-type': 'application/json' },
      body: JSON.stringify({ hostname: 'example.test', service: 'site' }),
    })
    t.match(await attached.json(), { success: true, result: { service: 'site', zone_name: 'example.test' } })
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

  await t.test('a reload tells that the memory for files waits for a restart', async (t) => {
    await daemon.reload({ ...config, workers: { assets: { cache_bytes: '1MB' } } })
    const told = daemon.lines.filter((line) => line.includes('restart_needed'))
    t.strictSame(
      told.map((line) => (JSON.parse(line) as { section: string }).section),
      ['workers.assets.cache_bytes'],
    )
  })
})
