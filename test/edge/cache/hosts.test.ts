import { once } from 'node:events'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import t from 'tap'
import { storedUrls } from '../../../src/edge/cache/key.js'
import { rulesOf } from '../../helpers/rules.js'
import { tlsFile } from '../../helpers/tls.js'
import { startCachedSite, type CachedSite } from './setup.js'

const FRESH = 'max-age=600'
const TLS = `{ tls: { listen: 127.0.0.1:0, http2: on, certificates: [{ cert_file: '${tlsFile('cert.pem')}', key_file: '${tlsFile('key.pem')}' }] } }`

type Version = 'HTTP' | 'HTTPS' | 'HTTP/2'
/** Base of an absolute target, or an empty text, and the Host field. */
type Spelling = readonly [target: string, host: string]

/** Sends one request in exactly this spelling. Returns the body of the response. */
async function bodyOf(site: CachedSite, version: Version, path: string, [target, host]: Spelling): Promise<string> {
  if (version === 'HTTP/2') return await overHttp2(site, path, target, host)
  const options = { port: (version === 'HTTP' ? site : site.tls!).port, host: '127.0.0.1' }
  const socket = version === 'HTTP' ? connect(options) : connectTls({ ...options, rejectUnauthorized: false })
  socket.write(`GET ${target}${path} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`)
  let text = ''
  for await (const chunk of socket as AsyncIterable<Buffer>) text += chunk.toString('latin1')
  return text.slice(text.indexOf('\r\n\r\n') + 4)
}

/** `authority`: if it is empty, the request has a Host field only. */
async function overHttp2(site: CachedSite, path: string, authority: string, host: string): Promise<string> {
  const session = connectHttp2(`https://localhost:${site.tls!.port}`, { rejectUnauthorized: false })
  try {
    await once(session, 'connect')
    const stream = session.request({ ':path': path, ...(authority && { ':authority': authority }), host })
    let text = ''
    for await (const chunk of stream as AsyncIterable<Buffer>) text += chunk.toString('latin1')
    return text
  } finally {
    session.destroy()
  }
}

const PLAIN: Spelling = ['', 'example.test']
const SPELLINGS: [version: Version, what: string, spelling: Spelling, normal: string][] = [
  ['HTTP', 'in capitals', ['', 'EXAMPLE.Test'], 'example.test'],
  ['HTTP', 'with the default port', ['', 'example.test:80'], 'example.test'],
  ['HTTP', 'with the default port and zeros', ['', 'example.test:00080'], 'example.test'],
  ['HTTP', 'with the port of HTTPS', ['', 'example.test:443'], 'example.test:443'],
  ['HTTP', 'with another port', ['', 'Example.test:08080'], 'example.test:8080'],
  ['HTTP', 'with a trailing dot', ['', 'example.test.'], 'example.test'],
  ['HTTP', 'with a trailing dot and a port', ['', 'example.test.:80'], 'example.test'],
  ['HTTP', 'in an absolute target', ['http://EXAMPLE.test.:80', 'example.test'], 'example.test'],
  [
    'HTTP',
    'in an absolute target without the port of Host',
    ['http://example.test', 'example.test:443'],
    'example.test',
  ],
  ['HTTP', 'in an absolute target of HTTPS', ['https://example.test:443', 'example.test'], 'example.test:443'],
  ['HTTPS', 'in capitals', ['', 'EXAMPLE.Test'], 'example.test'],
  ['HTTPS', 'with the default port', ['', 'example.test:443'], 'example.test'],
  ['HTTPS', 'with the port of HTTP', ['', 'example.test:80'], 'example.test:80'],
  ['HTTPS', 'with a trailing dot and a port', ['', 'example.test.:443'], 'example.test'],
  ['HTTPS', 'in an absolute target', ['https://EXAMPLE.test.:443', 'other.test'], 'example.test'],
  ['HTTP/2', 'in capitals', ['EXAMPLE.Test', 'example.test'], 'example.test'],
  ['HTTP/2', 'with the default port', ['example.test:443', 'example.test'], 'example.test'],
  ['HTTP/2', 'with the default port in Host', ['example.test', 'example.test:443'], 'example.test'],
  ['HTTP/2', 'with the port of HTTP', ['example.test:80', 'example.test:80'], 'example.test:80'],
  ['HTTP/2', 'with a trailing dot', ['example.test.', 'EXAMPLE.test.:443'], 'example.test'],
  ['HTTP/2', 'in Host only', ['', 'EXAMPLE.test.:443'], 'example.test'],
]
// A client that spelt Host otherwise had its redirect to `http://example.test:443/...` stored for everybody.
t.test('a host is one text for the origin and the key', async (t) => {
  const site = await startCachedSite(
    t,
    ({ headers }, response) =>
      response.setHeader('cache-control', FRESH).end(`${headers.host} ${String(headers['x-forwarded-host'])}`),
    { yaml: TLS },
  )
  for (const [i, [version, what, spelling, normal]] of SPELLINGS.entries()) {
    const title = `${version}: ${what}`
    t.equal(await bodyOf(site, version, `/${i}`, spelling), `${normal} ${normal}`, title)
    const before = site.requests.length
    t.equal(await bodyOf(site, version, `/${i}`, PLAIN), 'example.test example.test', `${title}: of another client`)
    t.equal(site.requests.length - before, normal === 'example.test' ? 0 : 1, `${title}: requests to the origin`)
  }
})

