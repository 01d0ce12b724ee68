import { fork, type ChildProcess, type SendHandle } from 'node:child_process'
import { extname } from 'node:path'
import type { ZoneConfig } from '../../config/schema.js'
import { loadedPlugins } from '../../plugins/load.js'
import { Channel, type Handlers } from './channel.js'
import type { DaemonCalls, ProcessCalls } from './protocol.js'
import type { RuntimeSlots } from '../workers/runtime-slots.js'
import { zoneSlices } from './zone-slices.js'

const MAIN = new URL(`./main${extname(import.meta.url)}`, import.meta.url)

/**
 * Requests leave short-lived objects. V8 begins with one megabyte for them and rarely grows it, which took a fifth of the
 * processor time of cached responses. Megabytes.
 */
const HEAP_FLAGS = ['--min-semi-space-size=16', '--max-semi-space-size=32']

const SLICE_TIMEOUT_MS = 60_000

/** How a process ended. */
export interface ProcessEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** One proxy process, seen from the daemon. */
export class ProxyProcess {
  /** From 1; a process that replaces another one has its number. 0: a spare that has no work yet. */
  number = 0
  readonly slots: RuntimeSlots
  readonly channel: Channel<ProcessCalls, DaemonCalls>
  readonly ended: Promise<ProcessEnd>
  /** The zones that it has. */
  #zones: readonly ZoneConfig[] = []
  /** Its listeners accept connections. */
  serving = false
  /** It ends on purpose. */
  retired = false
  readonly #child: ChildProcess
  /** Resolves when the process has applied all changes that were sent to it, or has ended. */
  #applied: Promise<void> = Promise.resolve()
  #pendingChanges = 0

  constructor(slots: RuntimeSlots, handlers: Handlers<DaemonCalls>) {
    this.slots = slots
    this.#child = fork(MAIN, loadedPlugins(), {
      serialization: 'advanced',
      execArgv: [...process.execArgv, ...HEAP_FLAGS],
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
    const send = (message: object, handle?: SendHandle): void => {
      // A process that ends closes the channel first; its end is noticed separately.
      if (this.#child.connected) this.#child.send(message, handle, { keepOpen: false }, () => undefined)
    }
    this.channel = new Channel<ProcessCalls, DaemonCalls>({ send }, handlers)
    this.#child.on('message', (message, handle) => this.channel.receive(message as object, handle))
    this.ended = new Promise((resolve) => {
      let end: ProcessEnd = { code: null, signal: null }
      // Messages that the process has sent are read before the channel is disconnected.
      const settled = new Set<string>()
      const settle = (what: string) => {
        settled.add(what)
        if (settled.size < 2) return
        this.serving = false
        this.slots.close()
        this.channel.close()
        resolve(end)
      }
      this.#child.once('exit', (code, signal) => {
        end = { code, signal }
        settle('exit')
      })
      this.#child.once('disconnect', () => settle('disconnect'))
      this.#child.once('error', () => {
        settle('exit')
        settle('disconnect')
      })
    })
  }

  /** 0 if it could not be started. */
  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Resolves when all changes sent so far are in force. Returns undefined if that is so now. */
  get applied(): Promise<void> | undefined {
    return this.#pendingChanges === 0 ? undefined : this.#applied
  }

  /** Sends a change that is to be in force before the API responds. A process that does not apply it in time is killed. */
  update(apply: () => Promise<void>): void {
    this.#pendingChanges++
    const done = apply()
      .catch(() => this.kill())
      .finally(() => this.#pendingChanges--)
    this.#applied = Promise.all([this.#applied, done]).then(() => undefined)
  }

  /** Starts the process, or changes its configuration, by calling `finish` after it has received the zones. */
  async configure<T>(zones: readonly ZoneConfig[], finish: () => Promise<T>): Promise<T> {
    for (const slice of zoneSlices(zones, this.#zones))
      await this.channel.call('zones', slice, { timeoutMs: SLICE_TIMEOUT_MS })
    const result = await finish()
    this.#zones = zones
    return result
  }

  kill(): void {
    this.#child.kill('SIGKILL')
  }

  /** Ends a process that has finished its requests. */
  disconnect(): void {
    if (this.#child.connected) this.#child.disconnect()
  }
}
