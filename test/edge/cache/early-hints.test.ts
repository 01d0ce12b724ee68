import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request as send, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import { connect } from 'node:http2'
import t from 'tap'
import { until } from '../../helpers/web.js'
import { CA_FILE, tlsFile } from '../../helpers/tls.js'
import { MovedClock, startCachedSite } from './setup.js'

const HINT = '</style.css>; rel=preload; as=style'

interface Hinted {
  readonly cache: unknown
  readonly body: string
  /** `Link` of the responses with status 103. */
  readonly hints: unknown[]
}

/** Sends a request and reads the response, and the interim responses before it. */
async function get(port: number, path: string, agent: Agent | false = false): Promise<Hinted> {
  return await new Promise((resolve, reject) => {
    const hints: unknown[] = []
    const options = { host: '127.0.0.1', port, path, agent, headers: { host: 'example.test' } }
    const asked = send(options, (response) => {
      let body = ''
      response.on('data', (chunk: Buffer) => (body += chunk.toString()))
      response.on('end', () => resolve({ cache: response.headers['cf-cache-status'], body, hints }))
    })
    asked.on('information', ({ statusCode, headers }: { statusCode: number; headers: IncomingHttpHeaders }) =>
      hints.push(statusCode === 103 ? headers['link'] : statusCode),
    )
    asked.on('error', reject)
    asked.end()
  })
}

t.test('early hints reach the client whose request goes to the origin, and no hit', async (t) => {
  const clock = new MovedClock()
  const site = await startCachedSite(
    t,
    (request, response, count) => {
      response.writeEarlyHints({ link: HINT })
      response.setHeader('cache-control', request.url === '/private' ? 'private' : 'max-age=60')
      response.end(`body ${count}`)
    },
    { clock },
  )
  t.same(await get(site.port, '/a'), { cache: 'MISS', body: 'body 1', hints: [HINT] })
  t.same(await get(site.port, '/a'), { cache: 'HIT', body: 'body 1', hints: [] })
  clock.forward(61)
  t.same(await get(site.port, '/a'), { cache: 'EXPIRED', body: 'body 2', hints: [HINT] })
  for (const body of ['body 3', 'body 4'])
    t.same(await get(site.port, '/private'), { cache: 'BYPASS', body, hints: [HINT] }, 'a response that is not stored')
})

t.test('early hints of an update in the background reach no later response of the connection', async (t) => {
  const clock = new MovedClock()
  const waiting: ServerResponse[] = []
  const site = await startCachedSite(
    t,
    (_request, response, count) => {
      response.setHeader('cache-control', 'max-age=10, stale-while-revalidate=100')
      if (count === 2) waiting.push(response)
      else response.end(`body ${count}`)
    },
    { clock },
  )
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  t.teardown(() => agent.destroy())
  await get(site.port, '/a', agent)
  clock.forward(20)
  t.match(await get(site.port, '/a', agent), { cache: 'UPDATING', hints: [] })
  await until(() => waiting.length === 1)
  waiting[0]!.writeEarlyHints({ link: HINT })
  t.match(await get(site.port, '/b', agent), { cache: 'MISS', body: 'body 3', hints: [] })
  waiting[0]!.end('new')
  await until(async () => (await get(site.port, '/a', agent)).body === 'new')
})

t.test('a request that waits for the request of another client gets no hints of that request', async (t) => {
  const waiting: ServerResponse[] = []
  const site = await startCachedSite(t, (_request, response) => {
    response.writeEarlyHints({ link: HINT })
    waiting.push(response)
  })
  const respond = (field: string) => {
    for (const response of waiting.splice(0)) response.setHeader('cache-control', field).end('body')
  }
  const first = get(site.port, '/a')
  await until(() => waiting.length === 1)
  const others = [get(site.port, '/a'), get(site.port, '/a')]
  // A further request shows that the proxy has read the others.
  await Promise.all([get(site.port, '/b'), until(() => waiting.length === 2).then(() => waiting.pop()!.end())])
  respond('max-age=60')
  t.same(await first, { cache: 'MISS', body: 'body', hints: [HINT] })
  for (const other of others) {
    const { body, hints } = await other
    t.same([body, hints], ['body', []])
  }
  t.equal(site.requests.length, 2)

  const alone = get(site.port, '/c')
  await until(() => waiting.length === 1)
  const refused = get(site.port, '/c')
  await Promise.all([get(site.port, '/d'), until(() => waiting.length === 2).then(() => waiting.pop()!.end())])
  respond('private')
  await until(() => waiting.length === 1)
  respond('private')
  t.match([await alone, await refused], [{ hints: [HINT] }, { hints: [HINT] }], 'each request has its own hints')
})

t.test('early hints pass the cache to clients of HTTP/2', async (t) => {
  const files = `{ cert_file: '${tlsFile('cert.pem')}', key_file: '${tlsFile('key.pem')}' }`
  const site = await startCachedSite(
    t,
    (_request, response) => {
      response.writeEarlyHints({ link: [HINT, '</a.js>; rel=preload; as=script'] })
      response.setHeader('cache-control', 'max-age=60').end('body')
    },
    { yaml: `{ tls: { listen: 127.0.0.1:0, http2: on, certificates: [${files}] } }` },
  )
  const client = connect(`https://localhost:${site.tls!.port}`, { ca: readFileSync(CA_FILE) })
  t.teardown(() => client.destroy())
  for (const [cache, hints] of [
    ['MISS', [{ ':status': 103, link: `${HINT}, </a.js>; rel=preload; as=script` }]],
    ['HIT', []],
  ] as const) {
    const stream = client.request({ ':path': '/a', ':authority': 'example.test' })
    const interim: unknown[] = []
    stream.on('headers', (fields) => interim.push({ ...fields }))
    const [head] = (await once(stream, 'response')) as [IncomingHttpHeaders]
    stream.resume()
    await once(stream, 'close')
    t.match(head, { ':status': 200, 'cf-cache-status': cache })
    t.match(interim, hints)
    t.equal(interim.length, hints.length)
  }
})
