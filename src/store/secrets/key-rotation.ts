import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import { Leases, type Lease, type Presence } from '../../core/leases.js'
import type { Log } from '../../core/log.js'
import { DAEMON } from '../../core/scope.js'
import { kind, StoreUnavailable, VersionConflict, type Change, type Store } from '../../core/store.js'
import type { Keyring } from './keyring.js'
import { countSealed, hasStale, rotate, type Rotation, type SealedCounts } from './reseal.js'
import { CHECK, CHECK_ID, WRITING_KEY, writingKey } from './vault.js'

const RENEW_MS = 2500
/** Time without renewal after which a machine is not waited for. */
const EXPIRY_MS = 10_000
const MAX_ANNOUNCEMENTS = 100

/** The keys that a running machine has. It has the scope of daemons. The id is the name of the machine. */
export interface KeyMachine extends Presence {
  /** Ids of the keys with which it can decrypt. */
  readonly reads: readonly string[]
  /** Id of the key that its configuration names for encryption. */
  readonly wants: string
  /** Id of the key with which it encrypts now. */
  readonly writes: string
}
const MACHINES = kind<KeyMachine>('vault_machine')
/** Lease of the machine that encrypts secrets again. It has the scope of daemons. The id is {@link CHECK_ID}. */
const LEASES = kind<Lease>('vault_rotation_lease')

export interface KeyRotationDeps {
  readonly store: Store
  readonly ring: Keyring
  readonly clock: Clock
  readonly log: Log
  /** Undefined if no other machine uses the store. */
  readonly shared:
    | {
        /** Name of this machine, the same after a restart. */
        readonly self: string
        /** Names of all machines that run, also of versions that do not announce keys. */
        readonly running: () => readonly string[]
      }
    | undefined
}

/** State of the secrets of an installation. */
export interface KeyStatus extends SealedCounts {
  /** Id of the key that encrypts. */
  readonly key: string
  /** Id of the key that the configuration names for encryption. */
  readonly wanted: string
  /** Machines that keep the wanted key from being used. */
  readonly waitsFor: readonly string[]
  /** Whether a start needs no other key than the one that encrypts. */
  readonly complete: boolean
}

/**
 * Replaces the key of all machines with the same store while they run. A record names the key that all machines encrypt
 * with. It changes when every running machine names the new key first, so that each can read the secrets of every other
 * machine. Then one machine encrypts all secrets again.
 *
 * A machine announces its keys in one batch with that record, unchanged. A change of the record therefore fails if a
 * machine announced its keys in the meantime, and is decided again.
 */
export class KeyRotation {
  readonly #deps: KeyRotationDeps
  readonly #leases: Leases | undefined
  readonly #closing = new AbortController()
  readonly #unwatch: () => void
  /** Some text may be encrypted with an old key. */
  #dirty: boolean
  #running: Promise<void> | undefined
  #problem = ''
  #waitsFor = ''
  readonly #total = { resealed: 0, failed: 0 }

  private constructor(deps: KeyRotationDeps) {
    const { store, ring, clock, shared } = deps
    this.#deps = deps
    const announced = (): Omit<KeyMachine, 'beat'> => this.#announced()
    this.#leases =
      shared &&
      new Leases(store, clock, {
        leases: LEASES,
        presence: MACHINES,
        get details() {
          return announced()
        },
        expiryMs: EXPIRY_MS,
        self: shared.self,
      })
    this.#dirty = ring.ids.length > 1
    this.#unwatch = store.watch((changes) => this.#changed(changes))
  }

  /** Announces the keys of this machine. Rejects if it lacks the key that the others encrypt with. */
  static async open(deps: KeyRotationDeps): Promise<KeyRotation> {
    const rotation = new KeyRotation(deps)
    try {
      await rotation.#begin()
    } catch (error) {
      rotation.#unwatch()
      throw error
    }
    return rotation
  }

  /** Renews the announcement and continues a rotation until it is closed. */
  start(): void {
    this.#running = this.#run()
  }

  /** The work of this machine, in numbers of encrypted texts. */
  get total(): Rotation {
    return this.#total
  }

  /** Returns why secrets cannot be stored on this machine. */
  get unavailable(): string | undefined {
    const { missing } = this.#deps.ring
    return missing === undefined ? undefined : `secrets: the other machines use key ${missing}, which this one lacks`
  }

