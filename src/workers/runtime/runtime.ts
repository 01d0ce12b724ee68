import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { messageOf } from '../../core/errors.js'
import { D1_DATABASES } from '../../core/model/storage.js'
import { HYPERDRIVES } from '../../core/model/hyperdrive.js'
import { STORE_SECRETS } from '../../core/model/secrets-store.js'
import { WORKER_DATA_HOMES, WORKER_DATA_LEASES } from '../../core/model/worker-data.js'
import { WORKER_DEPLOYMENTS, WORKER_NAMESPACES, WORKER_SCRIPTS, WORKER_TRANSFERS } from '../../core/model/worker.js'
import { account, type Scope } from '../../core/scope.js'
import { changesOf, type Change } from '../../core/store.js'
import { AccountRuntime, type Claim } from './account-runtime.js'
import type { DataCall, DataPlace } from './data-homes.js'
import { freshFolder } from './fresh-folder.js'
import { Quarantine } from './quarantine.js'
import type { RuntimeDeps } from './runtime-deps.js'
import type { RuntimeEntry } from './shard.js'
import { Validator, type CodeToValidate, type ValidatedCode } from './validation.js'

const WATCHED: ReadonlySet<string> = new Set(
  [
    WORKER_SCRIPTS,
    WORKER_DEPLOYMENTS,
    WORKER_NAMESPACES,
    WORKER_TRANSFERS,
    WORKER_DATA_HOMES,
    WORKER_DATA_LEASES,
    D1_DATABASES,
    STORE_SECRETS,
    HYPERDRIVES,
  ].map(({ name }) => name),
)

