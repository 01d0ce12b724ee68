/**
 * Hostile bodies for every endpoint that writes, against a whole daemon. By hand:
 *
 *     FUZZ_BODIES=20000 FUZZ_SEED=1 node test/run.mjs test/control/fuzz.test.ts
 */
import { Agent, request as httpRequest } from 'node:http'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config/load.js'
import { silentLog } from '../../src/core/log.js'
import { startDaemon } from '../../src/daemon/index.js'
import { testFolder } from '../helpers/folder.js'
import { HostileBodies, randomNumbers } from './hostile-bodies.js'
import { damagedRequest, soundRequest, type WireRequest } from './wire-shapes.js'

const BODIES = Number(process.env['FUZZ_BODIES'] ?? 1200)
const SEED = Number(process.env['FUZZ_SEED'] ?? 1)
const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const TOKEN = 'fuzz-token-0123456789abcdef0123456789'
const CONFIG = `data: ./data
log: { level: error }
proxy: { listen: "127.0.0.1:0" }
control: { listen: "127.0.0.1:0", rate_limit: { requests: 0 } }
admin: { listen: "127.0.0.1:0" }
tokens: [{ name: fuzz, token: ${TOKEN}, permissions: ["*"], accounts: ["*"], zones: ["*"] }]
accounts: [{ id: ${ACCOUNT}, name: Example }]
zones: [{ id: ${ZONE}, account: ${ACCOUNT}, name: fuzz.test, plan: enterprise, origin: demo }]`

interface Operation {
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema?: object }>> }
}
interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Readonly<Record<string, unknown>>>> }
}

t.test(`${BODIES} hostile bodies: no internal error, and an envelope each time`, { timeout: 0 }, async (t) => {
  const { api, daemon, failures } = await started(t)
  const { paths, components } = (await (await fetch(`${api}/openapi.json`)).json()) as Document
  const random = randomNumbers(SEED)
  const bodies = new HostileBodies(random, components.schemas)
  const writes = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods)
      .filter(([method]) => method !== 'get')
      .map(([method, { requestBody }]) => ({
        method: method.toUpperCase(),
        path,
        content: requestBody?.content ?? {},
      })),
  )
  /** Names and ids of what was created, by the path below which they are. */
  const known = new Map<string, string[]>()
  const codes = new Map<number, number>()
  const reached = new Set<string>()

  const shapes = new Map<string, number>()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const newest = async () => (await call(agent, 'GET', `${api}/accounts/${ACCOUNT}/logs/audit?${WINDOW}`, NOTHING)).text

  for (let n = 0; n < BODIES; n += 1) {
    const { method, path, content } = writes[n % writes.length]!
    // Deletions are rare, so that the others find something.
    if (method === 'DELETE' && random() < 0.8) continue
    const filled = path.replaceAll(/\/\{([a-z_]+)\}/g, (_all, name: string, at: number) => {
      const ids: Record<string, string> = { account_id: ACCOUNT, zone_id: ZONE }
      const made = known.get(path.slice(0, at)) ?? []
      return `/${ids[name] ?? encodeURIComponent(made.length > 0 && random() < 0.9 ? bodies.pick(made) : bodies.pick(GUESSES))}`
    })
    const [type = 'application/json', { schema = {} } = {}] = Object.entries(content)[0] ?? []
    const body = bodies.body(schema as Record<string, unknown>)
    // Endpoints without a body ignore it.
    const isDamaged = 'requestBody' in paths[path]![method.toLowerCase()]! && random() < 0.4
    const request = isDamaged ? damagedRequest(type, body, random) : soundRequest(type, body)
    // Each request more makes the test slower, so only some are compared.
    const isCompared = random() < 0.25
    const state = async () => [
      await newest(),
      'get' in paths[path]! ? (await call(agent, 'GET', api + filled, NOTHING)).text : '',
    ]
    const before = isCompared ? await state() : []
    const response = await call(agent, method, api + filled, request)
    const { status, text } = response
    codes.set(status, (codes.get(status) ?? 0) + 1)
    if (isDamaged) shapes.set(request.shape, (shapes.get(request.shape) ?? 0) + 1)
    const isOk = status >= 200 && status < 300
    const what = () =>
      `${request.shape}: ${method} ${filled} ${JSON.stringify(request.headers).slice(0, 200)} ${request.bytes.toString('latin1').slice(0, 600)}: ${status} ${text.slice(0, 300)}`
    // A sender that goes away gets no response.
    const isLost = status === 0 && request.missing !== undefined
    if (status >= 500 || (!isLost && !isAnswer(response))) t.fail(what(), { seed: SEED, n, failures: failures.at(-1) })
    if (isCompared && !isOk) t.same(await state(), before, `a rejected body changes nothing: ${what()}`)
    if (!isOk) continue
    reached.add(`${method} ${path}`)
    const { result } = text === '' ? {} : (JSON.parse(text) as { result?: unknown })
    const { id, name } = (result ?? {}) as { id?: unknown; name?: unknown }
    // A name may have half a character, which no URL can have.
    for (const one of [id, name])
      if (typeof one === 'string' && Buffer.from(one).toString() === one)
        remember(path.replace(/\/\{[a-z_]+\}$/, ''), one)
  }
  agent.destroy()
  await daemon.close()
  t.same(failures, [], 'nothing was logged as an error')
  t.comment(
    `${writes.length} endpoints, ${reached.size} with success; ${JSON.stringify([...codes])}; damaged: ${JSON.stringify([...shapes])}`,
  )
  t.ok(reached.size > 20, 'many bodies fit')

  function remember(path: string, id: string): void {
    const ids = known.get(path) ?? []
    if (ids.length < 20 && !ids.includes(id)) known.set(path, [...ids, id])
  }
})

