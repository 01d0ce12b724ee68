import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { ACCOUNT, SKIP, workersDaemon } from './runtime-helper.js'

const skip = { skip: SKIP }

t.test('a deployed script responds through the proxy, and an upload replaces it', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const code = (text: string) => `export default { async fetch(request, env) {
    const url = new URL(request.url)
    if (url.pathname === '/throw') throw new Error('secret detail')
    if (url.pathname === '/headers') return Response.json(Object.fromEntries(request.headers))
    if (url.pathname === '/cf') return Response.json(request.cf)
    if (url.pathname === '/echo') return new Response(request.body, { headers: { 'x-url': request.url } })
    return new Response('${text} ' + env.NAME + ' ' + env.SECRET + ' ' + env.CONFIG.n + ' ' + env.VERSION.id.length, { headers: { 'set-cookie': 'a=1' } })
  } }`
  const bindings = [
    { name: 'NAME', type: 'plain_text', text: 'with "quotes" \\ and \n lines' },
    { name: 'SECRET', type: 'secret_text', text: 'hush' },
    { name: 'CONFIG', type: 'json', json: { n: 3 } },
    { name: 'VERSION', type: 'version_metadata' },
  ]
  await daemon.upload('hello', code('one'), { bindings })
  await daemon.domain('hello')
  const first = await daemon.get('hello.example.test')
  t.match(first, {
    status: 200,
    text: 'one with "quotes" \\ and \n lines hush 3 36',
    headers: { 'set-cookie': ['a=1'] },
  })
  const thrown = await daemon.get('hello.example.test', '/throw', { headers: { accept: 'application/json' } })
  t.match([thrown.status, JSON.parse(thrown.text)], [500, { error_code: 1101, error_name: 'worker_exception' }])
  t.notMatch(thrown.text, /secret detail/)
  const headers = { 'x-edged-cf': '{"a":1}', 'x-edged-resource': 'kv x', 'cf-connecting-ip': '1.2.3.4', te: 'trailers' }
  const seen = JSON.parse((await daemon.get('hello.example.test', '/headers', { headers })).text) as object
  t.match(seen, { host: 'hello.example.test', 'cf-connecting-ip': '127.0.0.1', 'cf-visitor': '{"scheme":"http"}' })
  for (const name of ['x-edged-cf', 'x-edged-resource', 'x-edged-proto', 'te', 'connection'])
    t.notOk(name in seen, name)
  t.same(
    JSON.parse((await daemon.get('hello.example.test', '/cf', { headers })).text),
    { httpProtocol: 'HTTP/1.1' },
    'what is not known is absent',
  )
  const echo = await daemon.get('hello.example.test', '/echo?a=%zz', { method: 'POST', body: 'x'.repeat(300_000) })
  t.match([echo.text.length, echo.headers['x-url']], [300_000, 'http://hello.example.test/echo?a=%zz'])

  const { messages } = await daemon.upload('hello', code('two'), { bindings })
  t.same(messages, [], 'lines that the runtime logs about itself are not reported')
  t.match((await daemon.get('hello.example.test')).text, /^two /)
})

t.test('uploads under load lose no request', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const code = (n: number) => `export default { fetch() { return new Response('${n}') } }`
  await daemon.upload('app', code(0))
  await daemon.domain('app')
  const uploads = new AbortController()
  const statuses = new Map<number, number>()
  const load = Array.from({ length: 4 }, async () => {
    while (!uploads.signal.aborted) {
      const { status } = await daemon.get('app.example.test')
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
    }
  })
  for (let n = 1; n <= 5; n++) {
    await daemon.upload('app', code(n))
    t.equal((await daemon.get('app.example.test')).text, String(n))
  }
  uploads.abort()
  await Promise.all(load)
  t.same([...statuses.keys()], [200])
})

t.test('a script responds below the domain of the server', skip, async (t) => {
  const daemon = await workersDaemon(t, { more: 'workers: { domain: workers.example.test }' })
  const code = `export default { async fetch(request) {
    if (request.url.endsWith('/self')) return new Response(await (await fetch('http://app.${ACCOUNT}.workers.example.test/')).text())
    if (request.url.endsWith('/other')) return new Response(await (await fetch('http://other.mine.workers.example.test/')).text())
    return new Response(new URL(request.url).hostname)
  } }`
  await daemon.upload('app', code)
  await daemon.upload('other', code)
  const host = `app.${ACCOUNT}.workers.example.test`
  const accept = { headers: { accept: 'application/json' } }
  t.match(JSON.parse((await daemon.get(host, '/', accept)).text), { error_code: 1104 }, 'it is not enabled')
  t.same((await daemon.api('GET', '/workers/subdomain')).body.result, { subdomain: ACCOUNT })
  const enabled = await daemon.api('POST', '/workers/scripts/app/subdomain', { enabled: true })
  t.match(enabled.body, { messages: [], result: { enabled: true } })
  await daemon.api('POST', '/workers/scripts/other/subdomain', { enabled: true })
  t.match((await daemon.api('GET', '/workers/workers/app')).body.result, { subdomain: { url: host } })
  t.equal((await daemon.get(host)).text, host)
  t.equal(
    (await daemon.get(`app.${ACCOUNT}.workers.dev`)).text,
    `app.${ACCOUNT}.workers.dev`,
    'as old clients print it',
  )
  t.equal((await daemon.get(`nope.${ACCOUNT}.workers.example.test`)).status, 404)
  t.match((await daemon.get('app.unknown.workers.example.test')).text, /Kestrel/, 'the zone has the other names')
  t.match((await daemon.get(host, '/self')).text, /1042/)

  t.equal((await daemon.api('PUT', '/workers/subdomain', { subdomain: 'mine' })).status, 200)
  t.equal((await daemon.get('app.mine.workers.example.test')).text, 'app.mine.workers.example.test')
  t.equal((await daemon.get('app.mine.workers.example.test', '/other')).text, 'other.mine.workers.example.test')
  t.notMatch((await daemon.get(host)).text, host, 'the old address is free')
})

t.test('work of waitUntil goes on in the old process after an upload', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const { body: made } = await daemon.api('POST', '/storage/kv/namespaces', { title: 'done' })
  const bindings = [{ name: 'KV', type: 'kv_namespace', namespace_id: made.result.id }]
  const code = (name: string) => `export default { fetch(request, env, ctx) {
    ctx.waitUntil(scheduler.wait(500).then(() => env.KV.put('${name}', 'done')))
    return new Response('${name}')
  } }`
  await daemon.upload('app', code('one'), { bindings })
  await daemon.domain('app')
  t.equal((await daemon.get('app.example.test')).text, 'one')
  await daemon.upload('app', code('two'), { bindings })
  t.equal((await daemon.get('app.example.test')).text, 'two')
  const value = `/storage/kv/namespaces/${made.result.id}/values`
  while ((await daemon.api('GET', `${value}/one`)).status !== 200) await sleep(20)
  t.equal((await daemon.api('GET', `${value}/one`)).body, 'done')
})
