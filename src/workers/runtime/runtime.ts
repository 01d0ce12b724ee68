import { mkdir, mkdtemp, rm } from 'node:fs/promises'
import { request as httpRequest, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import { D1_DATABASES } from '../../core/model/storage.js'
import { HYPERDRIVES } from '../../core/model/hyperdrive.js'
import { STORE_SECRETS } from '../../core/model/secrets-store.js'
import {
  WORKER_DEPLOYMENTS,
  WORKER_NAMESPACES,
  WORKER_SCRIPTS,
  WORKER_VERSIONS,
  type StoredScript,
} from '../../core/model/worker.js'
import { account, type Scope } from '../../core/scope.js'
import type { Change, Store } from '../../core/store.js'
import type { Vault } from '../../core/vault.js'
import type { ScriptRepository } from '../script-repository.js'
import { CONTROL_SOCKET, runtimeConfig } from './config.js'
import { serveResources, type ResourceHandlers } from './resource-server.js'
import { Shard, type RuntimeEntry, type ShardPlan } from './shard.js'
import { Validator, type CodeToValidate, type ValidatedCode } from './validation.js'
import { HyperdriveTunnels, type TunnelDeps } from './hyperdrive.js'
import { Quarantine } from './quarantine.js'
import { storeSecret } from './store-secret.js'
import type { RunnableScript, RuntimePaths } from './types.js'

const WATCHED: ReadonlySet<string> = new Set(
  [WORKER_SCRIPTS, WORKER_DEPLOYMENTS, WORKER_NAMESPACES, D1_DATABASES, STORE_SECRETS, HYPERDRIVES].map(
    ({ name }) => name,
  ),
)

/** Connections of a process that wait to be accepted. A full list fails calls of scripts. */
const BACKLOG = 4096

export interface RuntimeDeps {
  readonly binary: string
  readonly store: Store
  readonly repository: ScriptRepository
  readonly vault: Vault
  /** Connects to a database that API users name. Rejects if its address is not allowed. */
  readonly connect: TunnelDeps['connect']
  readonly clock: Clock
  readonly log: Log
  /** Folder of Durable Object and D1 data, one folder per account. */
  readonly objects: string
  readonly resources: ResourceHandlers
  /** Creates the server of outgoing requests of an account's scripts. */
  readonly outbound: (scope: Scope) => ClosableServer
  /** Whether trace events of a script are wanted. */
  readonly isTraced: (scope: Scope, script: StoredScript) => boolean
  /** Maximum time without a response to a health check. */
  readonly maxStallMs: () => number
}

/** A server, and how to end it with all of its connections. */
export interface ClosableServer {
  readonly server: Server
  close(): void
}

interface Account {
  readonly shard: Shard
  readonly servers: readonly ClosableServer[]
  readonly tunnels: HyperdriveTunnels
}

/** Runs the deployed scripts of all accounts: one process per account. */
export class Runtime {
  readonly #deps: RuntimeDeps
  readonly #folder: string
  readonly #accounts = new Map<string, Promise<Account>>()
  readonly #shards = new Map<string, Shard>()
  readonly #quarantine: Quarantine
  readonly #validator: Validator
  #newestDate: string | undefined
  readonly #unwatch: () => void
  #number = 0
  #closed = false

  private constructor(deps: RuntimeDeps, folder: string) {
    this.#deps = deps
    this.#folder = folder
    this.#validator = new Validator(deps.binary, folder)
    this.#quarantine = new Quarantine(deps.clock)
    this.#unwatch = deps.store.watch((changes) => this.#changed(changes))
  }

  /** Starts the processes of all accounts with deployed scripts. Resolves when they are ready. */
  static async open(deps: RuntimeDeps): Promise<Runtime> {
    // Paths of unix sockets have at most 107 bytes.
    const parent = tmpdir().length > 60 ? '/tmp' : tmpdir()
    const runtime = new Runtime(deps, await mkdtemp(join(parent, 'edged-')))
    const accounts = new Set(deps.store.list(WORKER_SCRIPTS).map(({ scope }) => scope.id))
    await Promise.all([...accounts].map(async (id) => await runtime.applied(account(id))))
    return runtime
  }

  /** Resolves when the processes of the account run what is stored now. */
  async applied(scope: Scope): Promise<void> {
    if (this.#closed) return
    const { shard } = await this.#account(scope)
    await shard.apply()
  }

  /** Starts code once, before it is stored. Throws UploadRefused if it does not start. */
  async validate(code: CodeToValidate): Promise<ValidatedCode> {
    return await this.#validator.validate(code)
  }

  /** Why the deployed script does not run. Undefined if it runs. */
  failure(scope: Scope, script: string): string | undefined {
    return this.#shards.get(scope.id)?.failure(script) ?? this.#quarantine.reason(scope.id, script)
  }

  /** Whether requests of the script are rejected now, because it was cut several times. */
  isQuarantined(scope: Scope, script: string): boolean {
    return this.#quarantine.holds(scope.id, script)
  }

  /** Process id of an account, for metrics and tests. */
  pid(scope: Scope): number | undefined {
    return this.#shards.get(scope.id)?.pid
  }

  /** Sends a request to a version of a script, or to a D1 database: the id names the socket. */
  enter(scope: Scope, id: string): RuntimeEntry | Promise<RuntimeEntry> {
    const shard = this.#shards.get(scope.id)
    if (shard) return shard.enter(id)
    return this.#account(scope).then(async (made) => {
      await made.shard.apply()
      return await made.shard.enter(id)
    })
  }

  /** Calls the `scheduled` or `queue` handler of a script. */
  async call(scope: Scope, target: string, type: 'scheduled' | 'queue', event: object): Promise<unknown> {
    return await this.request(scope, CONTROL_SOCKET, '/', JSON.stringify({ target, type, event }))
  }

  /** Sends a POST request to a socket and returns its JSON. Rejects if the response is an error. */
  async request(scope: Scope, socket: string, path: string, body: string): Promise<unknown> {
    const entry = await this.enter(scope, socket)
    try {
      return await new Promise<unknown>((resolve, reject) => {
        const options = { socketPath: entry.socket, path, method: 'POST', agent: false as const }
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

  async close(): Promise<void> {
    this.#closed = true
    this.#unwatch()
    const accounts = await Promise.allSettled(this.#accounts.values())
    await Promise.all(
      accounts.map(async (one) => {
        if (one.status === 'rejected') return
        await one.value.shard.close()
        one.value.tunnels.close()
        for (const server of one.value.servers) server.close()
      }),
    )
    await rm(this.#folder, { recursive: true, force: true })
  }

  async #account(scope: Scope): Promise<Account> {
    const known = this.#accounts.get(scope.id)
    if (known) return await known
    const opened = this.#open(scope)
    this.#accounts.set(scope.id, opened)
    opened.catch(() => this.#accounts.delete(scope.id))
    return await opened
  }

  async #open(scope: Scope): Promise<Account> {
    const { binary, clock, log, repository, resources, outbound, maxStallMs, objects } = this.#deps
    this.#newestDate ??= await this.#validator.newestDate()
    this.#number += 1
    const folder = join(this.#folder, String(this.#number))
    await mkdir(folder, { mode: 0o700 })
    const data = join(objects, scope.id)
    await mkdir(data, { recursive: true, mode: 0o700 })
    const paths = { resources: join(folder, 'r'), outbound: join(folder, 'o'), objects: data }
    const servers = [closable(serveResources(resources, scope, log)), outbound(scope)]
    await Promise.all(
      servers.map(async ({ server }, at) => await listen(server, at === 0 ? paths.resources : paths.outbound)),
    )
    const tunnels = new HyperdriveTunnels(this.#deps, scope, folder)
    const shard = new Shard(
      {
        binary,
        folder,
        clock,
        log,
        accountId: scope.id,
        plan: (failed) => this.#plan(scope, { paths, tunnels }, failed),
        readModule: async (module) => await repository.readModule(module),
        maxStallMs,
      },
      (scripts, reason) => this.#quarantine.strike(scope.id, scripts, reason),
    )
    this.#shards.set(scope.id, shard)
    return { shard, servers, tunnels }
  }

  #plan(
    scope: Scope,
    { paths, tunnels }: { readonly paths: RuntimePaths; readonly tunnels: HyperdriveTunnels },
    failed: ReadonlyMap<string, string>,
  ): ShardPlan | undefined {
    const { store } = this.#deps
    const scripts = store.list(WORKER_SCRIPTS, scope).flatMap(({ value }) => {
      const runnable = failed.has(value.name) ? undefined : this.#runnable(scope, value)
      return runnable ? [runnable] : []
    })
    const databases = store.list(D1_DATABASES, scope).map(({ id }) => id)
    if (scripts.length === 0 && databases.length === 0) return undefined
    const config = runtimeConfig({
      scripts,
      databases,
      paths,
      newestDate: this.#newestDate,
      secret: (storeId, name) => storeSecret(this.#deps, scope, [storeId, name]),
      database: (id) => tunnels.target(id),
    })
    const sockets = scripts.flatMap(({ name, versions }) => versions.map(({ version }) => [version.id, name] as const))
    return {
      config,
      exclusive: databases.length > 0 || scripts.some(({ namespaces }) => namespaces.length > 0),
      scripts: new Map([...sockets, ...databases.map((id) => [id, ''] as const), [CONTROL_SOCKET, '']]),
    }
  }

  #runnable(scope: Scope, script: StoredScript): RunnableScript | undefined {
    const { store, repository, isTraced } = this.#deps
    const deployment = repository.readDeployment(scope, script)
    const versions = (deployment?.versions ?? []).flatMap(({ version_id: id }) => {
      const version = store.get(WORKER_VERSIONS, scope, id)?.value
      if (!version || version.main === undefined || version.format === 'python') return []
      return [{ version, bindings: repository.openBindings(scope, version) }]
    })
    const newest = versions.toSorted((a, b) => b.version.number - a.version.number)[0]
    if (!newest) return undefined
    return {
      name: script.name,
      primary: newest.version.id,
      versions,
      namespaces: store
        .list(WORKER_NAMESPACES, scope)
        .map(({ value }) => value)
        .filter((namespace) => namespace.script === script.name),
      traced: isTraced(scope, script),
      tailConsumers: script.tail_consumers.map(({ service }) => service),
    }
  }

  #changed(changes: readonly Change[]): void {
    const accounts = new Set(changes.filter(({ kind }) => WATCHED.has(kind)).map(({ scope }) => scope.id))
    for (const id of accounts)
      this.applied(account(id)).catch((error: unknown) =>
        this.#deps.log.error({ event: 'worker_start_failed', account: id, error: messageOf(error) }),
      )
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
