import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import type { StoredModule } from '../../core/model/worker.js'
import type { ExceptionLog, ProcessExceptions } from '../observability/exceptions.js'
import { CONTROL_SOCKET, type RuntimeConfig } from './config.js'
import { deferred, type DataLocks } from './data-locks.js'
import { InFlight } from './in-flight.js'
import { PEER_SOCKET, StartFailed, startRuntime, type RuntimeProcess } from './process.js'
import type { Cut } from './types.js'
import { Watchdog } from './watchdog.js'

const START_TIMEOUT_MS = 30_000
/** Requests in flight get this long before their process is killed. */
const DRAIN_MS = 30_000
/** Time that a process without requests in flight remains, because work of `waitUntil` may continue. */
const LINGER_MS = 30_000
/** Maximum concurrent lingering processes. Beyond it, the oldest ends earlier. */
const MAX_LINGERING = 2
/** A handover of Durable Object data does not wait longer for requests in flight. */
const HANDOVER_DRAIN_MS = 10_000
/** Time that work without requests and open WebSockets have to end. Requests wait during it. */
const HANDOVER_STOP_MS = 300
const MIN_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 10_000

/** No process runs the script now. */
class RuntimeUnavailable extends Error {
  override readonly name = 'RuntimeUnavailable'
}

/** A request that a process works on. */
export interface RuntimeEntry {
  readonly script: string
  /** Path of the unix socket to send the request to. */
  readonly socket: string
  /** Milliseconds on the clock's `monotonic` scale. */
  readonly since: number
  cut(): Cut | Promise<Cut>
  /** Called when an exception of the script ended the request. */
  threw(rayId: string): void
  /**
   * Returns the limit that this request exceeded. It did if the process was killed and this request was in flight the
   * longest.
   */
  exceeded(): 'cpu' | 'memory' | undefined
  /** Called when the request has ended. */
  done(): void
}

/** The configuration of a shard. Undefined if the shard runs nothing. */
export interface ShardPlan {
  readonly config: RuntimeConfig
  /** Names of data on disk that the process opens. The old process ends before the new one starts. */
  readonly owns: readonly string[]
  /** Name of the script of each socket. */
  readonly scripts: ReadonlyMap<string, string>
}

export interface ShardDeps {
  readonly binary: string
  readonly folder: string
  readonly clock: Clock
  readonly log: Log
  readonly accountId: string
  readonly locks: DataLocks
  readonly exceptions: ExceptionLog
  /** Whether another process of the account was killed because of a limit, at this time of the clock or later. */
  readonly otherWasCut: (since: number) => boolean
  /** Whether the machine with the data of the account was lost, at this time of the clock or later. */
  readonly wasAway: (since: number) => 'none' | Promise<Cut>
  /** Whether calls in flight lead from this process to another shard. */
  readonly reaches: (shard: string) => boolean
  /** Computes the configuration to run without the scripts in `failed`. */
  readonly plan: (failed: ReadonlyMap<string, string>) => ShardPlan | undefined
  readonly readModule: (module: StoredModule) => Promise<Uint8Array>
  /** Maximum time without a response to a health check. */
  readonly maxStallMs: () => number
}

interface Generation {
  readonly plan: ShardPlan
  readonly process: RuntimeProcess
  readonly entries: InFlight<Entry>
  readonly watchdog: Watchdog
  readonly exceptions: ProcessExceptions
  /** Set while the process ends on purpose. */
  retired: boolean
  idle: (() => void) | undefined
}

class Entry implements RuntimeEntry {
  readonly script: string
  readonly socket: string
  readonly since: number
  at = 0
  readonly #deps: ShardDeps
  readonly #generation: Generation

  constructor(deps: ShardDeps, generation: Generation, script: string, socket: string) {
    this.script = script
    this.socket = socket
    this.since = deps.clock.monotonic()
    this.#deps = deps
    this.#generation = generation
  }