t.test('an upload whose client leaves is not logged as an error of the daemon', async (t) => {
  const { api, daemon, failures } = await started(t)
  const agent = new Agent()
  const bucket = `${api}/accounts/${ACCOUNT}/r2/buckets`
  const created = await call(agent, 'POST', bucket, soundRequest('application/json', { name: 'uploads' }))
  t.equal(created.status, 200)
  const cut = { ...soundRequest('application/octet-stream', 'text'), missing: 10 }
  t.match(await call(agent, 'PUT', `${bucket}/uploads/objects/key`, cut), { status: 400 })
  agent.destroy()
  await daemon.close()
  t.same(failures, [])
})

/** A daemon, and what it logs as errors. */
async function started(t: Test) {
  const failures: unknown[] = []
  const log = { ...silentLog, error: (fields: object) => void failures.push(fields) }
  const daemon = await startDaemon(readConfig(CONFIG, join(testFolder(t), 'fuzz.yaml'), {}), { log })
  t.teardown(() => daemon.close())
  return { daemon, failures, api: daemon.control }
}

const GUESSES = ['x', '__proto__', '%', 'content_converter', 'http_request_firewall_custom', 'app', '1'.repeat(32)]

const WINDOW = 'since=2000-01-01&before=2999-01-01&limit=1'
const NOTHING: WireRequest = { shape: '', headers: {}, bytes: Buffer.alloc(0) }

interface Answer {
  /** 0 if the connection was closed without a response. */
  readonly status: number
  readonly type: string
  readonly text: string
}

/** Sends the bytes as they are: `fetch` mends headers and framing. */
async function call(
  agent: Agent,
  method: string,
  url: string,
  { headers, bytes, missing }: WireRequest,
): Promise<Answer> {
  const isChunked = 'transfer-encoding' in headers
  const sent = httpRequest(url, {
    method,
    agent: missing === undefined ? agent : false,
    headers: {
      authorization: `Bearer ${TOKEN}`,
      ...(!isChunked && method !== 'GET' && { 'content-length': String(bytes.length + (missing ?? 0)) }),
      ...headers,
    },
  })
  return await new Promise((resolve, reject) => {
    sent.on('error', (error) =>
      missing === undefined
        ? reject(new Error(`${method} ${url} ${bytes.toString('latin1').slice(0, 600)}: ${error.message}`))
        : resolve({ status: 0, type: '', text: '' }),
    )
    sent.on('response', (response) => {
      const { statusCode: status = 0, headers: received } = response
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => void chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({ status, type: received['content-type'] ?? '', text: Buffer.concat(chunks).toString() }),
      )
    })
    if (missing === undefined) sent.end(bytes)
    else sent.write(bytes, () => sent.socket?.end())
  })
}

function isAnswer({ status, type, text }: Answer): boolean {
  const isOk = status >= 200 && status < 300
  if (status === 204) return text === ''
  if (!type.startsWith('application/json')) return isOk
  const { success, errors, messages } = JSON.parse(text) as Record<string, unknown>
  return success === isOk && Array.isArray(errors) && Array.isArray(messages) && isOk === (errors.length === 0)
}
