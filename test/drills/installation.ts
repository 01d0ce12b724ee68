/** Two daemons with one Redis and one nats-server, and clients that write down everything that was confirmed. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { finding, instance, ndjson, policy, webhook } from '../control/webhooks/helper.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, ZONE, type Daemon, type Owner } from '../e2e/daemon.js'
import { uploadScript } from '../e2e/worker-client.js'
import { natsServer, type NatsServer } from '../helpers/nats.js'
import { redisServer, type RedisServer } from '../helpers/redis.js'
import { CA_FILE } from '../helpers/tls.js'
import { holds, Sinks } from './sinks.js'

/** What can be killed. */
export const VICTIMS = ['daemon one', 'Redis', 'daemon two', 'NATS'] as const
export type Victim = (typeof VICTIMS)[number]

/** The minimum of `max_upload_records`: each request is a batch. */
const RECORDS = 1000
/** Batches of the job that can be on their way. */
export const IN_FLIGHT = 4
const PAUSE_MS = 250
/** Time that a server is away. */
const AWAY_MS = 1500
const POSTURE = `/accounts/${ACCOUNT}/data-security/posture`
const VALUES = `/accounts/${ACCOUNT}/storage/kv/namespaces`

/** What one kill did, in milliseconds since it. */
export interface Outcome {
  readonly killed: Victim
  /** Until an API request of each kind was confirmed. */
  readonly confirmed: number
  /** Until records that were confirmed after the kill were delivered. */
  readonly records: number
  /** The same of a finding. */
  readonly finding: number
  /** Until a purge had removed a cached page from all daemons that run. */
  readonly purged: number
}

/** What was lost or came twice, at the end. */
export interface Balance {
  readonly confirmed: Readonly<Record<string, number>>
  readonly lost: Readonly<Record<string, number>>
  readonly repeatedRecords: number
  readonly repeatedDeliveries: number
}

