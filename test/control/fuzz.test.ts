/**
 * Hostile bodies for every endpoint that writes, against a whole daemon. By hand:
 *
 *     FUZZ_BODIES=20000 FUZZ_SEED=1 node test/run.mjs test/control/fuzz.test.ts
 */
import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../../src/config/load.js'
import { silentLog } from '../../src/core/log.js'
import { startDaemon } from '../../src/daemon/index.js'
import { testFolder } from '../helpers/folder.js'
import { HostileBodies, randomNumbers } from './hostile-bodies.js'

const BODIES = Number(process.env['FUZZ_BODIES'] ?? 1500)
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
  const failures: unknown[] = []
  const log = { ...silentLog, error: (fields: object) => void failures.push(fields) }
  const daemon = await startDaemon(readConfig(CONFIG, join(testFolder(t), 'fuzz.yaml'), {}), { log })
  t.teardown(() => daemon.close())
  const api = daemon.control
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
    const response = await send(api + filled, method, type, body)
    const text = await response.text()
    codes.set(response.status, (codes.get(response.status) ?? 0) + 1)
    const what = () =>
      `${method} ${path} ${JSON.stringify(body).slice(0, 600)}: ${response.status} ${text.slice(0, 300)}`
    if (response.status >= 500 || !isAnswer(response, text))
      t.fail(what(), { seed: SEED, n, failures: failures.at(-1) })
    if (!response.ok) continue
    reached.add(`${method} ${path}`)
    const { result } = text === '' ? {} : (JSON.parse(text) as { result?: unknown })
    const { id, name } = (result ?? {}) as { id?: unknown; name?: unknown }
    // A name may have half a character, which no URL can have.
    for (const one of [id, name])
      if (typeof one === 'string' && Buffer.from(one).toString() === one)
        remember(path.replace(/\/\{[a-z_]+\}$/, ''), one)
  }
  t.same(failures, [], 'nothing was logged as an error')
  t.comment(`${writes.length} endpoints, ${reached.size} with success; ${JSON.stringify([...codes])}`)
  t.ok(reached.size > 20, 'many bodies fit')

  function remember(path: string, id: string): void {
    const ids = known.get(path) ?? []
    if (ids.length < 20 && !ids.includes(id)) known.set(path, [...ids, id])
  }
})

const GUESSES = ['x', '__proto__', '%', 'content_converter', 'http_request_firewall_custom', 'app', '1'.repeat(32)]

async function send(url: string, method: string, type: string, body: unknown): Promise<Response> {
  const headers = { authorization: `Bearer ${TOKEN}` }
  if (type !== 'multipart/form-data')
    return await fetch(url, {
      method,
      headers: { ...headers, 'content-type': type },
      body: JSON.stringify(body) ?? null,
    })
  const form = new FormData()
  const members = typeof body === 'object' && body !== null ? body : { metadata: body }
  for (const [name, value] of Object.entries(members)) form.append(name, JSON.stringify(value))
  form.append('main.js', new File(['export default {}'], 'main.js', { type: 'application/javascript+module' }))
  return await fetch(url, { method, headers, body: form })
}

function isAnswer(response: Response, text: string): boolean {
  if (response.status === 204) return text === ''
  if (response.headers.get('content-type')?.startsWith('application/json') !== true) return response.ok
  const { success, errors, messages } = JSON.parse(text) as Record<string, unknown>
  return (
    success === response.ok && Array.isArray(errors) && Array.isArray(messages) && response.ok === (errors.length === 0)
  )
}
