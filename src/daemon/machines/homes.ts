import { randomBytes } from 'node:crypto'
import * as fs from 'node:fs/promises'
import { join } from 'node:path'
import type { Duplex } from 'node:stream'
import { Counter, Gauge } from 'prom-client'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import { Leases } from '../../core/leases.js'
import type { Log } from '../../core/log.js'
import type { StreamRequest } from '../../core/machine-streams.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import { WORKER_DATA_HOMES, WORKER_DATA_ID, WORKER_DATA_LEASES, WORKER_MACHINES } from '../../core/model/worker-data.js'
import { DAEMON, type Scope } from '../../core/scope.js'
import { VersionConflict, type Change, type Store } from '../../core/store.js'
import { makeFolder, type Disk } from '../../disk/durable-write.js'
import { DataAway, type DataCall, type DataHomes, type DataPlace } from '../../workers/runtime/data-homes.js'
import { HOME_FILE, nameHome, readHome } from './home-file.js'
import { dial, exchange } from './link.js'

const RENEW_MS = 2500
/** Time without renewal after which another machine that has the data may run it. */
const EXPIRY_MS = 10_000
/** Time during which a machine that did not respond is not asked again. */
const DOWN_MS = 1000
const REPLY_MS = 15_000
/** Processes with data end and start again during this time. */
const APPLY_MS = 60_000

const AWAY = 'the machine with the Durable Objects and databases of this account does not respond'

/** A request to another machine: a call for the machine with the data of an account, or a stream from each machine. */
export interface MachineRequest {
  /** The machine that is meant. */
  readonly to: string
  /** For streams the id of their scope. */
  readonly account: string
  readonly call: 'ping' | 'apply' | DataCall | { readonly stream: StreamRequest }
}

export interface MachineReply {
  /** Why the request is refused. */
  readonly error?: string
  /** Scripts that do not run, and why. */
  readonly failures?: readonly (readonly [script: string, reason: string])[]
}

export interface HomesDeps {
  readonly store: Store
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Folder of Durable Object and D1 data, one folder per account. */
  readonly folder: string
  /** Name of this machine, the same after a restart. */
  readonly self: string
  /** Where other machines reach this one, as `host:port`. */
  readonly address: string
  /** Known to all machines. The first one is preferred. */
  readonly keys: readonly Buffer[]
  /** The default is the file system of Node. */
  readonly disk?: Disk
  /** How other machines are reached. The default is a connection with TLS. */
  readonly peers?: { readonly dial: typeof dial; readonly exchange: typeof exchange }
}

/**
 * Which machine runs the Durable Objects and D1 databases of each account, and connections to it.
 *
 * A record of the store has the name of an account's data, and so has a file next to the data. Only a machine with that file may
 * take the lease and run the data. So no two machines write, whichever is cut off from the store or from the other. The lease
 * says where to send calls, and keeps a copy of the folder from running beside the original.
 */
export class WorkerHomes implements DataHomes {
  readonly #deps: HomesDeps
  readonly #leases: Leases
  readonly #unwatch: () => void
  readonly #closing = new AbortController()
  /** Names of the data in the folders of this machine, by account. */
  readonly #own = new Map<string, string>()
  /** Where machines were reached last: a machine that is cut off from the store only may still respond. */
  readonly #addresses = new Map<string, string>()
  /** When machines that did not respond are asked again. */
  readonly #down = new Map<string, number>()
  /** The last claim of each account, to make one at a time. */
  readonly #claims = new Map<string, Promise<void>>()
  /** Accounts with an unused folder on this machine, which was logged. */
  readonly #unused = new Set<string>()
  readonly #calls: Counter

