import t from 'tap'
import { SKIP, workersDaemon } from './runtime-helper.js'

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
  for (const name of ['x-edged-cf', 'x-edged-resource', 'x-edged-proto', 'te']) t.notOk(name in seen, name)
  t.same(JSON.parse((await daemon.get('hello.example.test', '/cf', { headers })).text), { httpProtocol: 'HTTP/1.1' })
  const echo = await daemon.get('hello.example.test', '/echo?a=%zz', { method: 'POST', body: 'x'.repeat(300_000) })
  t.match([echo.text.length, echo.headers['x-url']], [300_000, 'http://hello.example.test/echo?a=%zz'])

  await daemon.upload('hello', code('two'), { bindings })
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
