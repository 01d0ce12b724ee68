import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { readFileSync } from 'node:fs'
import { type IncomingMessage, request as send } from 'node:http'
import { connect } from 'node:net'
import t, { type Test } from 'tap'
import { testFolder } from '../../helpers/folder.js'
import { sendRaw } from '../../helpers/proxy.js'
import { CA_FILE, tlsFile } from '../../helpers/tls.js'
import { until } from '../../helpers/web.js'
import { type CachedSite, MovedClock, startCachedSite } from './setup.js'

const JSON_TYPE = { 'content-type': 'application/json' }
/** Longer content is not read for the key. */
const MAX = 65_536

interface Answer {
  readonly status: number
  readonly body: string
  readonly cache: string | undefined
}

/** Sends one request with content. Several parts are sent in chunks. */
async function query(
  { port }: { port: number },
  body: string | readonly string[],
  headers: Record<string, string> = JSON_TYPE,
  { method = 'QUERY', path = '/find' } = {},
): Promise<Answer> {
  const fields = { host: 'example.test', ...headers }
  const request = send({ host: '127.0.0.1', port, path, method, agent: false, headers: fields })
  if (typeof body === 'string') request.setHeader('content-length', body.length).end(body, 'latin1')
  else {
    request.flushHeaders()
    for (const part of body) request.write(part, 'latin1')
    request.end()
  }
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.setEncoding('latin1')
  let text = ''
  for await (const chunk of response) text += chunk as string
  return { status: response.statusCode!, body: text, cache: response.headers['cf-cache-status'] as string | undefined }
}

/** Starts a site whose origin responds with the method and the content. */
async function startEcho(t: Test, options: Parameters<typeof startCachedSite>[2] = {}, control = 'max-age=60') {
  const contents: string[] = []
  const site = await startCachedSite(
    t,
    (request, response) => {
      let body = ''
      request.setEncoding('latin1')
      request.on('data', (chunk: string) => (body += chunk))
      request.on('end', () => {
        contents.push(body)
        response.setHeader('cache-control', control)
        response.end(`${request.method} ${body.length > 100 ? body.length : body}`)
      })
    },
    options,
  )
  return Object.assign(site, { contents })
}

t.test('the content is part of the key, with what describes it (RFC 10008, 2.7)', async (t) => {
  const site = await startEcho(t)
  t.match(await query(site, '{"a":1}'), { status: 200, cache: 'MISS', body: 'QUERY {"a":1}' })
  t.match(await query(site, '{"a":1}'), { cache: 'HIT', body: 'QUERY {"a":1}' })
  t.match(await query(site, ['{"a"', ':1}']), { cache: 'HIT' }, 'in chunks')
  t.match(await query(site, '{"a":2}'), { cache: 'MISS', body: 'QUERY {"a":2}' })
  for (const headers of [
    { 'content-type': 'application/sql' },
    { 'content-type': 'application/json;charset=utf-8' },
    { ...JSON_TYPE, 'content-encoding': 'gzip' },
    { ...JSON_TYPE, 'content-language': 'de' },
    { ...JSON_TYPE, content_encoding: 'gzip' },
    { ...JSON_TYPE, 'content-digest': 'x' },
    { 'content-type': 'application/json"],["content-encoding","gzip' },
  ]) {
    t.match(await query(site, '{"a":1}', headers), { cache: 'MISS' }, JSON.stringify(headers))
    t.match(await query(site, '{"a":1}', headers), { cache: 'HIT' }, JSON.stringify(headers))
  }
  t.match(await query(site, '{"a":1}', JSON_TYPE, { path: '/find?b' }), { cache: 'MISS' })
  t.match(await query(site, '{"a":1}'), { cache: 'HIT', body: 'QUERY {"a":1}' })
})

t.test('GET and QUERY share no response, and each method with a body has its own way', async (t) => {
  const site = await startEcho(t)
  t.match(await site.get('/find'), { cache: 'MISS', body: 'GET ' })
  t.match(await query(site, 'q'), { cache: 'MISS', body: 'QUERY q' })
  t.match(await site.get('/find'), { cache: 'HIT', body: 'GET ' })
  t.match(await query(site, 'q', JSON_TYPE, { method: 'GET' }), { cache: 'DYNAMIC', body: 'GET q' })
  t.match(await query(site, 'q'), { cache: 'HIT', body: 'QUERY q' })
  t.match(await query(site, 'q', JSON_TYPE, { method: 'POST' }), { body: 'POST q' })
  t.match(await site.get('/find'), { cache: 'MISS' }, 'an unsafe request invalidates both')
  t.match(await query(site, 'q'), { cache: 'MISS' })
  site.cache.purge(site.zones.current.zones[0]!.id, { urls: ['example.test/find'] }, { kind: 'files', version: 1 })
  t.match(await query(site, 'q'), { cache: 'MISS' }, 'a purge of the URL too')
})

