/** A daemon, its origin and destinations, and clients of every kind that write down what was confirmed. */
import { createServer, get, Agent } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { finding, instance, ndjson, policy, webhook } from '../control/webhooks/helper.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, ZONE, type Daemon, type Owner } from '../e2e/daemon.js'
import { call, uploadScript } from '../e2e/worker-client.js'
import { CA_FILE } from '../helpers/tls.js'
import { findWorkerd } from '../../src/workers/runtime/binary.js'
import { holds, Sinks } from './sinks.js'

/** The minimum of `max_upload_records`: each request is a batch. */
const RECORDS = 1000
const VALUES = 50
const SCRIPTS = 4
const POSTURE = `/accounts/${ACCOUNT}/data-security/posture`
const SPACES = `/accounts/${ACCOUNT}/storage/kv/namespaces`
const WORKER = 'worker.example.test'
const PAGE = `<!doctype html><title>Page</title><main><h1>Page</h1>${'<p>Some <b>text</b> and <a href="/x">a link</a>.</p>'.repeat(200)}</main>`
const SECOND = 1000

interface Kind {
  /** Pause of the client between two requests. */
  readonly pauseMs: number
  readonly clients: number
  readonly send: (n: number) => Promise<void>
}

export interface SoakResult {
  readonly sent: Readonly<Record<string, number>>
  readonly failed: Readonly<Record<string, number>>
  readonly lost: Readonly<Record<string, number>>
}

