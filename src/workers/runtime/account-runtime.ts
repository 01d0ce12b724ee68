import { mkdir } from 'node:fs/promises'
import type { Server } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { messageOf } from '../../core/errors.js'
import { D1_DATABASES } from '../../core/model/storage.js'
import {
  WORKER_NAMESPACES,
  WORKER_SCRIPTS,
  WORKER_TRANSFERS,
  WORKER_VERSIONS,
  type StoredNamespace,
  type StoredScript,
  type StoredVersion,
} from '../../core/model/worker.js'
import type { Scope } from '../../core/scope.js'
import { ExceptionLog } from '../observability/exceptions.js'
import { isObserved } from '../observability/observability.js'
import { CONTROL_SOCKET, D1_SOCKET, runtimeConfig } from './config.js'
import { DataAway, type DataCall } from './data-homes.js'
import { DataLocks } from './data-locks.js'
import { request } from './entry-request.js'
import { HyperdriveTunnels } from './hyperdrive.js'
import { PeerRelays, type OpenCall, type PeerCall } from './peer-relays.js'
import { DATABASES, Placement, STATELESS } from './placement.js'
import { PEER_SOCKET } from './process.js'
import { assertResponds, DatabasesBusy, QueryLine, QueryStopped } from './query-line.js'
import { serveResources } from './resource-server.js'
import type { ClosableServer, RuntimeDeps } from './runtime-deps.js'
import { Shard, type RuntimeEntry, type ShardPlan } from './shard.js'
import { storeSecret } from './store-secret.js'
import { DATABASE_HEADER, type Cut, type RunnableScript, type RuntimePaths } from './types.js'
import { WorkerCalls } from './worker-calls.js'

/** Connections of a process that wait to be accepted. A full list fails calls of scripts. */
const BACKLOG = 4096
/** The caller of calls from other machines. */
const OTHER_MACHINE = 'x'
/** Concurrent calls from one process to another if calls also lead back. */
const MAX_CALLS_IN_CIRCLE = 1024

const STOPPED = {
  cpu: (ms: number) =>
    `the query did not end within ${ms / 1000} s (workers.max_stall) and was stopped; nothing of it is stored`,
  memory: () => 'the query used too much memory and was stopped; nothing of it is stored',
} as const

/** A script that can run, and its process. */
interface Placed {
  readonly script: StoredScript
  readonly shard: string
  readonly primary: StoredVersion
  readonly versions: readonly StoredVersion[]
  /** Namespaces of the classes that run. */
  readonly namespaces: readonly StoredNamespace[]
  /** Another machine runs it, because it has the data. */
  readonly isElsewhere: boolean
}

/** When a start or an upload takes data for this machine. */
export type Claim = 'if-its-own' | 'if-nobody-has-it'

export interface AccountOptions {
  readonly scope: Scope
  /** Folder of sockets. Its path must be short. */
  readonly folder: string
  readonly newestDate: string | undefined
  /** Scripts were killed because of a limit. */
  readonly strike: (scripts: readonly string[], reason: string) => void
  /** Whether calls of the script are rejected now. */
  readonly isQuarantined: (script: string) => boolean
}

