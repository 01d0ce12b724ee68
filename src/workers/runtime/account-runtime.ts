import { mkdir } from 'node:fs/promises'
import { request as httpRequest, type Server } from 'node:http'
import { join } from 'node:path'
import { D1_DATABASES } from '../../core/model/storage.js'
import {
  WORKER_NAMESPACES,
  WORKER_SCRIPTS,
  WORKER_VERSIONS,
  type StoredNamespace,
  type StoredScript,
  type StoredVersion,
} from '../../core/model/worker.js'
import type { Scope } from '../../core/scope.js'
import { CONTROL_SOCKET, D1_SOCKET, runtimeConfig } from './config.js'
import { DataLocks } from './data-locks.js'
import { HyperdriveTunnels } from './hyperdrive.js'
import { PeerRelays } from './peer-relays.js'
import { DATABASES, Placement, STATELESS } from './placement.js'
import { PEER_SOCKET } from './process.js'
import { serveResources } from './resource-server.js'
import type { ClosableServer, RuntimeDeps } from './runtime-deps.js'
import { Shard, type RuntimeEntry, type ShardPlan } from './shard.js'
import { storeSecret } from './store-secret.js'
import { DATABASE_HEADER, type RunnableScript, type RuntimePaths } from './types.js'
import { WorkerCalls } from './worker-calls.js'

/** Connections of a process that wait to be accepted. A full list fails calls of scripts. */
const BACKLOG = 4096
/** Concurrent calls from one process to another if calls also lead back. */
const MAX_CALLS_IN_CIRCLE = 1024

/** A script that can run, and its process. */
interface Placed {
  readonly script: StoredScript
  readonly shard: string
  readonly primary: StoredVersion
  readonly versions: readonly StoredVersion[]
  /** Namespaces of the classes that run. */
  readonly namespaces: readonly StoredNamespace[]
}

export interface AccountOptions {
  readonly scope: Scope
  /** For sockets; its path must be short. */
  readonly folder: string
  readonly newestDate: string | undefined
  /** Scripts were killed because of a limit. */
  readonly strike: (scripts: readonly string[], reason: string) => void
  /** Whether calls of the script are rejected now. */
  readonly isQuarantined: (script: string) => boolean
}

/**
 * The processes of one account: one for all scripts without data, one for each script that owns Durable Objects, and one for
 * D1 databases. Only those with data stop before their successors start, so an upload pauses no other script.
 */
export class AccountRuntime {
  readonly #deps: RuntimeDeps
  readonly #options: AccountOptions
  readonly #paths: RuntimePaths
  readonly #servers: readonly ClosableServer[]
  readonly #tunnels: HyperdriveTunnels
  readonly #relays: PeerRelays
  readonly #calls = new WorkerCalls(MAX_CALLS_IN_CIRCLE)
  readonly #locks = new DataLocks()
  readonly #placement = new Placement()
  readonly #shards = new Map<string, Shard>()
  /** Times of the last kills because of a limit, by shard. */
  readonly #cuts = new Map<string, number>()
  #placed: ReadonlyMap<string, Placed> = new Map()