t.test('a QUERY request without a type or without content is not cached', async (t) => {
  const site = await startEcho(t)
  for (let i = 0; i < 2; i++) {
    t.match(await query(site, 'q', {}), { cache: 'DYNAMIC', body: 'QUERY q' })
    t.match(await query(site, ''), { cache: 'DYNAMIC', body: 'QUERY ' })
    t.match(await query(site, []), { cache: 'DYNAMIC', body: 'QUERY ' })
  }
})

t.test('content up to 64 KiB is read for the key, and longer content passes', async (t) => {
  const site = await startEcho(t)
  const long = 'x'.repeat(MAX)
  t.match(await query(site, long), { cache: 'MISS', body: `QUERY ${MAX}` })
  t.match(await query(site, long), { cache: 'HIT', body: `QUERY ${MAX}` })
  t.match(await query(site, [long.slice(0, 10), long.slice(10)]), { cache: 'HIT' })
  for (let i = 0; i < 2; i++) {
    t.match(await query(site, `${long}y`), { cache: 'DYNAMIC', body: `QUERY ${MAX + 1}` })
    t.match(await query(site, [long, 'y'.repeat(300_000)]), { cache: 'DYNAMIC', body: `QUERY ${MAX + 300_000}` })
  }
  t.equal(site.contents.at(-1), long + 'y'.repeat(300_000))
})

t.test('without memory for the content the request passes', async (t) => {
  const site = await startEcho(t, { yaml: '{ buffer_memory: 0B }' })
  for (let i = 0; i < 2; i++) t.match(await query(site, 'query'), { cache: 'DYNAMIC', body: 'QUERY query' })
})

t.test('only an explicit lifetime or a rule makes a response to QUERY fresh', async (t) => {
  const site = await startEcho(t, { mode: 'default' }, 'public')
  t.match(await query(site, 'q', JSON_TYPE, { path: '/a.css' }), { cache: 'DYNAMIC' })
  const everything = await startEcho(t, {}, 'public')
  await query(everything, 'q')
  t.match(await query(everything, 'q'), { body: 'QUERY q' })
  t.equal(everything.contents.length, 2)
})

t.test('concurrent requests with one content share a fetch', async (t) => {
  const held: (() => void)[] = []
  const site = await startCachedSite(t, (request, response) => {
    let body = ''
    request.setEncoding('latin1')
    request.on('data', (chunk: string) => (body += chunk))
    request.on('end', () =>
      held.push(() => {
        response.setHeader('cache-control', body === 'private' ? 'private' : 'max-age=60')
        response.end(body)
      }),
    )
  })
  const asked = ['one', 'one', 'two', 'private', 'private'].map(async (body) => (await query(site, body)).body)
  await until(() => held.length === 3)
  for (const respond of held.splice(0)) respond()
  // A response that is not stored is for one request, and the other one sends its content.
  await until(() => held.length === 1)
  held[0]!()
  t.strictSame(await Promise.all(asked), ['one', 'one', 'two', 'private', 'private'])
})

t.test('a stale response is validated with the content, also in the background', async (t) => {
  const clock = new MovedClock()
  const seen: string[] = []
  const site = await startCachedSite(
    t,
    (request, response) => {
      let body = ''
      request.setEncoding('latin1')
      request.on('data', (chunk: string) => (body += chunk))
      request.on('end', () => {
        const tag = request.headers['if-none-match']
        seen.push(`${request.method} ${body} ${tag ?? ''}`)
        response.setHeader('etag', '"1"')
        response.setHeader('cache-control', 'max-age=60, stale-while-revalidate=60')
        response.statusCode = tag === undefined ? 200 : 304
        response.end(tag === undefined ? body : undefined)
      })
    },
    { clock },
  )
  t.match(await query(site, 'q'), { cache: 'MISS' })
  t.match(await query(site, 'q', { ...JSON_TYPE, 'if-none-match': '"1"' }), { status: 304, cache: 'HIT' })
  t.match(await query(site, 'q', { ...JSON_TYPE, range: 'bytes=0-0' }), { status: 206, cache: 'HIT', body: 'q' })
  clock.forward(90)
  t.match(await query(site, 'q'), { cache: 'UPDATING', body: 'q' })
  await until(() => seen.length === 2)
  clock.forward(200)
  t.match(await query(site, 'q'), { cache: 'REVALIDATED', body: 'q' })
  t.strictSame(seen, ['QUERY q ', 'QUERY q "1"', 'QUERY q "1"'])
})