  cut(): Cut | Promise<Cut> {
    if (this.#generation.watchdog.suspects.has(this.script)) return 'script'
    return this.#deps.otherWasCut(this.since) ? 'other' : this.#deps.wasAway(this.since)
  }

  threw(rayId: string): void {
    this.#generation.exceptions.ended({ script: this.script, rayId })
  }

  exceeded(): 'cpu' | 'memory' | undefined {
    const { killed } = this.#generation.watchdog
    return killed?.since === this.since ? killed.reason : undefined
  }

  done(): void {
    const { entries, idle } = this.#generation
    if (entries.delete(this) && entries.size === 0) idle?.()
  }
}

/** One process of an account, and its successors. */
export class Shard {
  readonly #deps: ShardDeps
  #current: Generation | undefined
  /** The process that ends before its successor starts. */
  #leaving: Generation | undefined
  /** Resolves when requests may enter again. */
  #gate: { readonly opened: Promise<void>; readonly open: () => void } | undefined
  #applying: Promise<void> | undefined
  #again = false
  #closed = false
  #number = 0
  #backoffMs = MIN_BACKOFF_MS
  /** Scripts that do not start, with the text of the runtime. */
  #failed = new Map<string, string>()
  readonly #draining = new Set<Promise<void>>()
  /** End the wait for work without requests of old processes, oldest first. */
  readonly #lingering = new Set<AbortController>()
  readonly strikes: (scripts: readonly string[], reason: string) => void

  constructor(deps: ShardDeps, strikes: (scripts: readonly string[], reason: string) => void) {
    this.#deps = deps
    this.strikes = strikes
  }

  /** Returns why a script does not run. Undefined if it runs. */
  failure(script: string): string | undefined {
    return this.#failed.get(script)
  }

  /** Returns whether the process does not respond to health checks now. */
  get isStalled(): boolean {
    return this.#current?.watchdog.isStalled === true
  }

  /** Returns whether requests at a socket can be reserved now, without waiting. */
  runs(socket: string): boolean {
    return this.#gate === undefined && this.#current?.plan.scripts.has(socket) === true
  }

  /**
   * Reserves a request at a socket, for a script if it is not the one of the socket. A version that was just deployed is waited
   * for. Throws or rejects with {@link RuntimeUnavailable} if nothing listens there.
   */
  enter(socket: string, script?: string): RuntimeEntry | Promise<RuntimeEntry> {
    const generation = this.#gate ? undefined : this.#current
    return generation?.plan.scripts.has(socket) === true
      ? this.#entry(generation, socket, script)
      : this.#enterLater(socket, script)
  }

  /** Reserves a call of another process of the account. */
  enterPeer(from: string): RuntimeEntry | Promise<RuntimeEntry> {
    const leaving = this.#leaving
    // Requests in flight may wait for this call.
    if (leaving && this.#deps.reaches(from)) return this.#entry(leaving, PEER_SOCKET)
    return this.enter(PEER_SOCKET)
  }

  async #enterLater(socket: string, script?: string): Promise<RuntimeEntry> {
    await (this.#gate?.opened ?? this.apply())
    const generation = this.#current
    if (generation?.plan.scripts.has(socket) !== true) throw new RuntimeUnavailable('the script does not run')
    return this.#entry(generation, socket, script)
  }

  #entry(
    generation: Generation,
    socket: string,
    script: string = generation.plan.scripts.get(socket) ?? '',
  ): RuntimeEntry {
    const entry = new Entry(this.#deps, generation, script, generation.process.socket(socket))
    generation.entries.add(entry)
    return entry
  }

  /** Stops the process without ending it. Returns a function that lets it go on. */
  pause(): () => void {
    const process = this.#current?.process
    process?.pause()
    return () => process?.resume()
  }

  /** Applies the plan to the processes. Resolves when that is done. Concurrent calls share the work. */
  async apply(): Promise<void> {
    this.#again = true
    this.#applying ??= this.#applyAll().finally(() => {
      this.#applying = undefined
    })
    await this.#applying
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#openGate()
    await this.#applying
    const generation = this.#current
    this.#current = undefined
    if (generation) await this.#retire(generation, 2000)
    await this.#drainedAll()
    await rm(this.#deps.folder, { recursive: true, force: true })
  }