  /**
   * Makes one step. Renews, uses the new key if all machines have it, and encrypts secrets again that an old key
   * encrypted.
   */
  async step(): Promise<void> {
    await this.#leases?.renew()
    this.#adopt()
    await this.#choose()
    if (this.#dirty && this.#deps.ring.id === this.#deps.ring.ids[0]) await this.#reseal()
  }

  async status(): Promise<KeyStatus> {
    const { store, ring } = this.#deps
    const [wanted = ''] = ring.ids
    const check = store.get(CHECK, DAEMON, CHECK_ID)?.value.sealed ?? ''
    return {
      key: ring.id,
      wanted,
      waitsFor: this.#othersWithout(wanted),
      complete: ring.id === wanted && !ring.stale(check),
      ...(await countSealed(store, ring)),
    }
  }

  async close(): Promise<void> {
    this.#unwatch()
    this.#closing.abort()
    await this.#running
    await this.#leases?.release().catch(() => undefined)
  }

  async #begin(): Promise<void> {
    const { store, ring, shared } = this.#deps
    if (!shared) {
      // From a store that several machines shared.
      if (store.get(WRITING_KEY, DAEMON, CHECK_ID))
        await store.batch([{ kind: WRITING_KEY, scope: DAEMON, id: CHECK_ID, value: undefined }])
      return
    }
    for (let tries = 1; ; tries += 1) {
      const found = store.get(WRITING_KEY, DAEMON, CHECK_ID)
      const key = writingKey(store) ?? ring.id
      ring.use(key)
      if (ring.missing !== undefined)
        throw new Error(
          `the other machines encrypt secrets with key ${key}: name it in secrets.key or secrets.old_keys`,
        )
      const beat = (store.get(MACHINES, DAEMON, shared.self)?.value.beat ?? 0) + 1
      try {
        await store.batch([
          { kind: MACHINES, scope: DAEMON, id: shared.self, value: { ...this.#announced(), beat } },
          { kind: WRITING_KEY, scope: DAEMON, id: CHECK_ID, value: { key }, ifVersion: found?.version ?? 0 },
        ])
        return await this.#giveBack()
      } catch (error) {
        // While the store takes no writes no machine can change the key.
        if (error instanceof StoreUnavailable) return this.#failed(error)
        if (!(error instanceof VersionConflict) || tries === MAX_ANNOUNCEMENTS) throw error
      }
    }
  }

  #announced(): Omit<KeyMachine, 'beat'> {
    const { ids, id } = this.#deps.ring
    return { reads: ids, wants: ids[0]!, writes: id }
  }

  async #run(): Promise<void> {
    const { clock } = this.#deps
    const { signal } = this.#closing
    while (!signal.aborted) {
      try {
        await this.step()
        this.#problem = ''
      } catch (error) {
        this.#failed(error)
      }
      await clock.sleep(RENEW_MS, signal).catch(() => undefined)
    }
  }

  #failed(error: unknown): void {
    const message = messageOf(error)
    if (message !== this.#problem) this.#deps.log.warn({ event: 'secrets_rotation_waits', error: message })
    this.#problem = message
  }

  #changed(changes: readonly Change[]): void {
    const { ring } = this.#deps
    if (changes.some(({ kind }) => kind === WRITING_KEY.name)) this.#adopt()
    if (this.#dirty || ring.ids.length === 1) return
    this.#dirty = changes.some((change) => change.value !== undefined && hasStale(change, ring))
  }

  /** Encrypts with the key that the store names. */
  #adopt(): void {
    const { store, ring, log, shared } = this.#deps
    const key = shared === undefined ? undefined : store.get(WRITING_KEY, DAEMON, CHECK_ID)?.value.key
    if (key === undefined || (key === ring.id && ring.missing === undefined) || key === ring.missing) return
    ring.use(key)
    if (ring.missing === undefined) log.info({ event: 'secrets_key_used', key })
    else log.error({ event: 'secrets_key_missing', key, next: 'name this key in secrets.old_keys and restart' })
  }

  /** Makes the wanted key the key of all machines if each machine wants it. */
  async #choose(): Promise<void> {
    const { store, ring, shared, log } = this.#deps
    const [wanted = ''] = ring.ids
    const found = store.get(WRITING_KEY, DAEMON, CHECK_ID)
    if (!shared || !found || found.value.key === wanted || ring.missing !== undefined) return
    const others = this.#othersWithout(wanted).join(', ')
    if (others !== this.#waitsFor) log.info({ event: 'secrets_key_waits', key: wanted, for: others })
    this.#waitsFor = others
    if (others !== '') return
    try {
      const write = { kind: WRITING_KEY, scope: DAEMON, id: CHECK_ID, value: { key: wanted } }
      await store.batch([{ ...write, ifVersion: found.version }])
      log.info({ event: 'secrets_key_changed', key: wanted, before: found.value.key })
    } catch (error) {
      // A machine announced its keys, or was faster.
      if (!(error instanceof VersionConflict)) throw error
    }
  }

  /** Names of other machines that do not want a key. */
  #othersWithout(wanted: string): string[] {
    const { store, shared } = this.#deps
    if (!shared) return []
    const announced = new Map(store.list(MACHINES).map(({ id, value }) => [id, value]))
    const names = new Set([...announced.keys(), ...shared.running()])
    return [...names].filter((name) => name !== shared.self && announced.get(name)?.wants !== wanted)
  }

  async #reseal(): Promise<void> {
    const { store, ring, log, shared } = this.#deps
    if (this.#leases && !(await this.#leases.hold(DAEMON, CHECK_ID))) return
    // A machine that still encrypts with the old key may write after the search.
    const check = !shared || store.list(MACHINES).every(({ value }) => value.writes === ring.id)
    this.#dirty = false
    try {
      const { resealed, failed } = await rotate(store, ring, { check })
      this.#total.resealed += resealed
      this.#total.failed = failed
      if (resealed > 0) log.info({ event: 'secrets_resealed', key: ring.id, resealed, failed })
    } catch (error) {
      this.#dirty = true
      throw error
    }
    if (!check) this.#dirty = true
    await this.#giveBack()
  }

  /** Releases the lease, because after a restart this machine may lack the old keys. */
  async #giveBack(): Promise<void> {
    const { store, shared } = this.#deps
    if (!shared || store.get(LEASES, DAEMON, CHECK_ID)?.value.owner !== shared.self) return
    await store.batch([{ kind: LEASES, scope: DAEMON, id: CHECK_ID, value: undefined }])
  }
}
