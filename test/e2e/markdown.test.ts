import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import zlib from 'node:zlib'
import t, { type Test } from 'tap'
import { ask as askAny, open, originServer, until, type Ask } from '../helpers/web.js'
import { configuration, startDaemon, unbuilt, type Daemon } from './daemon.js'

const LIMIT = 6_291_456
const HTML = 'text/html; charset=utf-8'
const MARKDOWN = 'text/markdown; charset=utf-8'
const PAGE = `<!doctype html><title>x</title><header>gone</header><h1>A page</h1>${'<p>Some <b>text</b>.</p>\n'.repeat(300)}`

/** Sends a request of a client that reads the bytes of the Markdown as they are. */
const ask = async (port: number, path: string, how: Ask = {}) =>
  await askAny(port, path, { ...how, headers: { 'accept-encoding': 'identity', ...how.headers } })

const port = (daemon: Daemon): number => Number(new URL(daemon.proxy).port)
const held = async (daemon: Daemon) => await daemon.metric('edged_markdown_buffered_bytes')
const pages = async (daemon: Daemon, outcome: string) =>
  await daemon.metric(`edged_markdown_pages_total{outcome="${outcome}"}`)

const options = { skip: unbuilt, timeout: 600_000 }

t.test('pages come in Markdown to who lists it, whatever their coding', options, async (t) => {
  const origin = await originServer(t, (request, response) => {
    const coding = request.url!.slice(1)
    const encode = { gzip: zlib.gzipSync, deflate: zlib.deflateSync, br: zlib.brotliCompressSync }[coding]
    const body = encode ? encode(PAGE) : Buffer.from(PAGE)
    response.writeHead(coding === 'missing' ? 404 : 200, {
      'content-type': HTML,
      'set-cookie': ['a=1', 'b=2'],
      'content-security-policy': "default-src 'self'",
      'cache-control': 'max-age=60',
      vary: 'Cookie',
      etag: '"e"',
      ...(encode && { 'content-encoding': coding }),
      ...(coding !== 'chunked' && { 'content-length': String(body.length) }),
    })
    response.end(body)
  })
  const daemon = await startDaemon(t, configuration(origin))
  const bodies = new Set<string>()
  for (const path of ['/', '/chunked', '/gzip', '/deflate', '/br', '/missing']) {
    const { status, headers, body, complete } = await ask(port(daemon), path)
    t.equal(status, path === '/missing' ? 404 : 200)
    t.ok(complete)
    t.match(headers, {
      'content-type': MARKDOWN,
      vary: 'Cookie, accept',
      'content-signal': 'ai-train=yes, search=yes, ai-input=yes',
      'set-cookie': ['a=1', 'b=2'],
      'content-security-policy': "default-src 'self'",
      'cache-control': 'max-age=60',
    })
    for (const gone of ['etag', 'content-length', 'content-encoding']) t.equal(headers[gone], undefined, gone)
    bodies.add(body.toString())
  }
  t.equal(bodies.size, 1, 'the same page each time')
  t.match([...bodies][0], /^# A page\n\nSome \*\*text\*\*\.\n/)

  const plain = await ask(port(daemon), '/gzip', { headers: { 'accept-encoding': 'br' } })
  t.equal(plain.headers['content-encoding'], undefined)
  t.ok(bodies.has(plain.body.toString()))

  const html = await ask(port(daemon), '/', { accept: 'text/html' })
  t.match(html.headers, { 'content-type': HTML, vary: 'Cookie, accept', etag: '"e"' })
  t.equal(html.body.toString(), PAGE)
})

t.test('the limit is 6,291,456 bytes, and a bomb is not unpacked beyond it', options, async (t) => {
  const fits = Buffer.alloc(LIMIT, '<p>one</p>\n')
  const over = Buffer.concat([fits, Buffer.from('.')])
  const bomb = zlib.gzipSync(Buffer.alloc(500_000_000), { level: 1 })
  const bodies: Record<string, Buffer> = {
    '/fits': fits,
    '/over': over,
    '/gzip-fits': zlib.gzipSync(fits),
    '/gzip-over': zlib.gzipSync(over),
    '/gzip-bomb': bomb,
  }
  const origin = await originServer(t, (request, response) => {
    const gzip = request.url!.startsWith('/gzip')
    response.writeHead(200, { 'content-type': HTML, ...(gzip && { 'content-encoding': 'gzip' }) })
    response.end(bodies[request.url!])
  })
  const daemon = await startDaemon(t, configuration(origin))
  for (const [path, sent] of Object.entries(bodies)) {
    const { headers, body, complete } = await ask(port(daemon), path)
    t.ok(complete, path)
    t.equal(headers['content-type'], path.endsWith('fits') ? MARKDOWN : HTML, path)
    if (!path.endsWith('fits')) t.ok(body.equals(sent), `${path} came as it was`)
  }
  t.equal(await pages(daemon, 'converted'), 2)
  t.equal(await pages(daemon, 'too_large'), 3)
  t.equal(await held(daemon), 0)
})

t.test(
  'an origin that dies midway: an error page while nothing was sent, a broken transfer after',
  options,
  async (t) => {
    const origin = await originServer(t, (request, response) => {
      const streams = request.url === '/streams'
      response.writeHead(200, { 'content-type': HTML, ...(streams && { 'content-length': '1000000' }) })
      response.write(PAGE, () => setTimeout(() => response.destroy(), 50))
    })
    const daemon = await startDaemon(t, configuration(origin))
    const heldBack = await ask(port(daemon), '/')
    t.match(heldBack, { status: 502, complete: true, headers: { 'content-type': MARKDOWN } })
    const streamed = await ask(port(daemon), '/streams')
    t.match(streamed, { status: 200, complete: false })
    t.match(streamed.body.toString(), '# A page')
    t.equal(await held(daemon), 0)
  },
)

t.test('a page streams while a slow origin sends it, and clients that leave free it', options, async (t) => {
  let left = 0
  const origin = await originServer(t, (request, response) => {
    const streams = request.url === '/streams'
    response.writeHead(200, { 'content-type': HTML, ...(streams && { 'content-length': '1000000' }) })
    response.write(PAGE)
    response.on('close', () => left++)
  })
  const daemon = await startDaemon(t, configuration(origin))
  const streaming = open(port(daemon), '/streams', { headers: { 'accept-encoding': 'identity' } })
  const [response] = (await once(streaming, 'response')) as [IncomingMessage]
  const [first] = (await once(response, 'data')) as [Buffer]
  t.match(first.toString(), '# A page')
  const holding = Array.from({ length: 20 }, () => open(port(daemon), '/'))
  for (const client of [streaming, response, ...holding]) client.on('error', () => {})
  await until(async () => (await held(daemon))! >= 20 * PAGE.length)
  for (const client of [streaming, ...holding]) client.destroy()
  await until(async () => left === 21 && (await held(daemon)) === 0)
  t.pass('all is let go of')
})

t.test('1,000 visitors at once each get their own page', options, async (t) => {
  const origin = await originServer(t, (request, response) => {
    const number = Number(request.url!.slice(1))
    const html = `<h1>Page ${number}</h1>${PAGE}`
    response.writeHead(200, { 'content-type': HTML, ...(number % 2 === 0 && { 'content-encoding': 'gzip' }) })
    response.end(number % 2 === 0 ? zlib.gzipSync(html, { level: 1 }) : html)
  })
  const daemon = await startDaemon(t, configuration(origin))
  const responses = await Promise.all(
    Array.from({ length: 1000 }, async (_, number) => {
      const { status, body, complete } = await ask(port(daemon), `/${number}`)
      return status === 200 && complete && body.toString().startsWith(`# Page ${number}\n`)
    }),
  )
  t.equal(responses.filter((good) => good).length, 1000)
  t.equal(await held(daemon), 0)
})

/** Visitors that ask again and again until told to stop; says how many answers were good and which were not. */
function visitors(t: Test, daemon: Daemon, count: number) {
  const stop = new AbortController()
  let good = 0
  const bad: string[] = []
  const visit = async (): Promise<void> => {
    while (!stop.signal.aborted) {
      try {
        const { status, headers, complete } = await ask(port(daemon), '/')
        if (status === 200 && complete && headers['content-type'] === MARKDOWN) good++
        else bad.push(`${status} ${complete ? 'whole' : 'cut'} ${headers['content-type']}`)
      } catch (error) {
        bad.push(String(error))
      }
    }
  }
  const all = Promise.all(Array.from({ length: count }, visit))
  t.teardown(() => stop.abort())
  return {
    good: () => good,
    async stop() {
      stop.abort()
      await all
      return { good, bad }
    },
  }
}

t.test('a reload under load fails no request', options, async (t) => {
  const origin = await originServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': HTML })
    response.write(PAGE.slice(0, 2000))
    setTimeout(() => response.end(PAGE.slice(2000)), 5)
  })
  const daemon = await startDaemon(t, configuration(origin))
  const load = visitors(t, daemon, 16)
  for (let i = 1; i <= 5; i++) {
    const enough = load.good() + 30
    await until(() => load.good() >= enough)
    // Another timeout makes new pools of connections to the origin.
    await daemon.reload(configuration(origin, { proxy: { origin: { connect_timeout: `${20 + i}s` } } }))
  }
  const { good, bad } = await load.stop()
  t.same(bad, [])
  t.ok(good >= 150)
})