  private constructor(
    deps: RuntimeDeps,
    options: AccountOptions,
    { paths, servers }: { readonly paths: RuntimePaths; readonly servers: readonly ClosableServer[] },
  ) {
    const { scope, folder } = options
    this.#deps = deps
    this.#options = options
    this.#paths = paths
    this.#servers = servers
    this.#tunnels = new HyperdriveTunnels(deps, scope, folder)
    this.#relays = new PeerRelays({
      folder,
      accountId: scope.id,
      log: deps.log,
      calls: this.#calls,
      enter: (from, to) => this.#enterPeer(from, to),
    })
  }

  static async open(deps: RuntimeDeps, options: AccountOptions): Promise<AccountRuntime> {
    const { scope, folder } = options
    await mkdir(folder, { mode: 0o700 })
    const objects = join(deps.objects, scope.id)
    await mkdir(objects, { recursive: true, mode: 0o700 })
    const paths = { resources: join(folder, 'r'), outbound: join(folder, 'o'), objects }
    const resources = closable(serveResources(deps.resources, scope, deps.log))
    const outbound = deps.outbound(scope)
    await Promise.all([listen(resources.server, paths.resources), listen(outbound.server, paths.outbound)])
    const opened = new AccountRuntime(deps, options, { paths, servers: [resources, outbound] })
    opened.#place()
    return opened
  }

  /** Resolves when the processes run what is stored now. */
  async applied(): Promise<void> {
    this.#place()
    if (this.#databases().size > 0) this.#shard(DATABASES)
    for (const { shard } of this.#placed.values()) this.#shard(shard)
    await Promise.all([...this.#shards.values()].map(async (shard) => await shard.apply()))
  }

  /** Why the deployed script does not run. Undefined if it runs. */
  failure(script: string): string | undefined {
    return this.#shards.get(this.#shardOf(script))?.failure(script)
  }

  /** Reserves a request of a version of a script. */
  enter(version: string): RuntimeEntry | Promise<RuntimeEntry> {
    for (const shard of this.#shards.values()) if (shard.runs(version)) return shard.enter(version)
    const { store } = this.#deps
    const script = store.get(WORKER_VERSIONS, this.#options.scope, version)?.value.script ?? ''
    return this.#shard(this.#shardOf(script)).enter(version)
  }

  /** Calls the `scheduled` or `queue` handler of a script. */
  async call(target: string, type: 'scheduled' | 'queue', event: object): Promise<unknown> {
    const entry = await this.#shard(this.#shardOf(target)).enter(CONTROL_SOCKET, target)
    return await request(entry, { path: '/', body: JSON.stringify({ target, type, event }) })
  }

  /** Sends a request to a D1 database and returns its JSON. */
  async query(database: string, path: string, body: string): Promise<unknown> {
    const entry = await this.#shard(DATABASES).enter(D1_SOCKET)
    return await request(entry, { path, body, headers: { [DATABASE_HEADER]: database } })
  }

  async close(): Promise<void> {
    await Promise.all([...this.#shards.values()].map(async (shard) => await shard.close()))
    this.#relays.close()
    this.#tunnels.close()
    for (const server of this.#servers) server.close()
  }

  /** Reserves a call from one process to another. */
  #enterPeer(from: string, to: string): RuntimeEntry | Promise<RuntimeEntry> {
    // Processes with data run one script each.
    for (const [script, { shard }] of this.#placed)
      if (shard === to && to !== STATELESS && this.#options.isQuarantined(script))
        throw new Error(`the script ${script} exceeded limits several times`)
    return this.#shard(to).enterPeer(from)
  }

  #shardOf(script: string): string {
    return this.#placed.get(script)?.shard ?? STATELESS
  }

  #shard(name: string): Shard {
    const known = this.#shards.get(name)
    if (known) return known
    const { binary, clock, log, repository, maxStallMs } = this.#deps
    const { scope, folder, strike } = this.#options
    const shard = new Shard(
      {
        binary,
        folder: join(folder, name),
        clock,
        log,
        accountId: scope.id,
        locks: this.#locks,
        otherWasCut: (since) => [...this.#cuts].some(([other, at]) => other !== name && at >= since),
        reaches: (other) => this.#calls.reaches(name, other),
        plan: (failed) => this.#plan(name, failed),
        readModule: async (module) => await repository.readModule(module),
        maxStallMs,
      },
      (scripts, reason) => {
        this.#cuts.set(name, clock.monotonic())
        strike(scripts, reason)
      },
    )
    this.#shards.set(name, shard)
    return shard
  }

  #databases(): ReadonlySet<string> {
    return new Set(this.#deps.store.list(D1_DATABASES, this.#options.scope).map(({ id }) => id))
  }

  /** Reads which scripts run, and decides where. */
  #place(): void {
    const { store, repository } = this.#deps
    const { scope } = this.#options
    const namespaces = store.list(WORKER_NAMESPACES, scope).map(({ value }) => value)
    const found = store.list(WORKER_SCRIPTS, scope).flatMap(({ value: script }) => {
      const deployment = repository.readDeployment(scope, script)
      const versions = (deployment?.versions ?? []).flatMap(({ version_id: id }) => {
        const version = store.get(WORKER_VERSIONS, scope, id)?.value
        return version?.main === undefined || version.format === 'python' ? [] : [version]
      })
      const primary = versions.toSorted((a, b) => b.number - a.number)[0]
      if (!primary) return []
      const exported = new Set(primary.named.map(({ name }) => name))
      const running = namespaces.filter((one) => one.script === script.name && exported.has(one.class))
      return [{ script, primary, versions, namespaces: running }]
    })
    const owners = found.filter((one) => one.namespaces.length > 0).map(({ script }) => script.name)
    const places = this.#placement.place(
      found.map(({ script }) => script.name),
      new Set(owners),
    )
    this.#placed = new Map(
      found.map((one) => [one.script.name, { ...one, shard: places.get(one.script.name) ?? STATELESS }]),
    )
  }

  /** What a process has to run, without the scripts in `failed`. Undefined: nothing. */
  #plan(shard: string, failed: ReadonlyMap<string, string>): ShardPlan | undefined {
    const databases = this.#databases()
    const common = { paths: this.#paths, newestDate: this.#options.newestDate }
    if (shard === DATABASES) {
      if (databases.size === 0) return undefined
      const config = runtimeConfig({ ...common, scripts: [], databases: { here: true } })
      const sockets = [D1_SOCKET, CONTROL_SOCKET, PEER_SOCKET].map((name) => [name, ''] as const)
      return { config, owns: ['d1'], scripts: new Map(sockets) }
    }
    const all = [...this.#placed.values()]
    const own = all.filter((one) => one.shard === shard && !failed.has(one.script.name))
    if (own.length === 0) return undefined
    const config = runtimeConfig({
      ...common,
      scripts: own.map((one) => this.#runnable(one)),
      remote: all
        .filter((one) => one.shard !== shard)
        .map(({ script: { name }, shard: to, namespaces }) => ({
          name,
          namespaces,
          peer: () => this.#relays.path(shard, to),
        })),
      databases: { ids: databases, peer: () => this.#relays.path(shard, DATABASES) },
      secret: (storeId, name) => storeSecret(this.#deps, this.#options.scope, [storeId, name]),
      database: (id) => this.#tunnels.target(id),
    })
    const [first] = own
    const sole = own.length === 1 && first ? first.script.name : ''
    return {
      config,
      owns: own.flatMap(({ namespaces }) => namespaces.map(({ id }) => id)),
      scripts: new Map([
        ...own.flatMap(({ script, versions }) => versions.map(({ id }) => [id, script.name] as const)),
        [CONTROL_SOCKET, ''],
        [PEER_SOCKET, sole],
      ]),
    }
  }

  #runnable({ script, primary, versions, namespaces }: Placed): RunnableScript {
    const { repository, isTraced } = this.#deps
    const { scope } = this.#options
    return {
      name: script.name,
      primary: primary.id,
      versions: versions.map((version) => ({ version, bindings: repository.openBindings(scope, version) })),
      namespaces,
      traced: isTraced(scope, script),
      tailConsumers: script.tail_consumers.map(({ service }) => service),
    }
  }
}

/** Sends a POST request and returns its JSON. Rejects if the response is an error. */
async function request(
  entry: RuntimeEntry,
  { path, body, headers }: { readonly path: string; readonly body: string; readonly headers?: Record<string, string> },
): Promise<unknown> {
  try {
    return await new Promise<unknown>((resolve, reject) => {
      const options = { socketPath: entry.socket, path, method: 'POST', headers: headers ?? {}, agent: false as const }
      const sent = httpRequest(options, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('error', reject)
        response.on('end', () => {
          const text = Buffer.concat(chunks).toString('utf8')
          if (response.statusCode !== 200) reject(new Error(`the runtime responded with ${response.statusCode}`))
          else resolve(JSON.parse(text))
        })
      })
      sent.on('error', reject)
      sent.end(body)
    })
  } finally {
    entry.done()
  }
}

const closable = (server: Server): ClosableServer => ({
  server,
  close() {
    server.closeAllConnections()
    server.close()
  },
})

async function listen(server: Server, path: string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen({ path, backlog: BACKLOG }, resolve)
  })
  server.unref()
}
