import type { AgentIdentity } from '../../agents/identity.js'
import type { Config } from '../../config/schema.js'
import type { Blobs } from '../../core/blobs.js'
import type { Clock } from '../../core/clock.js'
import { ClosingStack } from '../../core/closing-stack.js'
import type { Emitter } from '../../core/emit.js'
import type { Log } from '../../core/log.js'
import { Arrivals } from '../../core/schedule/turn-queue.js'
import { MemoryBudget } from '../../core/memory/memory-budget.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import { ERROR_ASSETS, ERROR_PAGES } from '../../core/model/error-page.js'
import { account, zone, type Scope } from '../../core/scope.js'
import type { StoreReader } from '../../core/store.js'
import { ResponseCache, type CacheDeps, type CacheDisk } from '../../edge/cache/cache.js'
import type { Invalidated } from '../../edge/cache/invalidation.js'
import { Keyring } from '../../store/secrets/keyring.js'
import { IssuedCertificates } from '../../tls/acme/issued.js'
import { Challenges } from '../../edge/challenge/challenges.js'
import type { Proxy, ProxyParts } from '../../edge/serve/proxy-parts.js'
import { listenProxy } from '../../edge/serve/server.js'
import { Geo, readDatabases } from '../../edge/exchange/geo.js'
import { CanonicalPages } from '../../edge/agents/canonical/canonical-pages.js'
import { HistoryCounter } from '../../edge/history/counter.js'
import type { HistorySink } from '../../history/part.js'
import { agentsStage } from '../../edge/agents/stage.js'
import { observingStage } from '../../edge/agents/mcp/observed-page.js'
import type { SpentSignatures } from '../../edge/agents/spent-signatures.js'
import { PageIndex } from '../../edge/agents/mcp/page-index.js'
import { markdownStage } from '../../edge/markdown/stage.js'
import { conditions } from '../../edge/rules/conditions.js'
import type { Resolve } from '../../egress/fair-resolve.js'
import type { GuardedEgress } from '../../egress/guarded-egress.js'
import type { Zones } from '../../edge/exchange/zones.js'
import type { Lists } from '../../expr/index.js'
import { cachedResolve } from '../../egress/name-cache.js'
import { defaultRuleDeps } from '../../rules/engine/default-deps.js'
import { RulesetCache } from '../../rules/engine/ruleset-cache.js'
import { eachPurge, purgeOf, watchPurges } from '../cache/purges.js'
import { changedScopes, FileRulesets, withFileRulesets } from '../../rules/rulesets/file-rulesets.js'
import { RequestLog, type RequestLogDeps } from '../../edge/records/requests/request-log.js'
import { DaemonAccessLog } from '../logs/access-log.js'
import type { Descriptors } from './descriptors.js'
import { BusyHeap } from './busy-heap.js'
import { configureAgents, openAgents } from './agents.js'
import { dialGuard } from './dial-guard.js'
import { ListRegistry } from '../zones/list-registry.js'
import { RateLimits, type RateLimitOptions } from './rate-limits.js'
import { Tracer } from '../../telemetry/tracer.js'
import { VERSION } from '../../release/package.js'
import { WorkerRegistry } from '../workers/registry.js'
import { WorkerZones } from '../workers/zones.js'
import { ZoneRegistry } from '../zones/registry.js'

/** The options that requests depend on: plain data. */
export type EdgeConfig = Pick<
  Config,
  | 'access_log'
  | 'accounts'
  | 'agents'
  | 'cache'
  | 'geo'
  | 'history'
  | 'lists'
  | 'proxy'
  | 'telemetry'
  | 'workers'
  | 'zones'
>

/** Dependencies of the serving side, in the daemon's own process or in a proxy process. */
export interface EdgeDeps {
  readonly store: StoreReader
  readonly blobs: Pick<Blobs, 'get'>
  readonly egress: GuardedEgress
  readonly resolve: Resolve
  readonly emitter: Emitter
  /** Receives the counts of requests. */
  readonly history: HistorySink
  /** Key of challenges and their cookies. */
  readonly challengeKeys: () => readonly Buffer[]
  /** 48 bytes for TLS session tickets, replaced daily. */
  readonly ticketKeys: () => Buffer
  /** Keys that decrypt the keys of ACME certificates, the current one first. */
  readonly certificateKeys: readonly [Buffer, ...Buffer[]]
  /** Receives the served names without a certificate. Resolves after the certificate was ordered, if that is possible. */
  readonly demand: (name: string) => Promise<unknown>
  /** Signatures of agents that have paid, for all processes. */
  readonly spent: SpentSignatures
  /** Where counts of rate limits are shared. */
  readonly counts: Pick<RateLimitOptions, 'url' | 'countLog' | 'state'>
  /** Descriptors of this process. */
  readonly descriptors: Descriptors
  /** Ports of the daemon's own listeners. Rules cannot lead requests there; the proxy's are added. */
  readonly ports: Set<number>
  /** Where finished requests are written: this process, of how many. */
  readonly requests: Pick<RequestLogDeps, 'folder' | 'process' | 'processes'>
  /** Undefined without `cache.disk`. */
  readonly cacheDisk?: CacheDisk | undefined
  /** Sends invalidations of cached responses to other processes and machines. */
  readonly spread?: CacheDeps['spread']
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** Memory for the words of pages, in each process. */
const MAX_INDEX_BYTES = 32 * 1024 * 1024

/** Everything that requests of the proxy read: zones, rules, lists, Workers, counts; and the proxy itself. */
export class Edge {
  readonly zones: Zones
  readonly workers: WorkerRegistry
  readonly geo: Geo
  readonly limits: RateLimits
  readonly tracer: Tracer
  #config: EdgeConfig
  /** Undefined before the proxy listens. */
  #agents: AgentIdentity | undefined
  #proxy: Proxy | undefined
  /** Undefined before the proxy listens. */
  #counter: HistoryCounter | undefined
  readonly #deps: EdgeDeps
  readonly #stack: ClosingStack
  readonly #lists: ListRegistry
  readonly #configured: ZoneRegistry
  readonly #challenges: Challenges
  readonly #markdownMemory: MemoryBudget
  readonly #accessLog: DaemonAccessLog
  readonly #requestLog: RequestLog
  readonly #cache: ResponseCache
  /** Words of pages, for the MCP servers of sites. */
  readonly #pages: PageIndex
  readonly #issued: IssuedCertificates
  #fileRules: FileRulesets
  #rules: RulesetCache

