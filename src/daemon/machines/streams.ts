import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import type { FollowedMachines, OtherMachines, StreamReceiver, StreamRequest } from '../../core/machine-streams.js'
import { WORKER_MACHINES } from '../../core/model/worker-data.js'
import { DAEMON } from '../../core/scope.js'
import type { Store } from '../../core/store.js'
import { dial, exchange } from './link.js'
import { FrameReader } from './frames.js'
import type { MachineReply, MachineRequest } from './homes.js'

const RETRY_MS = 1000
const READY_MS = 5000
const REPLY_MS = 15_000

export interface MachineStreamsDeps {
  readonly store: Store
  /** Name of this machine. */
  readonly self: string
  /** Known to all machines. The first one is preferred. */
  readonly keys: readonly Buffer[]
  readonly clock: Clock
  readonly log: Log
}

/** Streams from all other machines of the installation: one connection per stream and machine. */
export class MachineStreams implements OtherMachines {
  readonly #deps: MachineStreamsDeps
  readonly #followed = new Set<Followed>()
  readonly #unwatch: () => void

  constructor(deps: MachineStreamsDeps) {
    this.#deps = deps
    this.#unwatch = deps.store.watch((changes) => {
      if (changes.some(({ kind }) => kind === WORKER_MACHINES.name)) for (const one of this.#followed) void one.join()
    })
  }

  follow(request: StreamRequest, receiver: StreamReceiver): FollowedMachines {
    const followed = new Followed(this.#deps, request, receiver)
    this.#followed.add(followed)
    return {
      ready: followed.join(),
      close: () => {
        this.#followed.delete(followed)
        followed.close()
      },
    }
  }

  close(): void {
    this.#unwatch()
    for (const followed of this.#followed) followed.close()
    this.#followed.clear()
  }
}

/** One stream from each other machine. */
class Followed {
  readonly #deps: MachineStreamsDeps
  readonly #request: StreamRequest
  readonly #receiver: StreamReceiver
  readonly #closing = new AbortController()
  /** Machines that are followed. `#away` has the followed machines that do not respond. */
  readonly #machines = new Set<string>()
  readonly #away = new Set<string>()

  constructor(deps: MachineStreamsDeps, request: StreamRequest, receiver: StreamReceiver) {
    this.#deps = deps
    this.#request = request
    this.#receiver = receiver
  }

  /** Follows the machines that are not followed yet. Resolves when they send or do not respond. */
  async join(): Promise<void> {
    const { store, self, clock } = this.#deps
    const machines = store.list(WORKER_MACHINES).filter(({ id }) => id !== self && !this.#machines.has(id))
    if (machines.length === 0) return
    const started = machines.map(async ({ id }) => {
      this.#machines.add(id)
      await new Promise<void>((resolve) => void this.#follow(id, resolve))
    })
    const timer = new AbortController()
    await Promise.race([Promise.all(started), clock.sleep(READY_MS, timer.signal).catch(() => undefined)])
    timer.abort()
  }

  close(): void {
    this.#closing.abort()
  }

  /** Reads the stream of a machine as long as the store names the machine. `tried` is called after the first attempt. */
  async #follow(machine: string, tried: () => void): Promise<void> {
    const { store, clock, log } = this.#deps
    const { signal } = this.#closing
    const address = () => store.get(WORKER_MACHINES, DAEMON, machine)?.value.address
    for (let at = address(); at !== undefined && !signal.aborted; at = address()) {
      try {
        await this.#read(machine, at, tried)
      } catch (error) {
        if (!signal.aborted && address() !== undefined && !this.#away.has(machine)) {
          this.#away.add(machine)
          log.warn({ event: 'machine_stream_away', machine, address: at, error: messageOf(error) })
          this.#receiver.machine(machine, 'away')
        }
      }
      tried()
      await clock.sleep(RETRY_MS, signal).catch(() => undefined)
    }
    tried()
    this.#machines.delete(machine)
    if (this.#away.delete(machine) && !signal.aborted) this.#receiver.machine(machine, 'back')
    // It may have announced itself again.
    if (address() !== undefined && !signal.aborted) await this.join()
  }

  /** Rejects if the machine does not respond, and when it ends the connection. */
  async #read(machine: string, address: string, started: () => void): Promise<void> {
    const { signal } = this.#closing
    const socket = await dial(address, this.#deps.keys)
    const close = () => socket.destroy()
    signal.addEventListener('abort', close)
    try {
      signal.throwIfAborted()
      const request: MachineRequest = {
        to: machine,
        account: this.#request.scope.id,
        call: { stream: this.#request },
      }
      const { error } = (await exchange(socket, request, REPLY_MS)) as MachineReply
      if (error !== undefined) throw new Error(error)
      if (this.#away.delete(machine)) this.#receiver.machine(machine, 'back')
      started()
      const frames = new FrameReader(this.#receiver)
      for await (const chunk of socket) frames.read(chunk as Buffer)
      throw new Error('the other machine closed the connection')
    } finally {
      signal.removeEventListener('abort', close)
      socket.destroy()
    }
  }
}