  constructor(deps: HomesDeps) {
    const { store, clock, self, address } = deps
    this.#deps = deps
    this.#leases = new Leases(store, clock, {
      leases: WORKER_DATA_LEASES,
      presence: WORKER_MACHINES,
      details: { address },
      expiryMs: EXPIRY_MS,
      self,
    })
    for (const { id, value } of store.list(WORKER_MACHINES)) this.#addresses.set(id, value.address)
    this.#unwatch = store.watch((changes) => this.#changed(changes))
    void this.#renewing()
    this.#calls = this.#openMetrics(deps.metrics)
  }

  isHere(scope: Scope): boolean {
    const own = this.#own.get(scope.id)
    return own !== undefined && own === this.#home(scope) && this.#leases.isHeld(scope, WORKER_DATA_ID)
  }

  isTaken(scope: Scope): boolean {
    return this.#home(scope) !== undefined
  }

  async claim(scope: Scope, isNew: boolean): Promise<void> {
    if (this.isHere(scope)) return
    const before = this.#claims.get(scope.id)
    const claimed = (async () => {
      await before?.catch(() => undefined)
      try {
        await this.#claim(scope, isNew)
      } catch (error) {
        throw new DataAway(`it cannot be known which machine has the data: ${messageOf(error)}`, { cause: error })
      }
    })()
    this.#claims.set(scope.id, claimed)
    try {
      await claimed
    } finally {
      if (this.#claims.get(scope.id) === claimed) this.#claims.delete(scope.id)
    }
  }

  away(scope: Scope): string | undefined {
    const owner = this.#owner(scope)
    if (owner === undefined) return this.isTaken(scope) ? AWAY : undefined
    if (owner === this.#deps.self) return this.isHere(scope) ? undefined : 'this machine lost the folder of the data'
    const isDown = this.#deps.clock.monotonic() < (this.#down.get(owner) ?? -Infinity)
    return isDown || !this.#addresses.has(owner) ? AWAY : undefined
  }

  async responds(scope: Scope): Promise<boolean> {
    try {
      const { socket } = await this.#ask(scope, 'ping', REPLY_MS)
      socket.destroy()
      return true
    } catch {
      return false
    }
  }

  async place(scope: Scope): Promise<DataPlace> {
    const machine = this.#owner(scope) ?? null
    if (!this.isTaken(scope)) return { place: 'none', machine: null }
    if (this.isHere(scope)) return { place: 'here', machine }
    if (await this.responds(scope)) return { place: 'elsewhere', machine }
    return { place: this.#isFree(scope) ? 'away' : 'unreachable', machine }
  }

  async connect(scope: Scope, call: DataCall): Promise<Duplex> {
    try {
      const { socket } = await this.#ask(scope, call, REPLY_MS)
      this.#calls.inc({ outcome: 'ok' })
      return socket
    } catch (error) {
      this.#calls.inc({ outcome: 'failed' })
      throw error
    }
  }

  async apply(scope: Scope): Promise<ReadonlyMap<string, string>> {
    const { socket, reply } = await this.#ask(scope, 'apply', APPLY_MS)
    socket.destroy()
    return new Map(reply.failures ?? [])
  }

  async close(): Promise<void> {
    this.#closing.abort()
    this.#unwatch()
    await this.#leases.release().catch(() => undefined)
  }

  #home(scope: Scope): string | undefined {
    return this.#deps.store.get(WORKER_DATA_HOMES, scope, WORKER_DATA_ID)?.value.data
  }

  #owner(scope: Scope): string | undefined {
    return this.#deps.store.get(WORKER_DATA_LEASES, scope, WORKER_DATA_ID)?.value.owner
  }

  async #claim(scope: Scope, isNew: boolean): Promise<void> {
    const { log } = this.#deps
    const found = await this.#nameIn(scope)
    const hasData = await this.#hasData(scope)
    if (!this.isTaken(scope)) {
      if (!isNew && found === undefined && !hasData) return
      await this.#take(scope)
    }
    const name = await this.#nameIn(scope)
    if (name === undefined || name !== this.#home(scope)) {
      this.#own.delete(scope.id)
      // The folder was moved while this machine was stopped. The machine that has it now waits for the lease.
      await this.#leases.giveUp(scope, WORKER_DATA_ID)
      if (hasData) this.#logUnused(scope, 'worker_data_unused', 'another machine has the data of the account')
      return
    }
    this.#own.set(scope.id, name)
    if (await this.#leases.hold(scope, WORKER_DATA_ID)) log.info({ event: 'worker_data_here', account: scope.id })
    else this.#logUnused(scope, 'worker_data_runs_elsewhere', 'another machine runs a copy of this folder')
  }

  #logUnused(scope: Scope, event: string, message: string): void {
    if (this.#unused.has(scope.id)) return
    this.#unused.add(scope.id)
    this.#deps.log.warn({ event, account: scope.id, folder: this.#folder(scope) }, message)
  }

  /** Makes this machine the home of data that has none. The file is there before the record that names it. */
  async #take(scope: Scope): Promise<void> {
    const { store, disk = fs } = this.#deps
    const name = await nameHome(disk, await makeFolder(disk, this.#folder(scope)), randomBytes(16).toString('hex'))
    try {
      await store.batch([{ kind: WORKER_DATA_HOMES, scope, id: WORKER_DATA_ID, value: { data: name }, ifVersion: 0 }])
    } catch (error) {
      if (!(error instanceof VersionConflict)) throw error
      // Another machine was faster.
      await store.caughtUp()
    }
  }

  #folder(scope: Scope): string {
    return join(this.#deps.folder, scope.id)
  }

  async #nameIn(scope: Scope): Promise<string | undefined> {
    const { disk = fs } = this.#deps
    return await readHome(disk, this.#folder(scope))
  }

  /** Whether this machine has files of objects or databases of the account. */
  async #hasData(scope: Scope): Promise<boolean> {
    const { disk = fs } = this.#deps
    const folder = this.#folder(scope)
    for (const name of await disk.readdir(folder).catch(() => []))
      if (name !== HOME_FILE && (await disk.stat(join(folder, name))).isDirectory()) return true
    return false
  }

  /** Rejects with DataAway if the machine with the data does not respond, or does not take the call. */
  async #ask(
    scope: Scope,
    call: MachineRequest['call'],
    replyMs: number,
  ): Promise<{ readonly socket: Duplex; readonly reply: MachineReply }> {
    const { keys, clock, log, peers = { dial, exchange } } = this.#deps
    const reason = this.away(scope)
    const owner = this.#owner(scope)
    const address = this.#addresses.get(owner ?? '')
    if (reason !== undefined || owner === undefined || address === undefined) throw new DataAway(reason ?? AWAY)
    const socket = await peers.dial(address, keys).catch((error: unknown) => {
      if (!this.#down.has(owner))
        log.warn({ event: 'worker_machine_away', machine: owner, address, error: messageOf(error) })
      this.#down.set(owner, clock.monotonic() + DOWN_MS)
      throw new DataAway(AWAY, { cause: error })
    })
    if (this.#down.delete(owner)) log.info({ event: 'worker_machine_back', machine: owner, address })
    const request: MachineRequest = { to: owner, account: scope.id, call }
    const reply = (await peers.exchange(socket, request, replyMs).catch((error: unknown) => {
      throw new DataAway(`the machine with the data did not take the call: ${messageOf(error)}`, { cause: error })
    })) as MachineReply
    if (reply.error === undefined) return { socket, reply }
    socket.destroy()
    throw new DataAway(reply.error)
  }

  #changed(changes: readonly Change[]): void {
    for (const { kind, id, value } of changes) {
      if (kind !== WORKER_MACHINES.name || value === undefined) continue
      const { address } = value as { readonly address: string }
      if (this.#addresses.get(id) === address) continue
      this.#addresses.set(id, address)
      this.#down.delete(id)
    }
  }

  async #renewing(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      await this.#deps.clock.sleep(RENEW_MS, signal).catch(() => undefined)
      if (!signal.aborted) await this.#renew()
    }
  }

  async #renew(): Promise<void> {
    const { store, log } = this.#deps
    try {
      await this.#leases.renew()
      for (const { scope } of store.list(WORKER_DATA_HOMES))
        if (this.#isFree(scope) || this.#isUnclaimed(scope)) await this.claim(scope, false)
    } catch (error) {
      log.debug({ event: 'worker_lease_failed', error: messageOf(error) })
    }
  }

  /** Whether no machine that is there has the lease: the folder may have been moved to this one. */
  #isFree(scope: Scope): boolean {
    const owner = this.#owner(scope)
    return owner === undefined || this.#deps.store.get(WORKER_MACHINES, DAEMON, owner) === undefined
  }

  /** Whether this machine has the lease from a life before, and could not read the folder at its start. */
  #isUnclaimed(scope: Scope): boolean {
    return this.#leases.isHeld(scope, WORKER_DATA_ID) && !this.isHere(scope)
  }

  #openMetrics(metrics: Metrics): Counter {
    const registers = [metrics]
    const accounts = new Gauge({
      name: 'edged_worker_data_accounts',
      help: 'Accounts with Durable Objects or D1 databases, by the place of their data: this machine, another one, or one that does not respond.',
      labelNames: ['place'],
      registers,
      collect: () => {
        const counts = { here: 0, elsewhere: 0, away: 0 }
        for (const { scope } of this.#deps.store.list(WORKER_DATA_HOMES))
          counts[this.isHere(scope) ? 'here' : this.away(scope) === undefined ? 'elsewhere' : 'away'] += 1
        for (const [place, count] of Object.entries(counts)) accounts.set({ place }, count)
      },
    })
    return new Counter({
      name: 'edged_worker_data_calls_total',
      help: 'Calls of Durable Objects and D1 databases that this machine forwarded to another one, by outcome.',
      labelNames: ['outcome'],
      registers,
    })
  }
}