/**
 * The processes of one account. There is one for all scripts without data, one for each script that owns Durable
 * Objects, and one for D1 databases. Only processes with data are stopped before their successors start, so an upload
 * pauses no other script.
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
  readonly #queries: QueryLine
  readonly #exceptions: ExceptionLog
  readonly #placement = new Placement()
  readonly #shards = new Map<string, Shard>()
  /** Times of the last kills because of a limit, by shard. */
  readonly #cuts = new Map<string, number>()
  #placed: ReadonlyMap<string, Placed> = new Map()
  /** Scripts that another machine runs, by the name in place of a process. */
  #elsewhere: ReadonlyMap<string, string> = new Map()
  /** Their versions. */
  #forwarded: ReadonlySet<string> = new Set()
  /** When a call to another machine failed last. */
  #lostAt = -Infinity

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
    this.#queries = new QueryLine(deps.clock)
    this.#exceptions = new ExceptionLog({
      log: deps.log,
      clock: deps.clock,
      accountId: scope.id,
      isObserved: (script) => {
        const stored = deps.store.get(WORKER_SCRIPTS, scope, script)?.value
        return stored !== undefined && isObserved(stored)
      },
    })
    this.#tunnels = new HyperdriveTunnels(deps, scope, folder)
    this.#relays = new PeerRelays({
      folder,
      accountId: scope.id,
      log: deps.log,
      calls: this.#calls,
      open: async (call) => await this.#open(call),
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

  /** Resolves when the processes of this machine run the stored state. */
  async applied(claim: Claim): Promise<void> {
    const { homes, log } = this.#deps
    const { scope } = this.#options
    if (homes && this.#hasData())
      await homes.claim(scope, claim === 'if-nobody-has-it').catch((error: unknown) => {
        log.warn({ event: 'worker_data_unclaimed', account: scope.id, error: messageOf(error) })
      })
    this.#place()
    if (this.#databases().size > 0) this.#shard(this.#isHere ? DATABASES : STATELESS)
    for (const { shard, isElsewhere } of this.#placed.values()) this.#shard(isElsewhere ? STATELESS : shard)
    await Promise.all([...this.#shards.values()].map(async (shard) => await shard.apply()))
  }

  /** Returns why the deployed script does not run. Undefined if it runs. */
  failure(script: string): string | undefined {
    return this.#shards.get(this.#shardOf(script))?.failure(script)
  }

  /** Scripts that another machine runs. */
  get elsewhere(): readonly string[] {
    return [...this.#elsewhere.values()]
  }

  /** Returns whether this machine runs a script, and not another one. */
  runsHere(script: string): boolean {
    return this.#placed.get(script)?.isElsewhere !== true
  }

  /** Reserves a request of a version of a script. */
  enter(version: string): RuntimeEntry | Promise<RuntimeEntry> {
    if (this.#forwarded.has(version)) {
      const { homes } = this.#deps
      const { scope } = this.#options
      if (homes?.isTaken(scope) === false) return this.#taken().then(() => this.enter(version))
      const reason = homes?.away(scope)
      if (reason !== undefined) throw new DataAway(reason)
    }
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

  /**
   * Sends a request to a D1 database and returns its JSON. Rejects with {@link DatabasesBusy} if others keep it waiting, and with
   * {@link QueryStopped} if it exceeds a limit.
   */
  async query(database: string, path: string, body: string): Promise<unknown> {
    return await this.#queries.run(async () => await this.#query(database, path, body))
  }

  async #query(database: string, path: string, body: string): Promise<unknown> {
    const { homes } = this.#deps
    const { scope } = this.#options
    if (homes?.isTaken(scope) === false) await this.#taken()
    const reason = this.#isHere ? undefined : homes?.away(scope)
    if (reason !== undefined) throw new DataAway(reason)
    const shard = this.#shard(this.#isHere ? DATABASES : STATELESS)
    assertResponds(shard)
    const entry = await shard.enter(D1_SOCKET)
    try {
      return await request(entry, { path, body, headers: { [DATABASE_HEADER]: database } })
    } catch (error) {
      const limit = entry.exceeded()
      if (limit) throw new QueryStopped(STOPPED[limit](this.#deps.maxStallMs()))
      const cut = await entry.cut()
      if (cut === 'script') throw new DatabasesBusy('the databases were restarted because of another query; try again')
      if (cut !== 'away') throw error
      throw new DataAway('the machine with the databases was lost during the query, which may have been made')
    }
  }

  /** Runs `work` while the processes of the account are stopped. Requests wait. */
  async paused<T>(work: () => Promise<T>): Promise<T> {
    const resumes = [...this.#shards.values()].map((shard) => shard.pause())
    try {
      return await work()
    } finally {
      for (const resume of resumes) resume()
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#shards.values()].map(async (shard) => await shard.close()))
    this.#relays.close()
    this.#tunnels.close()
    for (const server of this.#servers) server.close()
  }

  /** Receives a call from another machine. `opened` is called before its first byte. */
  async accept(client: Duplex, { script, mayStay }: DataCall, opened: () => void): Promise<void> {
    const { store } = this.#deps
    const shardOf = () => (script === undefined ? DATABASES : this.#placed.get(script)?.shard)
    const known = shardOf()
    if (known === undefined || !this.#shards.get(known)?.runs(PEER_SOCKET)) {
      // The other machine may know more than this one.
      await store.caughtUp()
      await this.applied('if-its-own')
    }
    const to = shardOf()
    if (to === undefined || !this.#isHere) throw new DataAway('this machine does not have the data')
    await this.#relays.accept(client, { from: OTHER_MACHINE, to, mayStay }, opened)
  }

  get #isHere(): boolean {
    return this.#deps.homes?.isHere(this.#options.scope) !== false
  }

  /** Returns whether the account has Durable Objects or databases. */
  #hasData(): boolean {
    return this.#databases().size > 0 || this.#deps.store.count(WORKER_NAMESPACES, this.#options.scope) > 0
  }

  /** Resolves when a machine has taken data that nobody had. */
  async #taken(): Promise<void> {
    const { homes } = this.#deps
    await homes?.claim(this.#options.scope, true)
    if (homes?.isTaken(this.#options.scope) === false) throw new DataAway('no machine has taken the data')
    await this.applied('if-its-own')
  }

  /** Opens a call from one process to another, which may be one of another machine. */
  async #open({ from, to, mayStay }: PeerCall): Promise<OpenCall> {
    const elsewhere = this.#elsewhere.get(to)
    if (elsewhere !== undefined || (to === DATABASES && !this.#isHere))
      return await this.#openElsewhere({ script: elsewhere, mayStay })
    const entry = await this.#enterPeer(from, to)
    return { peer: connect(entry.socket), done: () => entry.done() }
  }

  async #openElsewhere(call: DataCall): Promise<OpenCall> {
    const { homes, clock } = this.#deps
    const { scope } = this.#options
    try {
      if (homes?.isTaken(scope) === false) await this.#taken()
      const peer = await homes!.connect(scope, call)
      // It ends first if the call ends as it should.
      let isDone = false
      peer.once('close', () => {
        if (!isDone) this.#lostAt = clock.monotonic()
      })
      return { peer, done: () => (isDone = true) }
    } catch (error) {
      this.#lostAt = clock.monotonic()
      throw error
    }
  }

  /** Returns whether a call to another machine failed since then because that machine does not respond. */
  #wasAway(since: number): 'none' | Promise<Cut> {
    const { homes } = this.#deps
    if (!homes || this.#lostAt < since) return 'none'
    return homes.responds(this.#options.scope).then((responds) => (responds ? 'none' : 'away'))
  }

  /** Reserves a call from one process to another. */
  #enterPeer(from: string, to: string): RuntimeEntry | Promise<RuntimeEntry> {
    // Processes with data run one script each.
    for (const [script, { shard }] of this.#placed)
      if (shard === to && to !== STATELESS && this.#options.isQuarantined(script))
        throw new Error(`the script ${script} exceeded limits several times`)
    const shard = this.#shard(to)
    if (to === DATABASES) assertResponds(shard)
    return shard.enterPeer(from)
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
        exceptions: this.#exceptions,
        otherWasCut: (since) => [...this.#cuts].some(([other, at]) => other !== name && at >= since),
        wasAway: (since) => this.#wasAway(since),
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
    const isHere = this.#isHere
    const owners = found.filter((one) => one.namespaces.length > 0).map(({ script }) => script.name)
    const places = this.#placement.place(
      found.map(({ script }) => script.name),
      new Set(isHere ? owners : []),
    )
    this.#placed = new Map(
      found.map((one) => {
        const { name } = one.script
        const isElsewhere = !isHere && one.namespaces.length > 0
        const shard = isElsewhere ? this.#placement.elsewhere(name) : (places.get(name) ?? STATELESS)
        return [name, { ...one, shard, isElsewhere }]
      }),
    )
    const elsewhere = [...this.#placed.values()].filter((one) => one.isElsewhere)
    this.#elsewhere = new Map(elsewhere.map(({ script, shard }) => [shard, script.name]))
    this.#forwarded = new Set(elsewhere.flatMap(({ versions }) => versions.map(({ id }) => id)))
  }

  /** Returns the plan of a process without the scripts in `failed`. Undefined if the process has nothing to run. */
  #plan(shard: string, failed: ReadonlyMap<string, string>): ShardPlan | undefined {
    const databases = this.#databases()
    const common = { paths: this.#paths, newestDate: this.#options.newestDate }
    if (shard === DATABASES) {
      if (databases.size === 0 || !this.#isHere) return undefined
      const config = runtimeConfig({ ...common, scripts: [], databases: { here: true } })
      const sockets = [D1_SOCKET, CONTROL_SOCKET, PEER_SOCKET].map((name) => [name, ''] as const)
      return { config, owns: ['d1'], scripts: new Map(sockets) }
    }
    const all = [...this.#placed.values()]
    const own = all.filter((one) => one.shard === shard && !failed.has(one.script.name))
    const forwarded = shard === STATELESS ? all.filter((one) => one.isElsewhere) : []
    const forwardsQueries = shard === STATELESS && !this.#isHere && databases.size > 0
    if (own.length === 0 && forwarded.length === 0 && !forwardsQueries) return undefined
    const config = runtimeConfig({
      ...common,
      scripts: own.map((one) => this.#runnable(one)),
      remote: all
        .filter((one) => one.shard !== shard)
        .map(({ script: { name }, shard: to, namespaces, versions, primary, isElsewhere }) => ({
          name,
          namespaces,
          exported: primary.named,
          peer: () => this.#relays.path(shard, to),
          ...(isElsewhere && { versions: versions.map(({ id }) => id), primary: primary.id }),
        })),
      transfers: this.#deps.store.list(WORKER_TRANSFERS, this.#options.scope).map(({ value }) => value),
      databases: {
        ids: databases,
        peer: () => this.#relays.path(shard, DATABASES),
        forwarded: forwardsQueries,
      },
      secret: (storeId, name) => storeSecret(this.#deps, this.#options.scope, [storeId, name]),
      database: (id) => this.#tunnels.target(id),
    })
    const [first] = own
    const sole = own.length === 1 && first ? first.script.name : ''
    return {
      config,
      owns: own.flatMap(({ namespaces }) => namespaces.map(({ id }) => id)),
      scripts: new Map([
        ...[...own, ...forwarded].flatMap(({ script, versions }) =>
          versions.map(({ id }) => [id, script.name] as const),
        ),
        ...(forwardsQueries ? [[D1_SOCKET, ''] as const] : []),
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
      exported: primary.named,
      namespaces,
      traced: isTraced(scope, script),
      tailConsumers: script.tail_consumers.map(({ service }) => service),
    }
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
