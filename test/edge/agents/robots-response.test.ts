import type { IncomingMessage, ServerResponse } from 'node:http'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { site } from '../markdown/site.js'

const SIGNAL = 'ai-train=yes, search=yes, ai-input=yes'
const TEXT = { 'content-type': 'text/plain' }

const send =
  (status: number, headers: Record<string, string>, body = '') =>
  (_: IncomingMessage, response: ServerResponse) =>
    void response.writeHead(status, headers).end(body)

const GENERATED = `User-agent: *\nContent-Signal: ${SIGNAL}\nAllow: /\n`

t.test('the file of the origin gets the signal of the zone', async (t) => {
  const seen: IncomingMessage['headers'][] = []
  const { get } = await site(
    t,
    (request, response) => {
      seen.push(request.headers)
      const fields = {
        ...TEXT,
        etag: '"x"',
        'last-modified': 'Thu, 01 Oct 2026 00:00:00 GMT',
        digest: 'x',
        'cache-control': 'max-age=60',
        'x-own': '1',
      }
      response.writeHead(200, fields).end('User-agent: *\nDisallow: /private\n')
    },
    { agents: 'robots: true, content_signal: "ai-train=no"' },
  )
  const { status, headers, body } = await get('/robots.txt', {
    accept: '*/*',
    headers: { 'if-none-match': '"x"', range: 'bytes=0-3' },
  })
  t.equal(status, 200)
  t.equal(body.toString(), 'User-agent: *\nContent-Signal: ai-train=no\nDisallow: /private\n')
  t.match(headers, {
    'content-type': 'text/plain',
    'content-length': String(body.length),
    'cache-control': 'max-age=60',
    'x-own': '1',
    etag: /^W\/"[\w-]{16}"$/,
  })
  for (const gone of ['digest', 'last-modified']) t.equal(headers[gone], undefined, gone)
  t.match(seen[0], { 'accept-encoding': 'identity' })
  for (const field of ['if-none-match', 'range']) t.equal(seen[0]![field], undefined, field)
  const again = await get('/robots.txt', { headers: { 'if-none-match': headers.etag! } })
  t.match(again, { status: 304, headers: { etag: headers.etag } })
  t.equal(again.body.length, 0)
  const head = await get('/robots.txt', { method: 'HEAD' })
  t.match(head, { status: 200, headers: { 'x-own': '1' } })
  t.equal(head.headers['content-length'], undefined)
})

t.test('a site without the file gets one', async (t) => {
  for (const handler of [
    send(404, { 'content-type': 'text/html', 'cache-control': 'no-store' }, '<h1>Not found</h1>'),
    send(410, {}),
    send(200, { 'content-type': 'text/html' }, '<!doctype html><p>an application'),
    send(200, TEXT, '\n<!DOCTYPE html><p>an application'),
    send(200, TEXT, ''),
  ]) {
    const { get } = await site(t, handler, { agents: 'robots: true' })
    for (const accept of ['*/*', 'text/markdown']) {
      const { status, headers, body } = await get('/robots.txt', { accept })
      t.equal(status, 200)
      t.equal(body.toString(), GENERATED)
      t.match(headers, { 'content-type': /^text\/plain/, 'cache-control': 'max-age=3600', etag: /^W/ })
    }
  }
})

t.test('a file is decoded that the origin sends in a coding nevertheless', async (t) => {
  const file = 'User-agent: *\nDisallow: /private\n'
  const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024, 0x23))
  const CASES: [string, Buffer, boolean][] = [
    ['gzip', gzipSync(file), true],
    ['deflate', deflateSync(file), true],
    ['deflate', deflateRawSync(file), true],
    ['br', brotliCompressSync(file), true],
    ['gzip, br', brotliCompressSync(gzipSync(file)), true],
    ['gzip', Buffer.from(file), false],
    ['gzip', gzipSync(file).subarray(0, 30), false],
    ['gzip', bomb, false],
    ['br', Buffer.alloc(0), false],
  ]
  for (const [coding, bytes, isMerged] of CASES) {
    const { get } = await site(
      t,
      (_, response) => void response.writeHead(200, { ...TEXT, 'content-encoding': coding }).end(bytes),
      { agents: 'robots: true' },
    )
    const { status, headers, body } = await get('/robots.txt')
    t.equal(status, 200)
    t.equal(headers['content-encoding'], isMerged ? undefined : coding)
    const merged = `User-agent: *\nContent-Signal: ${SIGNAL}\nDisallow: /private\n`
    t.ok(isMerged ? body.toString() === merged : body.equals(bytes), `${coding}, ${bytes.length} bytes`)
  }
})

t.test('other responses pass, since crawlers read them as rules', async (t) => {
  const CASES: [number, Record<string, string>, string][] = [
    [500, TEXT, 'error'],
    [503, { ...TEXT, 'retry-after': '9' }, 'later'],
    [301, { location: '/other' }, ''],
    [401, TEXT, 'no'],
    [403, TEXT, 'no'],
    [429, TEXT, 'no'],
    [200, { 'content-type': 'application/octet-stream' }, 'User-agent: *\n'],
    [200, { ...TEXT, 'content-encoding': 'unknown' }, 'User-agent: *\n'],
    [200, TEXT, `User-agent: *\n${'#'.repeat(600_000)}`],
  ]
  for (const [status, headers, text] of CASES) {
    const { get } = await site(t, send(status, headers, text), { agents: 'robots: true' })
    const { status: sent, headers: fields, body } = await get('/robots.txt', { accept: '*/*' })
    t.equal(sent, status)
    t.equal(body.toString(), text)
    t.match(fields, headers)
  }
  const { get } = await site(t, (request) => request.socket.destroy(), { agents: 'robots: true' })
  t.equal((await get('/robots.txt')).status, 502)
})

t.test('the crawlers that access blocks and allows are named', async (t) => {
  const { get } = await site(t, send(404, {}), {
    agents: `robots: true, content_signal: false, access: [
      { who: { name: [OAI-SearchBot, PerplexityBot], verified: true }, do: allow },
      { who: { category: ai_search, verified: false }, do: block },
      { who: { name: ClaudeBot }, do: markdown },
      { who: { category: ai_crawler }, do: block }]`,
  })
  const text = (await get('/robots.txt', { accept: '*/*' })).body.toString()
  const groups = new Map(text.split('\n\n').map((group) => [/User-agent: (.*)/.exec(group)![1], group.split('\n')[1]]))
  t.equal(groups.get('*'), 'Allow: /')
  t.equal(groups.get('GPTBot'), 'Disallow: /')
  t.equal(groups.get('Google-Extended'), 'Disallow: /', 'a name that no client sends')
  t.equal(groups.get('OAI-SearchBot'), 'Allow: /')
  t.equal(groups.get('PerplexityBot'), 'Allow: /')
  for (const name of ['ClaudeBot', 'Claude-User', 'Googlebot']) t.notOk(groups.has(name), name)
})

t.test('without the option the file passes', async (t) => {
  const { get } = await site(t, send(404, TEXT, 'none'))
  t.match(await get('/robots.txt'), { status: 404 })
})