export class SoakTraffic {
  readonly daemon: Daemon
  /** Times of the requests to the proxy. */
  times: { readonly at: number; readonly ms: number }[] = []
  readonly #sinks: Sinks
  readonly #config: object
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64, timeout: 2000 })
  readonly #space: string
  readonly #kinds: Readonly<Record<string, Kind>>
  readonly #sent: Record<string, number> = {}
  readonly #failed: Record<string, number> = {}
  readonly #records = new Set<string>()
  readonly #findings = new Set<string>()
  readonly #values = new Map<string, string>()
  #serial = 0
  #working: Promise<void>[] = []
  #isOver = false

  private constructor(daemon: Daemon, sinks: Sinks, config: object, space: string) {
    this.daemon = daemon
    this.#sinks = sinks
    this.#config = config
    this.#space = space
    const kinds: Record<string, Kind> = {
      pages: { pauseMs: 20, clients: 4, send: async () => await this.#get('/page') },
      'pages in Markdown': {
        pauseMs: 50,
        clients: 2,
        send: async (n) => await this.#get(`/md-${n}`, { accept: 'text/markdown' }, /^---|^# /m),
      },
      'cached responses': { pauseMs: 20, clients: 2, send: async (n) => await this.#get(`/${n % 200}.css`) },
      'blocked requests': {
        pauseMs: 50,
        clients: 1,
        send: async () => await this.#get('/blocked', {}, undefined, 403),
      },
      'records by API': { pauseMs: SECOND, clients: 1, send: async () => await this.#postRecords() },
      findings: { pauseMs: SECOND / 2, clients: 1, send: async () => await this.#postFinding() },
      'values of KV': { pauseMs: SECOND / 5, clients: 1, send: async (n) => await this.#putValue(n) },
      purges: { pauseMs: 2 * SECOND, clients: 1, send: async () => await this.#purge() },
      uploads: { pauseMs: 5 * SECOND, clients: 1, send: async (n) => await this.#upload(n) },
      reloads: { pauseMs: 15 * SECOND, clients: 1, send: async () => await this.daemon.reload(this.#config) },
    }
    if (findWorkerd() !== undefined)
      kinds['requests to a Worker'] = {
        pauseMs: 50,
        clients: 1,
        send: async () => await this.#get('/', { host: WORKER }, /hello/),
      }
    this.#kinds = kinds
  }

  static async start(owner: Owner, folder: string): Promise<SoakTraffic> {
    const sinks = await Sinks.start(owner)
    const origin = createServer((request, response) => {
      const isAsset = request.url?.endsWith('.css') === true
      response.writeHead(200, {
        'content-type': isAsset ? 'text/css' : 'text/html; charset=utf-8',
        'cache-control': isAsset ? 'max-age=60' : 'no-store',
      })
      response.end(isAsset ? `/* ${request.url} */`.repeat(100) : PAGE)
    })
    await new Promise<void>((resolve) => origin.listen(0, '127.0.0.1', resolve))
    owner.teardown(() => {
      origin.closeAllConnections()
      origin.close()
    })
    const url = `http://127.0.0.1:${(origin.address() as AddressInfo).port}`
    const zone = { id: ZONE, account: ACCOUNT, name: 'example.test', origin: url }
    const config = configuration(url, {
      zones: [{ ...zone, settings: { content_converter: 'on' } }],
      egress: {
        allow_cidrs: [`127.0.0.1/32:${sinks.hooks.port}`, `127.0.0.1/32:${sinks.logsPort}`],
        ca_file: CA_FILE,
        resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
      },
      logpush: { destinations: { allow_plain_http: true } },
      control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
    })
    const daemon = await startDaemon(owner, config, folder)
    return new SoakTraffic(daemon, sinks, config, await prepared(daemon, sinks))
  }

  /** Sends one request of each kind. */
  async once(): Promise<void> {
    for (const name of Object.keys(this.#kinds)) await this.#send(name)
    const failed = Object.entries(this.#failed).filter(([, count]) => count > 0)
    if (failed.length > 0) throw new Error(`failed before the traffic: ${failed.map(([name]) => name).join(', ')}`)
  }

  /** Begins to send, until `end`. */
  begin(): void {
    const client = async (name: string, pauseMs: number) => {
      while (!this.#isOver) {
        await this.#send(name)
        await wait(pauseMs)
      }
    }
    for (const [name, { clients, pauseMs }] of Object.entries(this.#kinds))
      for (let n = 0; n < clients; n++) this.#working.push(client(name, pauseMs))
  }

  forgetTimes(): void {
    this.times = []
  }

  /** Ends the traffic, waits for everything that was confirmed, and counts. */
  async end(): Promise<SoakResult> {
    this.#isOver = true
    await Promise.all(this.#working)
    this.#agent.destroy()
    const missing = (wanted: Iterable<string>, found: { has(id: string): boolean }) =>
      [...wanted].filter((id) => !found.has(id)).length
    const { rays, findings } = this.#sinks
    const last = performance.now() + 60 * SECOND
    while (missing(this.#records, rays) + missing(this.#findings, findings) > 0 && performance.now() < last)
      await wait(100)
    let lostValues = 0
    for (const [key, value] of this.#values) {
      const { text } = await this.#call('GET', `${SPACES}/${this.#space}/values/${key}`)
      if (text !== value) lostValues++
    }
    return {
      sent: this.#sent,
      failed: this.#failed,
      lost: {
        'records by API': missing(this.#records, rays),
        findings: missing(this.#findings, findings),
        'values of KV': lostValues,
      },
    }
  }

  async #send(name: string): Promise<void> {
    const n = this.#serial++
    this.#sent[name] = (this.#sent[name] ?? 0) + 1
    this.#failed[name] ??= 0
    try {
      await this.#kinds[name]!.send(n)
    } catch (error) {
      this.#failed[name]++
      console.error(`${name}: ${String(error)}`)
    }
  }

  async #get(path: string, headers: Record<string, string> = {}, wanted?: RegExp, status = 200): Promise<void> {
    const at = performance.now()
    const { port } = new URL(this.daemon.proxy)
    const [found, text] = await new Promise<[number | undefined, string]>((resolve, reject) => {
      get({ port, path, agent: this.#agent, headers: { host: 'example.test', ...headers } }, (response) => {
        let body = ''
        response.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')))
        response.on('error', reject)
        response.on('end', () => resolve([response.statusCode, body]))
      }).on('error', reject)
    })
    this.times.push({ at, ms: performance.now() - at })
    if (found !== status || (wanted && !wanted.test(text))) throw new Error(`${path}: ${found} ${text.slice(0, 100)}`)
  }

  async #call(method: string, path: string, body?: string, status = 200): Promise<{ text: string }> {
    return await called(this.daemon, method, path, body, status)
  }

  async #postRecords(): Promise<void> {
    const from = this.#serial
    this.#serial += RECORDS
    const rays = Array.from({ length: RECORDS }, (_, n) => `r${from + n}`)
    const lines = rays.map((RayID) => JSON.stringify({ RayID })).join('\n')
    await this.#call('POST', `/zones/${ZONE}/edged/records/http_requests`, lines, 202)
    for (const ray of rays) this.#records.add(ray)
  }

  async #postFinding(): Promise<void> {
    const id = `i${this.#serial++}`
    await this.#call('POST', `/accounts/${ACCOUNT}/edged/findings`, ndjson(finding(`f${id}`, [instance(id)])), 202)
    this.#findings.add(id)
    await holds(() => this.#sinks.findings.has(id) || this.#isOver)
  }

  async #putValue(n: number): Promise<void> {
    const key = `k${n % VALUES}`
    await this.#call('PUT', `${SPACES}/${this.#space}/values/${key}`, `value ${n}`)
    this.#values.set(key, `value ${n}`)
  }

  async #purge(): Promise<void> {
    await this.#call('POST', `/zones/${ZONE}/purge_cache`, JSON.stringify({ purge_everything: true }))
  }

  async #upload(n: number): Promise<void> {
    const code = `export default { fetch: () => new Response('hello ${n}') }`
    const { status } = await uploadScript(this.daemon, `s${n % SCRIPTS}`, DATED, { 'main.js': code })
    if (status !== 200) throw new Error(`upload: ${status}`)
  }
}

const DATED = { compatibility_date: '2026-01-01' }

/** Creates a job for uploads, a policy, rules, a Worker and a namespace. Returns the id of the namespace. */
async function prepared(daemon: Daemon, sinks: Sinks): Promise<string> {
  const made = async (method: string, path: string, body: object): Promise<string> => {
    const { text } = await called(daemon, method, path, JSON.stringify(body), 200, 201)
    return (JSON.parse(text) as { result: { id: string } }).result.id
  }
  await made('POST', `/zones/${ZONE}/logpush/jobs`, {
    dataset: 'http_requests',
    destination_conf: `http://127.0.0.1:${sinks.logsPort}/logs`,
    enabled: true,
    max_upload_records: RECORDS,
    output_options: { field_names: ['RayID'] },
  })
  const hook = await made('POST', `${POSTURE}/webhooks`, webhook({ destination_url: sinks.hooks.url() }))
  await made('POST', `${POSTURE}/policies`, policy([hook]))
  const rules = [{ action: 'block', expression: 'http.request.uri.path eq "/blocked"' }]
  await made('PUT', `/zones/${ZONE}/rulesets/phases/http_request_firewall_custom/entrypoint`, { rules })
  const code = `export default { fetch: () => new Response('hello') }`
  await uploadScript(daemon, 'hello', DATED, { 'main.js': code })
  const domain = { hostname: WORKER, service: 'hello', zone_id: ZONE, environment: 'production' }
  const { status } = await call(daemon, 'PUT', '/domains', domain)
  if (status !== 200) throw new Error(`domain: ${status}`)
  return await made('POST', SPACES, { title: 'soak' })
}

async function called(
  { control }: Daemon,
  method: string,
  path: string,
  body: string | undefined,
  ...wanted: number[]
): Promise<{ text: string }> {
  const send = async () =>
    await fetch(control + path, {
      method,
      headers: {
        authorization: `Bearer ${TOKEN}`,
        'content-type': path.includes('/edged/') ? 'application/x-ndjson' : 'application/json',
      },
      ...(body !== undefined && { body }),
    })
  // An idle connection may be closed by the server while a request is sent on it: that request is sent again.
  const response = await send().catch(send)
  const text = await response.text()
  if (!wanted.includes(response.status)) throw new Error(`${method} ${path}: ${response.status} ${text.slice(0, 300)}`)
  return { text }
}