  private constructor(
    config: EdgeConfig,
    deps: EdgeDeps,
    {
      stack,
      limits,
      geo,
      accessLog,
    }: { stack: ClosingStack; limits: RateLimits; geo: Geo; accessLog: DaemonAccessLog },
  ) {
    const { store, blobs, clock, log, metrics } = deps
    this.#config = config
    this.#deps = deps
    this.#stack = stack
    this.limits = limits
    this.#accessLog = accessLog
    this.geo = geo
    this.#requestLog = stack.use(new RequestLog(config.history, { ...deps.requests, geo, clock, log, metrics }))
    this.#issued = stack.use(new IssuedCertificates(store, new Keyring(deps.certificateKeys), log))
    this.#challenges = new Challenges(deps.challengeKeys, clock, config.proxy.challenge)
    this.#markdownMemory = new MemoryBudget(config.proxy.markdown_memory)
    this.tracer = stack.use(new Tracer(config.telemetry, { 'service.version': VERSION }, { clock, log, metrics }))
    const country = (address: string) => geo.find(address).city?.country?.iso_code
    this.#cache = stack.use(
      new ResponseCache(config.cache, {
        facts: { country },
        clock,
        metrics: deps.metrics,
        disk: deps.cacheDisk,
        spread: deps.spread,
      }),
    )
    this.#pages = new PageIndex(MAX_INDEX_BYTES, () => clock.monotonic())
    stack.use(watchPurges(store, this.#cache))
    stack.use(eachPurge(store, (zone, stored) => this.#pages.purge(zone, purgeOf(stored).urls)))
    const lists = (this.#lists = stack.use(new ListRegistry(store, config.lists)))
    const named = {
      lists: (accountId: string) => lists.lists(accountId),
      redirect: (accountId: string, list: string, url: string) => lists.redirect(accountId, list, url),
      errorAsset: (scope: Scope, name: string) => store.get(ERROR_ASSETS, scope, name)?.value,
    }
    const { limiter } = limits
    const parts = { ...defaultRuleDeps, ...named, ...conditions({ limiter, challenges: this.#challenges, log }) }
    this.#fileRules = new FileRulesets(config)
    limits.ofFile(this.#fileRules.all)
    const rules = new RulesetCache({ store: withFileRulesets(store, this.#fileRules), parts, metrics, log })
    this.#rules = rules
    const zones = (this.#configured = stack.use(new ZoneRegistry(store, config, { rules })))
    const { domain } = config.workers
    const accounts = () => this.#config.accounts.map(({ id }) => id)
    this.zones = domain === null ? zones : new WorkerZones({ zones, store, accounts, domain })
    this.workers = stack.use(
      new WorkerRegistry({ store, blobs, geo, clock, metrics }, { cacheBytes: config.workers.assets.cache_bytes }),
    )
  }

  /** Creates the tables from the configuration and the store. Rejects if a file cannot be read. */
  static async open(config: EdgeConfig, deps: EdgeDeps): Promise<Edge> {
    const stack = new ClosingStack(deps.log)
    try {
      const geo = new Geo(await readDatabases(config.geo))
      const { store, counts, clock, log, metrics } = deps
      const maxKeys = config.proxy.max_rate_limit_keys
      const limits = stack.use(await RateLimits.open({ store, ...counts, maxKeys, clock, log, metrics }))
      const accessLog = stack.use(await DaemonAccessLog.open(config.access_log, { clock, log, metrics }))
      return new Edge(config, deps, { stack, limits, geo, accessLog })
    } catch (error) {
      await stack.close()
      throw error
    }
  }

  /** Starts the proxy in this process. */
  async listen(more: Pick<ProxyParts, 'bind'> = {}): Promise<Proxy> {
    const { store, egress, resolve, emitter, history, ticketKeys, descriptors, ports, clock, log, metrics } = this.#deps
    const agents = openAgents({ egress, resolve, clock, log, metrics })
    this.#stack.use(agents)
    configureAgents(agents, this.#config)
    this.#agents = agents
    const counter = this.#stack.use(new HistoryCounter({ history, geo: this.geo, clock, log }))
    counter.isEnabled = this.#config.history.days > 0
    this.#counter = counter
    const arrivals = new Arrivals()
    const monotonic = () => clock.monotonic()
    const proxy = await listenProxy(descriptors.fit(this.#config.proxy), {
      zones: this.zones,
      stages: [
        observingStage(this.#pages, monotonic),
        markdownStage({ memory: this.#markdownMemory, arrivals, metrics, log }),
        agentsStage({
          memory: this.#markdownMemory,
          catalogue: () => agents.catalogue,
          pages: new CanonicalPages(monotonic),
        }),
      ],
      agents,
      challenges: this.#challenges,
      customPages: ({ id, accountId }, page) =>
        store.get(ERROR_PAGES, zone(id), page)?.value.page ??
        store.get(ERROR_PAGES, account(accountId), page)?.value.page,
      workers: this.workers,
      cache: this.#cache,
      pages: this.#pages,
      version: VERSION,
      geo: this.geo,
      dial: { resolve: cachedResolve(resolve), guard: dialGuard(egress, ports) },
      arrivals,
      isFull: () => descriptors.exhausted,
      emitter,
      tracer: this.tracer,
      accessLog: this.#accessLog.entries,
      observers: [counter, this.#requestLog],
      ticketKeys,
      issued: this.#issued,
      demand: this.#deps.demand,
      spent: this.#deps.spent,
      clock,
      log,
      metrics,
      ...more,
    })
    this.#stack.use(new BusyHeap(() => proxy.responses))
    this.#addPorts(proxy)
    this.#proxy = proxy
    return proxy
  }

  /** Applies a reloaded configuration without a dropped request. Rejects, and changes nothing, if it is not usable. */
  async reconfigure(next: EdgeConfig): Promise<void> {
    const databases = await readDatabases(next.geo)
    const useLists = await this.#lists.prepare(next.lists)
    const fileRules = new FileRulesets(next)
    const scopes = changedScopes(this.#fileRules, fileRules)
    const rules =
      scopes.length === 0
        ? undefined
        : { cache: this.#rules.over(withFileRulesets(this.#deps.store, fileRules)), scopes }
    const zones = await this.#configured.prepare(next, rules)
    try {
      await this.#listen(next)
    } catch (error) {
      zones.drop()
      // Some settings can be active already, because a port in use is detected last.
      await this.#listen(this.#config)
      throw error
    }
    if (this.#agents) configureAgents(this.#agents, next)
    await zones.use()
    useLists()
    if (rules) this.#rules = rules.cache
    this.#fileRules = fileRules
    this.limits.ofFile(fileRules.all)
    if (this.#proxy) this.#addPorts(this.#proxy)
    this.limits.limiter.maxKeys = next.proxy.max_rate_limit_keys
    this.#challenges.options = next.proxy.challenge
    this.geo.use(databases)
    this.#markdownMemory.limit = next.proxy.markdown_memory
    this.#cache.configure(next.cache)
    this.#requestLog.configure(next.history)
    this.tracer.configure(next.telemetry)
    if (this.#counter) this.#counter.isEnabled = next.history.days > 0
    this.#config = next
  }

  /** The named lists of an account. */
  lists(accountId: string): Lists {
    return this.#lists.lists(accountId)
  }

  /** The rules of the configuration file. */
  get fileRules(): FileRulesets {
    return this.#fileRules
  }

  /** Resolves when all changes of the store so far are in force. Returns undefined if that is so now. */
  get applied(): Promise<void> | undefined {
    const { applied } = this.#lists
    if (applied === undefined) return this.#configured.applied
    return Promise.all([applied, this.#configured.applied]).then(() => undefined)
  }

  /** Removes cached responses that another process or machine found to be outdated. */
  async invalidate(invalidated: readonly Invalidated[]): Promise<void> {
    await Promise.all(invalidated.map(async (one) => await this.#cache.invalidate(one)))
  }

  /** Sends the counts of requests so far to the history. */
  async flushHistory(): Promise<void> {
    await this.#counter?.flush()
  }

  /** Opens the access log again, for a log rotation that renamed it. */
  async reopenLogs(): Promise<void> {
    await this.#accessLog.reopen()
  }

  /** Drains the proxy, then releases the tables. */
  async close(): Promise<void> {
    await this.#proxy?.close()
    await this.#stack.close()
  }

  async #listen(next: EdgeConfig): Promise<void> {
    await this.#accessLog.configure(next.access_log)
    await this.#proxy?.reconfigure(this.#deps.descriptors.fit(next.proxy))
  }

  #addPorts({ port, tls }: Proxy): void {
    this.#deps.ports.add(port)
    if (tls) this.#deps.ports.add(tls.port)
  }
}