  async #applyAll(): Promise<void> {
    while (this.#again && !this.#closed) {
      this.#again = false
      try {
        await this.#applyOnce()
        this.#backoffMs = MIN_BACKOFF_MS
      } catch (error) {
        this.#deps.log.error({ event: 'worker_start_failed', account: this.#deps.accountId, error: messageOf(error) })
      }
    }
  }

  async #applyOnce(): Promise<void> {
    const failed = new Map<string, string>()
    for (;;) {
      const plan = this.#deps.plan(failed)
      try {
        await this.#run(plan)
        this.#failed = failed
        return
      } catch (error) {
        const culprits = error instanceof StartFailed ? failingScripts(error.text) : new Map<string, string>()
        const fresh = [...culprits].filter(([script]) => !failed.has(script))
        if (fresh.length === 0) throw error
        for (const [script, text] of fresh) {
          failed.set(script, text)
          this.#deps.log.warn({ event: 'worker_excluded', account: this.#deps.accountId, script, reason: text })
        }
      }
    }
  }

  async #run(plan: ShardPlan | undefined): Promise<void> {
    const old = this.#current
    if (plan?.config.text === old?.plan.config.text) return
    if (plan) await this.#writeModules(plan.config.modules)
    if ([plan, old?.plan].some((one) => one !== undefined && one.owns.length > 0)) await this.#handOver(plan, old)
    else {
      this.#current = plan && (await this.#start(plan))
      this.#openGate()
      if (old) this.#drain(old)
    }
    if (plan) await this.#removeModules(plan.config.modules)
  }

  /** Requests wait while the old process ends and the new one starts. */
  async #handOver(plan: ShardPlan | undefined, old: Generation | undefined): Promise<void> {
    this.#closeGate()
    this.#current = undefined
    try {
      if (old) {
        this.#leaving = old
        await this.#isIdle(old, HANDOVER_DRAIN_MS)
        this.#leaving = undefined
        await this.#retire(old, HANDOVER_STOP_MS)
      }
      this.#current = plan && (await this.#start(plan))
    } catch (error) {
      if (old) this.#current = await this.#start(old.plan)
      throw error
    } finally {
      this.#openGate()
    }
  }

  async #start(plan: ShardPlan): Promise<Generation> {
    const { binary, folder, clock, locks, exceptions: log, maxStallMs } = this.#deps
    this.#number += 1
    const release = await locks.acquire(plan.owns)
    const exceptions = log.ofProcess(new Set([...plan.scripts.values()].filter((script) => script !== '')))
    const process = await startRuntime({
      binary,
      config: plan.config,
      folder: join(folder, String(this.#number)),
      experimental: true,
      timeoutMs: START_TIMEOUT_MS,
      printed: (text) => exceptions.read(text),
    }).catch((error: unknown) => {
      release()
      throw error
    })
    void process.exited.then(release)
    const entries = new InFlight<Entry>()
    const watchdog = new Watchdog({
      process,
      socket: process.socket(CONTROL_SOCKET),
      clock,
      entries,
      maxStallMs,
      maxMemoryBytes: memoryLimit(plan.scripts.size),
      issue: (scripts, reason) => {
        this.#deps.log.error({ event: 'worker_killed', account: this.#deps.accountId, scripts, reason })
        this.strikes(scripts, reason)
        this.#crashed(generation)
      },
    })
    const generation: Generation = { plan, process, entries, watchdog, exceptions, retired: false, idle: undefined }
    void this.#watchEnd(generation)
    return generation
  }

  async #watchEnd(generation: Generation): Promise<void> {
    await generation.process.exited
    generation.watchdog.close()
    if (!generation.retired) this.#crashed(generation)
  }

  /** Handles an unexpected end of the process. Requests wait until its successor is ready. */
  #crashed(generation: Generation): void {
    if (this.#current !== generation || this.#closed) return
    this.#current = undefined
    this.#closeGate()
    this.#deps.log.warn({ event: 'worker_runtime_ended', account: this.#deps.accountId, restart_ms: this.#backoffMs })
    const wait = generation.watchdog.suspects.size > 0 ? 0 : this.#backoffMs
    this.#backoffMs = Math.min(this.#backoffMs * 2, MAX_BACKOFF_MS)
    // Data on disk may be open in one process only.
    void generation.process.exited
      .then(async () => await this.#deps.clock.sleep(wait))
      .then(async () => await this.apply())
      .finally(() => this.#openGate())
  }

  #drain(generation: Generation): void {
    const drained = this.#drained(generation).finally(() => this.#draining.delete(drained))
    this.#draining.add(drained)
  }

  async #drained(generation: Generation): Promise<void> {
    const linger = new AbortController()
    this.#lingering.add(linger)
    for (const oldest of this.#lingering) if (this.#lingering.size > MAX_LINGERING) this.#hurry(oldest)
    await this.#isIdle(generation, DRAIN_MS)
    const waited = this.#deps.clock.sleep(LINGER_MS, linger.signal).catch(() => undefined)
    await Promise.race([waited, generation.process.ended])
    this.#hurry(linger)
    await this.#retire(generation, 1000)
  }

  #hurry(linger: AbortController): void {
    this.#lingering.delete(linger)
    linger.abort()
  }

  /** Resolves when no old process runs. */
  async #drainedAll(): Promise<void> {
    for (const linger of this.#lingering) this.#hurry(linger)
    await Promise.all(this.#draining)
  }

  async #isIdle(generation: Generation, ms: number): Promise<void> {
    if (generation.entries.size === 0) return
    let timer: NodeJS.Timeout | undefined
    await new Promise<void>((resolve) => {
      generation.idle = resolve
      void generation.process.ended.then(resolve)
      timer = setTimeout(resolve, ms)
    })
    clearTimeout(timer)
  }

  async #retire(generation: Generation, ms: number): Promise<void> {
    generation.retired = true
    generation.watchdog.close()
    await generation.process.stop(ms)
  }

  #closeGate(): void {
    if (this.#gate) return
    const { promise: opened, resolve: open } = deferred()
    this.#gate = { opened, open }
  }

  #openGate(): void {
    this.#gate?.open()
    this.#gate = undefined
  }

  get #modules(): string {
    return join(this.#deps.folder, 'modules')
  }

  async #writeModules(modules: readonly StoredModule[]): Promise<void> {
    await mkdir(this.#modules, { recursive: true, mode: 0o700 })
    const existing = new Set(await readdir(this.#modules))
    for (const module of modules)
      if (!existing.has(module.blob))
        await writeFile(join(this.#modules, module.blob), await this.#deps.readModule(module), { mode: 0o600 })
  }

  /** Processes have read their modules when they are ready. */
  async #removeModules(used: readonly StoredModule[]): Promise<void> {
    const names = new Set(used.map(({ blob }) => blob))
    for (const name of await readdir(this.#modules))
      if (!names.has(name)) await rm(join(this.#modules, name), { force: true })
  }
}

const MEBIBYTE = 2 ** 20
const memoryLimit = (scripts: number): number => (256 + 64 * Math.ceil(scripts / 10)) * MEBIBYTE

/** Returns the scripts whose services the runtime names in its errors, and the message for each. */
export function failingScripts(text: string): Map<string, string> {
  const found = new Map<string, string>()
  for (const part of text.split(/^(?=service |Worker "script:)/m)) {
    const [, script, rest = part] =
      /^service script:([a-z0-9_-]+)[^\s]*: ([\s\S]*)/.exec(part) ?? /^Worker "script:([a-z0-9_-]+)/.exec(part) ?? []
    if (script !== undefined && !found.has(script)) found.set(script, rest.trim())
  }
  return found
}
