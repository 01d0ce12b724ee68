import t from 'tap'
import { SKIP, workersDaemon } from './runtime-helper.js'

const CODE = `const key = 'https://cache.test/page?a=1&b=%20'
export default { async fetch(request) {
  const url = new URL(request.url)
  const cache = url.searchParams.has('named') ? await caches.open('other') : caches.default
  const shown = async (found) => found ? { status: found.status, text: await found.text(), headers: Object.fromEntries(found.headers) } : null
  if (url.pathname === '/put') {
    const headers = JSON.parse(url.searchParams.get('headers') ?? '{}')
    const body = url.searchParams.has('stream')
      ? new ReadableStream({ async start(it) { for (let i = 0; i < 3; i++) it.enqueue(new TextEncoder().encode('part ' + i + ';')); it.close() } })
      : 'x'.repeat(Number(url.searchParams.get('size') ?? 5))
    await cache.put(key, new Response(body, { headers }))
    return new Response('ok')
  }
  if (url.pathname === '/match') return Response.json(await shown(await cache.match(new Request(key, { headers: JSON.parse(url.searchParams.get('headers') ?? '{}') }))))
  if (url.pathname === '/delete') return Response.json(await cache.delete(key))
} }`

t.test('the Cache API keeps what a shared cache may keep', { skip: SKIP }, async (t) => {
  const daemon = await workersDaemon(t)
  for (const name of ['app', 'neighbour']) {
    await daemon.upload(name, CODE)
    await daemon.domain(name)
  }
  const call = async (path: string, query: Record<string, string> = {}, name = 'app') => {
    const { status, text } = await daemon.get(
      `${name}.example.test`,
      `${path}?${new URLSearchParams(query).toString()}`,
    )
    t.equal(status, 200, text)
    return text === 'ok' ? text : (JSON.parse(text) as unknown)
  }
  const put = async (headers: Record<string, string>, more: Record<string, string> = {}) =>
    await call('/put', { headers: JSON.stringify(headers), ...more })
  t.equal(await call('/match'), null)
  await put({ 'cache-control': 'max-age=60', etag: '"a"', 'x-own': 'yes' })
  t.match(await call('/match'), {
    status: 200,
    text: 'xxxxx',
    headers: { 'cf-cache-status': 'HIT', age: '0', 'x-own': 'yes', etag: '"a"' },
  })
  const { headers: fields } = (await call('/match')) as { headers: object }
  t.same(
    Object.keys(fields).toSorted(),
    ['age', 'cache-control', 'cf-cache-status', 'content-length', 'content-type', 'etag', 'x-own'],
    'no field of the connection',
  )
  t.match(await call('/match', {}, 'neighbour'), { text: 'xxxxx' }, 'scripts of one account share it')
  t.equal(await call('/match', { named: '1' }), null, 'a named cache is another one')
  t.match(await call('/match', { headers: '{"if-none-match":"\\"a\\""}' }), { status: 304, text: '' })
  t.match(await call('/match', { headers: '{"range":"bytes=1-2"}' }), {
    status: 206,
    text: 'xx',
    headers: { 'content-range': 'bytes 1-2/5' },
  })
  t.equal(await call('/delete'), true)
  t.equal(await call('/delete'), false)
  t.equal(await call('/match'), null)
  await put({ 'cache-control': 's-maxage=60' }, { stream: '1' })
  t.match(await call('/match'), { text: 'part 0;part 1;part 2;' })
  await call('/delete')
  for (const headers of [
    { 'cache-control': 'no-store' },
    { 'cache-control': 'private' },
    { 'cache-control': 'max-age=0' },
    { 'cache-control': 'max-age=60', 'set-cookie': 'a=1' },
  ]) {
    await put(headers)
    t.equal(await call('/match'), null, JSON.stringify(headers))
  }
})

t.test('the Cache API stays within its memory', { skip: SKIP }, async (t) => {
  const daemon = await workersDaemon(t, { more: 'workers: { cache_bytes: 1MB }' })
  await daemon.upload('app', CODE)
  await daemon.domain('app')
  const size = async (bytes: number): Promise<number | undefined> => {
    await daemon.get('app.example.test', `/put?size=${bytes}&headers={"cache-control":"max-age=60"}`)
    const found = JSON.parse((await daemon.get('app.example.test', '/match')).text) as { text: string } | null
    await daemon.get('app.example.test', '/delete')
    return found?.text.length
  }
  t.equal(await size(100_000), 100_000)
  t.equal(await size(200_000), undefined, 'one response takes at most an eighth')
})
