import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { messageOf } from '../../core/errors.js'
import { D1_DATABASES } from '../../core/model/storage.js'
import { HYPERDRIVES } from '../../core/model/hyperdrive.js'
import { STORE_SECRETS } from '../../core/model/secrets-store.js'
import { WORKER_DEPLOYMENTS, WORKER_NAMESPACES, WORKER_SCRIPTS } from '../../core/model/worker.js'
import { account, type Scope } from '../../core/scope.js'
import type { Change } from '../../core/store.js'
import { AccountRuntime } from './account-runtime.js'
import { freshFolder } from './fresh-folder.js'
import { Quarantine } from './quarantine.js'
import type { RuntimeDeps } from './runtime-deps.js'
import type { RuntimeEntry } from './shard.js'
import { Validator, type CodeToValidate, type ValidatedCode } from './validation.js'

const WATCHED: ReadonlySet<string> = new Set(
  [WORKER_SCRIPTS, WORKER_DEPLOYMENTS, WORKER_NAMESPACES, D1_DATABASES, STORE_SECRETS, HYPERDRIVES].map(
    ({ name }) => name,
  ),
)

/** Runs the deployed scripts of all accounts. No process runs scripts of two accounts. */
export class Runtime {
  readonly #deps: RuntimeDeps
  readonly #folder: string
  readonly #opening = new Map<string, Promise<AccountRuntime>>()
  readonly #accounts = new Map<string, AccountRuntime>()
  readonly #quarantine: Quarantine
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
    await Promise.all([...accounts].map(async (id) => await runtime.applied(account(id))))
    return runtime
  }

  /** Resolves when the processes of the account run what is stored now. */
  async applied(scope: Scope): Promise<void> {
    if (this.#closed) return
    const one = await this.#account(scope)
    await one.applied()
  }

  /** Starts code once, before it is stored. Throws UploadRefused if it does not start. */
  async validate(code: CodeToValidate): Promise<ValidatedCode> {
    return await this.#validator.validate(code)
  }

  /** Why the deployed script does not run. Undefined if it runs. */
  failure(scope: Scope, script: string): string | undefined {
    return this.#accounts.get(scope.id)?.failure(script) ?? this.#quarantine.reason(scope.id, script)
  }

  /** Whether requests of the script are rejected now, because it was cut several times. */
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
    await made.applied()
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
    const accounts = new Set(changes.filter(({ kind }) => WATCHED.has(kind)).map(({ scope }) => scope.id))
    for (const id of accounts)
      this.applied(account(id)).catch((error: unknown) =>
        this.#deps.log.error({ event: 'worker_start_failed', account: id, error: messageOf(error) }),
      )
  }
}
