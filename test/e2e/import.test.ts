import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync } from 'node:fs'
import { createServer, request, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { freePort } from '../helpers/free-port.js'
import { COMPARISONS, type Asked } from '../helpers/import-requests.js'
import { fixtureFolder, importFile, type Kind } from '../helpers/imported.js'
import { startDaemon, unbuilt } from './daemon.js'

const lacks = (command: string): string | false =>
  spawnSync(command, ['-h']).error !== undefined && `${command} is not installed`

/** Fields of requests that an origin shows: the others belong to the proxy. */
const SHOWN = [
  'host',
  'accept-language',
  'x-kind',
  'x-site',
  'x-path',
  'x-only',
  'x-static',
  'x-request-kind',
  'remote-user',
]

/** A server that shows what it got. */
async function startOrigin(t: Test, name: string): Promise<number> {
  /** Requests through edged, and through the original. */
  const counts = { ours: 0, theirs: 0 }
  const respond = ({ method = '', url = '', headers }: IncomingMessage, response: ServerResponse): void => {
    if (url.startsWith('/verify')) {
      const passes = headers['x-token'] === 'ok'
      response.writeHead(passes ? 200 : 401, passes ? { 'remote-user': 'bob' } : { 'www-authenticate': 'Bearer' }).end()
      return
    }
    const [, status = '200'] = /\/status\/(\d+)/.exec(url) ?? []
    const lines = [`${name} ${method} ${url}`, ...SHOWN.map((field) => `${field}: ${String(headers[field] ?? '')}`)]
    if (url.includes('counted'))
      lines.push(`count: ${++counts[String(headers.via).includes('edged') ? 'ours' : 'theirs']}`)
    const big = url.includes('big') ? 'a { color: red }\n'.repeat(200) : ''
    const type = url.includes('.css') ? 'text/css' : 'text/plain'
    response.writeHead(Number(status), {
      'content-type': type,
      'x-origin': name,
      'x-origin-secret': 'hidden',
      ...(url === '/default' && { 'x-default': 'own' }),
    })
    response.end(status === '204' ? undefined : `${lines.join('\n')}\n${big}`)
  }
  const server = createServer(respond).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

interface Got {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

async function ask(port: number, host: string, asked: Exclude<Asked, string>): Promise<Got> {
  const { path, method = 'GET', headers = {} } = asked
  const sent = request({ host: '127.0.0.1', port, path, method, headers: { host, connection: 'close', ...headers } })
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const chunks: Buffer[] = []
  for await (const chunk of response) chunks.push(chunk as Buffer)
  return { status: response.statusCode ?? 0, headers: response.headers, body: Buffer.concat(chunks).toString('latin1') }
}

/** Header fields that are compared, on top of the status, the location and the body. */
const COMPARED = [
  'x-frame-options',
  'x-static',
  'x-uri',
  'x-origin',
  'x-origin-secret',
  'x-served-by',
  'x-default',
  'x-host',
  'x-download',
  'cache-control',
  'content-encoding',
]

/** Returns the parts of a response that have to be the same. */
function essence(
  { status, headers, body }: Got,
  host: string,
  { path, method }: Exclude<Asked, string>,
  port: number,
): object {
  const base = `http://${host}${path}`
  const location =
    headers.location === undefined ? undefined : new URL(headers.location, base).href.replace(`:${port}`, '')
  const fields = status < 400 ? Object.fromEntries(COMPARED.map((name) => [name, headers[name]])) : {}
  // Redirects have a body of their own.
  const shows = status < 300 && method !== 'HEAD' && headers['content-encoding'] === undefined
  const realm = /realm="([^"]*)"/.exec(headers['www-authenticate'] ?? '')?.[1]
  // Fixed errors of the configuration are short; pages of errors are those of each server.
  const isFixed = status >= 400 && body !== '' && body.length < 40 && method !== 'HEAD'
  // Servers have statuses of their own for the redirect of a folder to its address with a slash.
  const isFolder = [301, 307, 308].includes(status) && location === `${new URL(base).href}/`
  return {
    status: isFolder ? 'redirect of a folder' : status,
    location,
    realm,
    ...(status < 300 ? fields : {}),
    ...(shows && { body, type: typeOf(headers['content-type']) }),
    ...(isFixed && { error: body }),
  }
}

/** Types that tables of servers name in different ways. */
const SAME_TYPES: Readonly<Record<string, string>> = {
  'application/javascript': 'text/javascript',
  'application/x-trash': 'application/octet-stream',
}

function typeOf(field: string | undefined): string | undefined {
  const type = field?.split(';', 1)[0]
  return type === undefined ? undefined : (SAME_TYPES[type] ?? type)
}

/** An error without a body in the original has a page here. */
const sameErrors = (found: object, wanted: object): object => {
  const { error, ...rest } = found as { error?: string }
  return 'error' in wanted && error !== undefined ? found : rest
}

/** Starts the original server and waits until it accepts connections. */
async function startOriginal(t: Test, kind: Kind, file: string, folder: string, port: number): Promise<void> {
  mkdirSync(join(folder, 'logs'), { recursive: true })
  // Workers of nginx are another user.
  for (const path of ['public', 'app', 'other', '.']) chmodSync(join(folder, path), 0o755)
  const own = `daemon off; pid ${folder}/nginx.pid;${process.getuid?.() === 0 && !file.endsWith('sites.conf') ? ' user root;' : ''}`
  const args =
    kind === 'nginx'
      ? ['-p', folder, '-c', file, '-e', join(folder, 'logs/error.log'), '-g', own]
      : ['run', '--config', file, '--adapter', 'caddyfile']
  const child = spawn(kind, args, {
    env: { ...process.env, HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
  const ended = once(child, 'close')
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  for (;;) {
    if (child.exitCode !== null) throw new Error(`${kind} ended: ${output}`)
    const works = await ask(port, 'x.test', { path: '/' }).catch(() => undefined)
    if (works) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

let compared = 0
for (const [name, { host, requests }] of Object.entries(COMPARISONS)) {
  const [kind, config] = name.split('/') as [Kind, string]
  t.test(
    `${name} and what is imported from it respond alike`,
    { skip: unbuilt || lacks(kind), timeout: 120_000 },
    async (t) => {
      const [ORIGIN, ORIGIN2, PORT] = [await startOrigin(t, 'one'), await startOrigin(t, 'two'), await freePort()]
      const folder = fixtureFolder(t, kind, { ORIGIN, ORIGIN2, PORT })
      const file = join(folder, config)
      const { yaml, lines } = importFile(kind, file)
      await startOriginal(t, kind, file, folder, PORT)
      const { proxy = {}, ...rest } = parse(yaml) as { proxy?: object }
      const own = join(folder, 'edged')
      mkdirSync(own)
      const daemon = await startDaemon(t, { ...rest, proxy: { ...proxy, listen: '127.0.0.1:0' } }, own)
      const port = Number(new URL(daemon.proxy).port)
      for (const asked of requests.map((each) => (typeof each === 'string' ? { path: each } : each))) {
        const at = asked.host ?? host
        const [theirs, ours] = [await ask(PORT, at, asked), await ask(port, at, asked)]
        const what = `${asked.method ?? 'GET'} ${at}${asked.path}${asked.headers ? ` ${JSON.stringify(asked.headers)}` : ''}`
        const [wanted, found] = [essence(theirs, at, asked, PORT), essence(ours, at, asked, port)]
        if (asked.named === undefined) t.strictSame(sameErrors(found, wanted), wanted, what)
        else t.match(lines.join('\n'), asked.named, `${what} is named`)
        compared++
      }
    },
  )
}

t.test('there are enough requests', async (t) => {
  const all = Object.values(COMPARISONS).reduce((sum, { requests }) => sum + requests.length, 0)
  t.ok(all >= 400, `${all} requests`)
  t.comment(`${compared} compared`)
})