/** Rules that send this Host field to the origin, and change X-Forwarded-Host. */
const hostRules = (host_header: string, forwarded?: object, cache_key: object = {}) =>
  rulesOf([
    { phase: 'http_request_origin', rules: [{ action: 'route', action_parameters: { host_header } }] },
    {
      phase: 'http_request_cache_settings',
      rules: [{ action: 'set_cache_settings', action_parameters: { cache: true, cache_key } }],
    },
    ...(forwarded
      ? [
          {
            phase: 'http_request_late_transform' as const,
            rules: [{ action: 'rewrite', action_parameters: { headers: { 'X-Forwarded-Host': forwarded } } }],
          },
        ]
      : []),
  ])

t.test('hosts for which a rule sets one Host field do not share responses', async (t) => {
  const forwarded: [sent: string, rule: object | undefined][] = [
    ['evil.example.test', undefined],
    ['undefined', { operation: 'remove' }],
    ['one.test', { operation: 'set', value: 'one.test' }],
  ]
  for (const [sent, rule] of forwarded) {
    const site = await startCachedSite(
      t,
      ({ headers }, response) =>
        response.setHeader('cache-control', FRESH).end(`${headers.host} ${String(headers['x-forwarded-host'])}`),
      { zone: { rules: hostRules('example.test', rule) } },
    )
    const other = { host: 'evil.example.test' }
    t.match(await site.get('/', other), { body: `example.test ${sent}` })
    t.match(await site.get('/'), { cache: 'MISS' }, sent)
    const purge = { urls: storedUrls('example.test/') }
    site.cache.purge(site.zones.current.zones[0]!.id, purge, { kind: 'files', version: 1 })
    t.match(await site.get('/', other), { cache: 'HIT' }, `${sent}: of the other host`)
    t.match(await site.get('/'), { cache: 'MISS' }, `${sent}: purged`)
  }
})

t.test(
  'hosts share a response by the resolved host only if the origin cannot read which host was requested',
  async (t) => {
    const forwarded: [rule: object | undefined, cache: string][] = [
      [{ operation: 'set', value: 'one.test' }, 'HIT'],
      [undefined, 'MISS'],
    ]
    for (const [rule, cache] of forwarded) {
      const site = await startCachedSite(t, (_, response) => response.setHeader('cache-control', FRESH).end('x'), {
        zone: { rules: hostRules('example.test', rule, { custom_key: { host: { resolved: true } } }) },
      })
      await site.get('/', { host: 'www.example.test' })
      t.match(await site.get('/'), { cache })
    }
  },
)

/** Hosts of Location in responses of the origin: its own, the visitor's, another. */
const HOSTS: Readonly<Record<string, string>> = {
  '/own': 'origin.test:8080',
  '/visitor': 'example.test',
  '/other': 'other.test',
}

// A purge by the URL that visitors use missed: the cache compared the Host field that the rule sets for the origin.
t.test('a purge names the host that the client requested if a rule sets another Host field', async (t) => {
  const site = await startCachedSite(
    t,
    (request, response) => {
      if (request.method === 'GET') response.setHeader('cache-control', FRESH)
      else
        response.setHeader(
          'location',
          request.url === '/post' ? '/dir/a?x=1' : `http://${HOSTS[request.url!]}/dir/a?x=1`,
        )
      response.end(request.headers.host)
    },
    { zone: { rules: hostRules('Origin.test:8080') } },
  )
  const zone = site.zones.current.zones[0]!.id
  const purges = [
    { urls: storedUrls('example.test/dir/a?x=1') },
    { hosts: ['example.test'] },
    { prefixes: ['example.test/dir'] },
  ]
  const others = [
    { urls: storedUrls('origin.test/dir/a?x=1') },
    { urls: storedUrls('www.example.test/dir/a?x=1') },
    { hosts: ['origin.test', 'www.example.test'] },
    { prefixes: ['origin.test/dir', 'www.example.test/'] },
  ]
  const stored = async () => {
    t.match(await site.get('/dir/a?x=1', { host: 'EXAMPLE.test:80' }), { body: 'Origin.test:8080' })
    t.match(await site.get('/dir/a?x=1'), { cache: 'HIT' })
  }
  for (const purge of purges) {
    await stored()
    for (const other of others) site.cache.purge(zone, other, { kind: 'files', version: 1 })
    t.match(await site.get('/dir/a?x=1'), { cache: 'HIT' })
    site.cache.purge(zone, purge, { kind: 'files', version: 1 })
    t.match(await site.get('/dir/a?x=1'), { cache: 'MISS' }, JSON.stringify(purge))
  }
  for (const [target, cache] of [
    ['/dir/a?x=1', 'MISS'],
    ['/post', 'MISS'],
    ['/own', 'MISS'],
    ['/visitor', 'MISS'],
    ['/other', 'HIT'],
  ] as const) {
    await stored()
    await site.get(target, {}, 'POST')
    t.match(await site.get('/dir/a?x=1'), { cache }, `POST ${target}`)
  }
})
