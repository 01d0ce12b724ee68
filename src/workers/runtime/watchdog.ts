import { get, type ClientRequest } from 'node:http'
import type { Clock } from '../../core/clock.js'
import { processUsage, type RuntimeProcess } from './process.js'

const INTERVAL_MS = 500
/** Checks above the memory limit before the process is killed, because garbage is not collected immediately. */
const CHECKS_OVER_MEMORY = 3
/** Checks without a response after which a process counts as stalled. */
const CHECKS_STALLED = 3
/** Above this multiple of the limit it is killed immediately. */
const MAX_EXCESS = 1.5

export interface WatchdogOptions {
  readonly process: RuntimeProcess
  /** Of health checks. */
  readonly socket: string
  readonly clock: Clock
  /** Requests in flight. */
  readonly entries: Iterable<{ readonly script: string; readonly since: number }>
  readonly maxStallMs: () => number
  readonly maxMemoryBytes: number
  /** Called after the process was killed. The scripts had requests in flight. */
  readonly issue: (scripts: readonly string[], reason: 'cpu' | 'memory') => void
}

/**
 * Kills a process that does not respond to health checks or that uses too much memory. The runtime has no such limits,
 * and a script in an endless loop stops all other scripts of its process.
 */
export class Watchdog {
  /** Scripts that may have caused the end of the process. */
  readonly suspects = new Set<string>()
  /** Start of the request that was longest in flight when the process was killed, and the limit. */
  killed: { readonly since: number; readonly reason: 'cpu' | 'memory' } | undefined
  readonly #options: WatchdogOptions
  readonly #timer: NodeJS.Timeout
  #ping: ClientRequest | undefined
  /** Checks since the last response. Time is counted in checks, so that a busy daemon is not taken for a busy script. */
  #missed = 0
  #ticksAtPing = 0
  #overMemory = 0
  #lastPong: number
  #isReading = false

  constructor(options: WatchdogOptions) {
    this.#options = options
    this.#lastPong = options.clock.monotonic()
    this.#timer = setInterval(() => void this.#check(), INTERVAL_MS)
    this.#timer.unref()
  }

  /** Returns whether the process has not responded for more than a second. */
  get isStalled(): boolean {
    return this.#ping !== undefined && this.#missed >= CHECKS_STALLED
  }

  close(): void {
    clearInterval(this.#timer)
    this.#ping?.destroy()
  }

  async #check(): Promise<void> {
    if (this.#isReading) return
    this.#isReading = true
    const { process, maxMemoryBytes, maxStallMs } = this.#options
    const usage = await processUsage(process.pid)
    this.#isReading = false
    const excess = (usage?.memoryBytes ?? 0) / maxMemoryBytes
    this.#overMemory = excess > 1 ? this.#overMemory + 1 : 0
    if (excess > MAX_EXCESS || this.#overMemory >= CHECKS_OVER_MEMORY) this.#kill('memory')
    else if (!this.#ping) this.#send(usage?.cpuTicks ?? 0)
    else {
      this.#missed += 1
      // Without any use of the processor it waits for its turn, which is not its fault.
      const isBusy = usage === undefined || usage.cpuTicks > this.#ticksAtPing
      if (isBusy && this.#missed * INTERVAL_MS >= maxStallMs()) this.#kill('cpu')
    }
  }

  #send(cpuTicks: number): void {
    const { socket, clock } = this.#options
    this.#ticksAtPing = cpuTicks
    this.#missed = 0
    const sentAt = clock.monotonic()
    const ping = get({ socketPath: socket, path: '/ping', agent: false }, (response) => {
      response.resume()
      this.#lastPong = sentAt
      this.#ping = undefined
    })
    ping.on('error', () => {
      if (this.#ping === ping) this.#ping = undefined
    })
    this.#ping = ping
  }

  #kill(reason: 'cpu' | 'memory'): void {
    const { entries, issue, process, clock } = this.#options
    const before = reason === 'cpu' ? this.#lastPong + INTERVAL_MS : clock.monotonic()
    const inFlight = [...entries]
    const stuck = inFlight.filter(({ since }) => since <= before)
    for (const { script } of stuck.length > 0 ? stuck : inFlight) this.suspects.add(script)
    this.killed = { since: Math.min(...inFlight.map(({ since }) => since)), reason }
    this.close()
    process.kill()
    issue([...this.suspects], reason)
  }
}