t.test('a reload switches the conversion off and on, and a bad file changes nothing', options, async (t) => {
  const origin = await originServer(t, (_, response) => response.setHeader('content-type', HTML).end(PAGE))
  const on = configuration(origin) as { zones: { settings: { content_converter: string } }[] }
  const off = structuredClone(on)
  off.zones[0]!.settings.content_converter = 'off'
  const daemon = await startDaemon(t, on)
  const type = async () => (await ask(port(daemon), '/')).headers['content-type']
  t.equal(await type(), MARKDOWN)
  await daemon.reload(off)
  t.equal(await type(), HTML)
  await daemon.reload(on)
  t.equal(await type(), MARKDOWN)
  off.zones[0]!.settings.content_converter = 'perhaps'
  await daemon.reload(off, 'reload_failed')
  t.equal(await type(), MARKDOWN)
})

t.test('a reload that fails at its last step is undone, whatever it had changed', options, async (t) => {
  const origin = await originServer(t, (_, response) => response.setHeader('content-type', HTML).end(PAGE))
  const daemon = await startDaemon(t, configuration(origin))
  const type = async () => (await ask(port(daemon), '/')).headers['content-type']
  t.equal(await type(), MARKDOWN)
  const next = configuration(origin, { proxy: { listen: new URL(origin).host } }) as {
    zones: { settings: { content_converter: string } }[]
  }
  next.zones[0]!.settings.content_converter = 'off'
  await daemon.reload(next, 'reload_failed')
  t.match(
    daemon.lines.join('\n'),
    /proxy\.listen: \S+ is already in use; stop the other process or set proxy\.listen to another port/,
  )
  t.equal(await type(), MARKDOWN)
})