/** Runs the deployed scripts of all accounts. No process runs scripts of two accounts. */
export class Runtime {
  readonly #deps: RuntimeDeps
  readonly #folder: string
  readonly #opening = new Map<string, Promise<AccountRuntime>>()
  readonly #accounts = new Map<string, AccountRuntime>()
  readonly #quarantine: Quarantine
  /** Why scripts do not run on the machine with the data of their account, by account and script. */
  readonly #failuresElsewhere = new Map<string, ReadonlyMap<string, string>>()
  readonly #validator: Validator
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
    const runtime = new Runtime(deps, await freshFolder(deps.objects))
    const accounts = new Set(deps.store.list(WORKER_SCRIPTS).map(({ scope }) => scope.id))
    await Promise.all([...accounts].map(async (id) => await runtime.appliedHere(account(id), 'if-its-own')))
    return runtime
  }

  /**
   * Resolves when the processes of the account run the stored state, including the processes on the machine with its
   * data.
   */
  async applied(scope: Scope): Promise<void> {
    const { homes } = this.#deps
    await this.appliedHere(scope, 'if-nobody-has-it')
    this.#failuresElsewhere.delete(scope.id)
    const elsewhere = this.#accounts.get(scope.id)?.elsewhere ?? []
    if (!homes || elsewhere.length === 0) return
    const failures = await homes.apply(scope).catch((error: unknown) => {
      const reason = messageOf(error)
      return new Map(elsewhere.map((script) => [script, reason]))
    })
    if (failures.size > 0) this.#failuresElsewhere.set(scope.id, failures)
  }

  /** Resolves when the processes of this machine run the stored state. */
  async appliedHere(scope: Scope, claim: Claim): Promise<void> {
    if (this.#closed) return
    const one = await this.#account(scope)
    await one.applied(claim)
  }

  /** Waits until this machine runs what any machine has stored. Returns the scripts that do not run, and why. */
  async caughtUp(scope: Scope): Promise<ReadonlyMap<string, string>> {
    await this.#deps.store.caughtUp()
    await this.appliedHere(scope, 'if-its-own')
    const names = this.#deps.store.list(WORKER_SCRIPTS, scope).map(({ id }) => id)
    return new Map(
      names.flatMap((name) => {
        const reason = this.failure(scope, name)
        return reason === undefined ? [] : [[name, reason] as const]
      }),
    )
  }

  /** Receives a call from another machine. `opened` is called before its first byte. */
  async accept(scope: Scope, client: Duplex, call: DataCall, opened: () => void): Promise<void> {
    await (await this.#ready(scope)).accept(client, call, opened)
  }

  /** Resolves with the machine that has the Durable Objects and databases of an account. */
  async place(scope: Scope): Promise<DataPlace> {
    return (await this.#deps.homes?.place(scope)) ?? { place: 'here', machine: null }
  }

  /** Returns whether this machine runs a script, and not another one that has the data of its account. */
  runsHere(scope: Scope, script: string): boolean {
    return this.#accounts.get(scope.id)?.runsHere(script) !== false
  }

  /** Starts code once, before it is stored. Throws UploadRefused if it does not start. */
  async validate(code: CodeToValidate): Promise<ValidatedCode> {
    return await this.#validator.validate(code)
  }

  /**
   * Returns why the deployed script does not run. Either its start fails or it is stopped for a time. Undefined if it
   * runs.
   */
  failure(scope: Scope, script: string): string | undefined {
    return (
      this.#accounts.get(scope.id)?.failure(script) ??
      this.#failuresElsewhere.get(scope.id)?.get(script) ??
      this.#quarantine.reason(scope.id, script)
    )
  }

  /** Returns whether requests of the script are rejected now, because it was cut several times. */
  isQuarantined(scope: Scope, script: string): boolean {
    return this.#quarantine.holds(scope.id, script)
  }

  /** Reserves a request of a version of a script. */
  enter(scope: Scope, version: string): RuntimeEntry | Promise<RuntimeEntry> {
    return this.#accounts.get(scope.id)?.enter(version) ?? this.#ready(scope).then((one) => one.enter(version))
  }

  /** Calls the `scheduled` or `queue` handler of a script. */
  async call(scope: Scope, target: string, type: 'scheduled' | 'queue', event: object): Promise<unknown> {
    return await (await this.#ready(scope)).call(target, type, event)
  }

  /** Sends a request to a D1 database and returns its JSON. Rejects if the response is an error. */
  async query(scope: Scope, database: string, path: string, body: string): Promise<unknown> {
    return await (await this.#ready(scope)).query(database, path, body)
  }

  /** Runs `work` while the processes of an account are stopped. Its requests wait. */
  async paused<T>(scope: Scope, work: () => Promise<T>): Promise<T> {
    const known = this.#accounts.get(scope.id)
    return await (known ? known.paused(work) : work())
  }

  async close(): Promise<void> {
    this.#closed = true
    this.#unwatch()
    const accounts = await Promise.allSettled(this.#opening.values())
    await Promise.all(accounts.map(async (one) => one.status === 'fulfilled' && (await one.value.close())))
    await rm(this.#folder, { recursive: true, force: true })
  }

  /** Resolves when the processes of an account have started. */
  async #ready(scope: Scope): Promise<AccountRuntime> {
    const known = this.#accounts.get(scope.id)
    if (known) return known
    const made = await this.#account(scope)
    await made.applied('if-its-own')
    return made
  }

  async #account(scope: Scope): Promise<AccountRuntime> {
    const known = this.#opening.get(scope.id)
    if (known) return await known
    const opened = this.#open(scope)
    this.#opening.set(scope.id, opened)
    opened.catch(() => this.#opening.delete(scope.id))
    return await opened
  }

  async #open(scope: Scope): Promise<AccountRuntime> {
    const newestDate = await this.#validator.newestDate()
    this.#number += 1
    const opened = await AccountRuntime.open(this.#deps, {
      scope,
      folder: join(this.#folder, String(this.#number)),
      newestDate,
      strike: (scripts, reason) => this.#quarantine.strike(scope.id, scripts, reason),
      isQuarantined: (script) => this.#quarantine.holds(scope.id, script),
    })
    this.#accounts.set(scope.id, opened)
    return opened
  }

  #changed(changes: readonly Change[]): void {
    for (const { scope, value } of changesOf(WORKER_DEPLOYMENTS, changes))
      if (value) this.#quarantine.release(scope.id, value.script)
    const accounts = new Set(changes.filter(({ kind }) => WATCHED.has(kind)).map(({ scope }) => scope.id))
    for (const id of accounts)
      this.appliedHere(account(id), 'if-its-own').catch((error: unknown) =>
        this.#deps.log.error({ event: 'worker_start_failed', account: id, error: messageOf(error) }),
      )
  }
}