export class Installation {
  readonly #owner: Owner
  readonly #folder: string
  readonly #redis: RedisServer
  readonly #nats: NatsServer
  readonly #sinks: Sinks
  readonly #config: object
  #daemons: (Daemon | undefined)[] = []
  #space = ''
  #serial = 0
  #working: Promise<void>[] = []
  #stopped = false
  readonly #confirmed = {
    records: new Set<string>(),
    findings: new Set<string>(),
    values: new Map<string, string>(),
    scripts: new Set<string>(),
    purges: 0,
  }

  private constructor(owner: Owner, folder: string, redis: RedisServer, nats: NatsServer, sinks: Sinks) {
    this.#owner = owner
    this.#folder = folder
    this.#redis = redis
    this.#nats = nats
    this.#sinks = sinks
    this.#config = configuration(sinks.origin, {
      store: redis.url,
      secrets: { key: 'ab'.repeat(32) },
      egress: {
        allow_cidrs: [`127.0.0.1/32:${sinks.hooks.port}`, `127.0.0.1/32:${sinks.logsPort}`],
        ca_file: CA_FILE,
        resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
      },
      logpush: { spool: nats.url, destinations: { allow_plain_http: true } },
      control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
      workers: { runtime: 'off' },
    })
  }

  /** Starts everything in a folder, which exists, with a job, a policy and a namespace. */
  static async start(owner: Owner, folder: string): Promise<Installation> {
    for (const name of ['redis', 'nats', 'one', 'two']) mkdirSync(join(folder, name), { recursive: true })
    const redis = await redisServer(join(folder, 'redis'))
    owner.teardown(async () => await redis.kill())
    const nats = await natsServer(join(folder, 'nats'))
    owner.teardown(async () => await nats.kill())
    const sinks = await Sinks.start(owner)
    const installation = new Installation(owner, folder, redis, nats, sinks)
    await Promise.all([installation.#startDaemon(0), installation.#startDaemon(1)])
    await installation.#prepare()
    return installation
  }

  /** Begins to send records, findings, values, scripts and purges, until `finish`. */
  load(): void {
    const repeat = async (what: () => Promise<unknown>, pauseMs: number) => {
      while (!this.#stopped) {
        await what().catch(() => undefined)
        await wait(pauseMs)
      }
    }
    this.#working = [
      repeat(async () => await this.#postRecords(), PAUSE_MS),
      repeat(async () => await this.#postFinding(), PAUSE_MS),
      repeat(async () => await this.#putValue(), PAUSE_MS / 2),
      repeat(async () => await this.#putScript(), PAUSE_MS * 4),
    ]
  }

  /** Kills one thing, and starts it again after everything works without it, or after a time if nothing can. */
  async kill(killed: Victim): Promise<Outcome> {
    const at = performance.now()
    const since = () => Math.round(performance.now() - at)
    const daemon = VICTIMS.indexOf(killed) / 2
    let back: Promise<unknown> = Promise.resolve()
    if (killed === 'Redis' || killed === 'NATS') {
      const server = killed === 'Redis' ? this.#redis : this.#nats
      await server.kill()
      back = wait(AWAY_MS).then(async () => await server.start())
    } else {
      const dying = this.#daemons[daemon]!
      this.#daemons[daemon] = undefined
      dying.signal('SIGKILL')
      await dying.ended
    }
    const confirmed = async () => {
      await Promise.all([retried(async () => await this.#putValue()), retried(async () => await this.#putScript())])
      return since()
    }
    const records = async () => {
      const rays = await retried(async () => await this.#postRecords())
      await holds(() => rays.every((ray) => this.#sinks.rays.has(ray)))
      return since()
    }
    const findings = async () => {
      const id = await retried(async () => await this.#postFinding())
      await holds(() => this.#sinks.findings.has(id))
      return since()
    }
    const purged = async () => {
      await retried(async () => await this.#purge())
      return since()
    }
    const [a, b, c, d] = await Promise.all([confirmed(), records(), findings(), purged()])
    await back
    if (!this.#daemons[0] || !this.#daemons[1]) await this.#startDaemon(daemon)
    return { killed, confirmed: a, records: b, finding: c, purged: d }
  }

  /** Ends the load, waits for everything that was confirmed, and counts. */
  async finish(): Promise<Balance> {
    this.#stopped = true
    await Promise.all(this.#working)
    const { records, findings, values, scripts, purges } = this.#confirmed
    const { rays, findings: arrived, deliveries } = this.#sinks
    const missing = (wanted: Iterable<string>, found: { has(id: string): boolean }) =>
      [...wanted].filter((id) => !found.has(id)).length
    const last = performance.now() + 60_000
    while (missing(records, rays) + missing(findings, arrived) > 0 && performance.now() < last) await wait(100)
    let lostValues = 0
    const check = async (key: string, value: string, daemon: number) => {
      const { text } = await this.#call('GET', `${VALUES}/${this.#space}/values/${key}`, undefined, daemon)
      if (text !== value) lostValues++
    }
    for (const [key, value] of values) await Promise.all([check(key, value, 0), check(key, value, 1)])
    let lostScripts = 0
    for (const name of scripts) {
      const found = await this.#call('GET', `/accounts/${ACCOUNT}/workers/scripts/${name}/settings`)
      if (found.status !== 200) lostScripts++
    }
    const repeats = (counts: ReadonlyMap<string, number>) =>
      [...counts.values()].reduce((sum, count) => sum + count - 1, 0)
    return {
      confirmed: {
        records: records.size,
        findings: findings.size,
        values: values.size,
        scripts: scripts.size,
        purges,
      },
      lost: {
        records: missing(records, rays),
        findings: missing(findings, arrived),
        values: lostValues,
        scripts: lostScripts,
      },
      repeatedRecords: repeats(rays),
      repeatedDeliveries: repeats(deliveries),
    }
  }

  async #startDaemon(index: number): Promise<void> {
    const folder = join(this.#folder, index === 0 ? 'one' : 'two')
    this.#daemons[index] = await startDaemon(this.#owner, this.#config, folder)
  }

  async #prepare(): Promise<void> {
    const made = async <T>(path: string, body: object): Promise<T> => {
      const { status, text } = await this.#call('POST', path, JSON.stringify(body))
      if (status >= 300) throw new Error(`POST ${path}: ${text}`)
      return (JSON.parse(text) as { result: T }).result
    }
    await made(`/zones/${ZONE}/logpush/jobs`, {
      dataset: 'http_requests',
      destination_conf: `http://127.0.0.1:${this.#sinks.logsPort}/logs`,
      enabled: true,
      max_upload_records: RECORDS,
      edged_in_flight: IN_FLIGHT,
      output_options: { field_names: ['RayID'] },
    })
    const hook = await made<{ id: string }>(
      `${POSTURE}/webhooks`,
      webhook({ destination_url: this.#sinks.hooks.url() }),
    )
    await made(`${POSTURE}/policies`, policy([hook.id]))
    this.#space = (await made<{ id: string }>(VALUES, { title: 'drill' })).id
  }

  /** A daemon that runs; in turn if both do. */
  get #any(): Daemon {
    const running = this.#daemons.filter((daemon) => daemon !== undefined)
    return running[this.#serial++ % running.length]!
  }

  async #call(method: string, path: string, body?: string, daemon?: number): Promise<{ status: number; text: string }> {
    const { control } = daemon === undefined ? this.#any : this.#daemons[daemon]!
    const response = await fetch(control + path, {
      method,
      signal: AbortSignal.timeout(15_000),
      headers: {
        authorization: `Bearer ${TOKEN}`,
        'content-type': path.includes('/edged/') ? 'application/x-ndjson' : 'application/json',
      },
      ...(body !== undefined && { body }),
    })
    return { status: response.status, text: await response.text() }
  }

  /** Posts records. Resolves with their ids; rejects if they were not confirmed. */
  async #postRecords(): Promise<string[]> {
    const from = this.#serial
    this.#serial += RECORDS
    const rays = Array.from({ length: RECORDS }, (_, n) => `r${from + n}`)
    const lines = rays.map((RayID) => JSON.stringify({ RayID })).join('\n')
    expect(await this.#call('POST', `/zones/${ZONE}/edged/records/http_requests`, lines), 202)
    for (const ray of rays) this.#confirmed.records.add(ray)
    return rays
  }

  async #postFinding(): Promise<string> {
    const id = `i${this.#serial++}`
    const body = ndjson(finding(`f${id}`, [instance(id)]))
    expect(await this.#call('POST', `/accounts/${ACCOUNT}/edged/findings`, body), 202)
    this.#confirmed.findings.add(id)
    return id
  }

  async #putValue(): Promise<void> {
    const key = `k${this.#serial++}`
    expect(await this.#call('PUT', `${VALUES}/${this.#space}/values/${key}`, `value of ${key}`), 200)
    this.#confirmed.values.set(key, `value of ${key}`)
  }

  async #putScript(): Promise<void> {
    const name = `s${this.#serial++}`
    const code = `export default { fetch: () => new Response('${name}') }`
    const { status } = await uploadScript(this.#any, name, { compatibility_date: '2026-01-01' }, { 'main.js': code })
    expect({ status, text: '' }, 200)
    this.#confirmed.scripts.add(name)
  }

  /** Caches a page in all daemons, changes it, purges it on one, and waits until none returns the old one. */
  async #purge(): Promise<void> {
    const path = `/page-${this.#serial++}.css`
    const running = this.#daemons.filter((daemon) => daemon !== undefined)
    const versions = async () =>
      await Promise.all(running.map(async ({ proxy }) => Number(await (await fetch(proxy + path)).text())))
    await versions()
    const version = ++this.#sinks.version
    const files = [`http://127.0.0.1${path}`, ...running.map(({ proxy }) => proxy + path)]
    expect(await this.#call('POST', `/zones/${ZONE}/purge_cache`, JSON.stringify({ files })), 200)
    await holds(async () => (await versions()).every((seen) => seen >= version))
    this.#confirmed.purges++
  }
}

function expect({ status, text }: { status: number; text: string }, wanted: number): void {
  if (status !== wanted) throw new Error(`responded with ${status}: ${text}`)
}

/** Repeats what fails: a client that sends again what was not confirmed. */
async function retried<T>(work: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work()
    } catch {
      await wait(50)
    }
  }
}