t.test('a stored response survives on disk under its content', async (t) => {
  const disk = { folder: testFolder(t), bytes: 50_000_000 }
  const site = await startEcho(t, { disk })
  await query(site, 'one')
  await query(site, 'two')
  await site.cache.close()
  await site.owner!.close()
  const again = await startEcho(t, { disk, origin: site.origin })
  t.match(await query(again, 'one'), { cache: 'HIT', body: 'QUERY one' })
  t.match(await query(again, 'two'), { cache: 'HIT', body: 'QUERY two' })
  t.match(await query(again, 'three'), { cache: 'MISS', body: 'QUERY three' })
})

const head = (length: number, more = '') =>
  `QUERY /find HTTP/1.1\r\nHost: example.test\r\nContent-Type: a/b\r\nContent-Length: ${length}\r\n${more}\r\n`

t.test('content that looks like a request stays content', async (t) => {
  const site = await startEcho(t)
  const inner = 'GET /inner HTTP/1.1\r\nHost: example.test\r\n\r\n'
  const get = 'GET /last HTTP/1.1\r\nHost: example.test\r\nConnection: close\r\n\r\n'
  for (const first of ['MISS', 'HIT']) {
    const { text } = await sendRaw(site.port, head(inner.length) + inner + head(1) + 'q' + get)
    t.equal(text.split('HTTP/1.1 200').length - 1, 3, first)
    t.match(text, new RegExp(`cf-cache-status: ${first}`, 'i'))
  }
  t.notMatch(site.requests.join('\n'), /inner/)
  t.strictSame(site.requests, ['QUERY /find', 'QUERY /find', 'GET /last'])
  for (const more of ['Content-Length: 2\r\n', 'Transfer-Encoding: chunked\r\n']) {
    const { status } = await sendRaw(site.port, head(1, more) + 'q')
    t.equal(status, 400, more)
  }
  t.equal(site.requests.length, 3)
})

t.test('a client that leaves within the content asks nothing, and frees its memory', async (t) => {
  const site = await startEcho(t, { yaml: '{ buffer_memory: 64KB }' })
  for (let i = 0; i < 10; i++) {
    const socket = connect(site.port, '127.0.0.1')
    const expect = head(1000, 'Expect: 100-continue\r\n')
    socket.write(expect)
    // The proxy reads the content now.
    await once(socket, 'data')
    socket.write('part')
    socket.destroy()
  }
  t.strictSame(site.requests, [])
  await until(async () => (await query(site, 'q')).cache === 'HIT')
})

t.test('a client that waits for 100 Continue gets it', async (t) => {
  const site: CachedSite = await startEcho(t)
  for (const first of ['MISS', 'HIT']) {
    const { text } = await sendRaw(site.port, [head(1, 'Expect: 100-continue\r\nConnection: close\r\n'), 'q'])
    t.match(text, new RegExp(`cf-cache-status: ${first}`, 'i'))
  }
})

t.test('QUERY over HTTP/2', async (t) => {
  const files = `{ cert_file: '${tlsFile('cert.pem')}', key_file: '${tlsFile('key.pem')}' }`
  const site = await startEcho(t, { yaml: `{ tls: { listen: 127.0.0.1:0, http2: on, certificates: [${files}] } }` })
  const session = connectHttp2(`https://localhost:${site.tls!.port}`, { ca: readFileSync(CA_FILE) })
  t.teardown(() => session.destroy())
  const ask = async (body: string): Promise<string> => {
    const stream = session.request({
      ':method': 'QUERY',
      ':path': '/',
      ':authority': 'example.test',
      'content-type': 'a/b',
    })
    stream.end(body)
    const [headers] = (await once(stream, 'response')) as [Record<string, string>]
    let text = ''
    stream.setEncoding('latin1')
    for await (const chunk of stream) text += chunk as string
    return `${headers['cf-cache-status']} ${text}`
  }
  t.equal(await ask('one'), 'MISS QUERY one')
  t.equal(await ask('two'), 'MISS QUERY two')
  t.equal(await ask('one'), 'HIT QUERY one')
})
