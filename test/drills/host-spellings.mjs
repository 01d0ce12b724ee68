// One client spells the host of a page in many ways. For each spelling: what the origin got, and what another client then
// gets for the same page from the cache.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { connect as connectHttp2 } from 'node:http2'
import { connect } from 'node:net'
import { connect as connectTls } from 'node:tls'
import { drillFolder, HOST, startDaemon } from './daemon.mjs'

const DEFAULT_PORTS = { HTTP: 80, HTTPS: 443, 'HTTP/2': 443 }
const CAPITALS = HOST.toUpperCase()

/** Spellings for a default port and that of the other scheme: base of an absolute target, Host field, what the origin gets. */
const SPELLINGS = {
  capitals: () => ['', CAPITALS, HOST],
  'default port': (port) => ['', `${HOST}:${port}`, HOST],
  'port with zeros': (port) => ['', `${HOST}:00${port}`, HOST],
  'port of the other scheme': (_, other) => ['', `${HOST}:${other}`, `${HOST}:${other}`],
  'trailing dot': () => ['', `${HOST}.`, HOST],
  'trailing dot and port': (port) => ['', `${CAPITALS}.:${port}`, HOST],
  'absolute target': (port, _, scheme) => [`${scheme}://${CAPITALS}.:${port}`, 'other.test', HOST],
  'absolute target, port in Host': (_, other, scheme) => [`${scheme}://${HOST}`, `${HOST}:${other}`, HOST],
}

/** Returns the rows of all spellings, or of those whose title contains a text, and the titles of those that failed. */
export async function hostSpellings(only) {
  const cases = Object.entries(DEFAULT_PORTS).flatMap(([over, port]) =>
    Object.entries(SPELLINGS)
      // HTTP/2 has a Host field beside `:authority` instead of absolute targets.
      .map(([spelling, create]) => ({ over, spelling, sent: create(port, port === 80 ? 443 : 80, schemeOf(over)) }))
      .filter(({ spelling, sent: [target] }) => isAsked(over, spelling, only) && (over !== 'HTTP/2' || target === '')),
  )
  if (cases.length === 0) return { rows: [], failures: [] }
  const origin = createServer(respond).listen(0, '127.0.0.1')
  await once(origin, 'listening')
  const daemon = await startDaemon(drillFolder(), `http://127.0.0.1:${origin.address().port}`)
  const rows = []
  const failures = []
  try {
    for (const [number, { over, spelling, sent }] of cases.entries()) {
      const row = await measure(daemon, over, `/${number}.css`, sent)
      rows.push({ over, spelling, ...row })
      if (row.failed > 0) failures.push(titleOf(over, spelling))
    }
  } finally {
    daemon.child.kill('SIGKILL')
    origin.closeAllConnections()
    origin.close()
  }
  return { rows, failures }
}

const titleOf = (over, spelling) => `${over}, spelling of Host, ${spelling}`
const isAsked = (over, spelling, only) => titleOf(over, spelling).includes(only)
const schemeOf = (over) => (over === 'HTTP' ? 'http' : 'https')

/** The origin of a site that builds links from the host: a redirect that the cache stores. */
function respond({ headers, url }, response) {
  const { host } = headers
  response.writeHead(301, {
    'cache-control': 'max-age=600',
    'content-type': 'text/css',
    location: `http://${host}/new${url}`,
    'x-seen': `${host} ${headers['x-forwarded-host']}`,
  })
  response.end()
}

/** Sends the page's first request in a spelling, then that of another client, and counts what is wrong in the responses. */
async function measure(daemon, over, path, [target, host, normal]) {
  const spelt = await get(daemon, over, path, target, host)
  const other = await get(daemon, over, path, '', HOST)
  const expected = [
    [spelt.status, '301'],
    [spelt.seen, `${normal} ${normal}`],
    [other.status, '301'],
    [other.location, `http://${HOST}/new${path}`],
    [other.cache, normal === HOST ? 'HIT' : 'MISS'],
  ]
  const failed = expected.filter(([got, wanted]) => got !== wanted).length
  return { 'the origin got': spelt.seen, 'another client got': `${other.cache} ${other.location}`, failed }
}

async function get(daemon, over, path, target, host) {
  const fields =
    over === 'HTTP/2' ? await overHttp2(daemon, path, host) : await overHttp1(daemon, over, path, target, host)
  const { location, 'cf-cache-status': cache, 'x-seen': seen } = fields
  return { status: fields.status, location, cache, seen }
}

async function overHttp1(daemon, over, path, target, host) {
  const isPlain = over === 'HTTP'
  const options = { port: Number(new URL(isPlain ? daemon.proxy : daemon.proxyTls).port), host: '127.0.0.1' }
  const socket = isPlain ? connect(options) : connectTls({ ...options, servername: HOST, rejectUnauthorized: false })
  socket.write(`GET ${target}${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`)
  let text = ''
  for await (const chunk of socket) text += chunk.toString('latin1')
  const [line, ...lines] = text.slice(0, text.indexOf('\r\n\r\n')).split('\r\n')
  const fields = lines.map((field) => [
    field.slice(0, field.indexOf(':')).toLowerCase(),
    field.slice(field.indexOf(':') + 2),
  ])
  return { status: line.split(' ')[1], ...Object.fromEntries(fields) }
}

/** Sends `:authority` in a spelling, and the plain host beside it if both name one host. */
async function overHttp2({ proxyTls }, path, authority) {
  const session = connectHttp2(proxyTls, { servername: HOST, rejectUnauthorized: false })
  try {
    const isSame = new URL(`https://${authority}`).port === ''
    const stream = session.request({ ':path': path, ':authority': authority, ...(isSame && { host: HOST }) })
    const [fields] = await once(stream, 'response')
    stream.resume()
    await once(stream, 'close')
    return { ...fields, status: String(fields[':status']) }
  } finally {
    session.destroy()
  }
}