t.test('a reload changes how much memory pages may take', options, async (t) => {
  const origin = await originServer(
    t,
    (_, response) => void response.writeHead(200, { 'content-type': HTML }).end(PAGE),
  )
  const daemon = await startDaemon(t, configuration(origin))
  const type = async () => (await ask(port(daemon), '/')).headers['content-type']
  t.equal(await type(), MARKDOWN)
  await daemon.reload(configuration(origin, { proxy: { markdown_memory: '20KB' } }))
  t.equal(await type(), HTML)
  t.equal(await pages(daemon, 'no_memory'), 1)
})

t.test('SIGTERM completes requests in progress, then the daemon exits with 0', options, async (t) => {
  let finish: (() => void) | undefined
  const origin = await originServer(t, (_, response) => {
    response.writeHead(200, { 'content-type': HTML })
    response.write(PAGE.slice(0, 2000))
    finish = () => response.end(PAGE.slice(2000))
  })
  const daemon = await startDaemon(t, configuration(origin))
  const underWay = ask(port(daemon), '/')
  await until(() => finish !== undefined)
  daemon.signal('SIGTERM')
  await until(() => daemon.lines.some((line) => line.includes('"event":"draining"')))
  await t.rejects(ask(port(daemon), '/'), 'nobody else is let in')
  const ready = await fetch(`${daemon.admin}/readyz`)
  t.equal(ready.status, 503, 'probes are answered to the end')
  t.equal(await ready.text(), 'shutting down\n')
  finish!()
  t.match(await underWay, { status: 200, complete: true, headers: { 'content-type': MARKDOWN } })
  t.equal(await daemon.ended, 0)
})
