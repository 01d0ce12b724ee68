import { closeSync, openSync, readdirSync, readFileSync } from 'node:fs'
import { devNull } from 'node:os'
import type { ProxyConfig } from '../../config/schema.js'
import type { Clock } from '../../core/clock.js'
import type { Log } from '../../core/log.js'
import { eachSecond } from '../../core/schedule/each-second.js'

/** Descriptors that the listeners do not use: files of the store and the cache, spools, lookups, uploads and the admin listener. */
const RESERVED = 96
/** Share of the remaining ones for connections to one origin. Clients of the proxy get the rest. */
const ORIGIN_SHARE = 0.25
/** The API has at least this share, or this number. It also gets the descriptors that the proxy does not use. */
const API_SHARE = 0.15
const MIN_API_CONNECTIONS = 256
/** Minimum of each, for a limit that is too low for everything. */
const MIN_CONNECTIONS = 4
const MAX_API_CONNECTIONS = 4096
/** One client address gets at most this share of the connections if there are fewer than the options allow. */
const ADDRESS_SHARE = 0.25

/** Descriptors that are held open, and closed when the others run out. */
const HELD = 16
/** The held ones are closed if fewer than this are free. */
const MIN_FREE = 8
/** While the process works. An idle one checks once a second. */
const CHECK_MS = 200
/** Processor time of a process that works, in microseconds in a second. */
const BUSY_US = 20_000
const LOG_MS = 60_000

export interface DescriptorOptions {
  /** Maximum descriptors of this process. */
  readonly limit: number
  /** Descriptors that are open at the start. */
  readonly open: number
  /** The limits that do not fit are logged; false if another process does that. */
  readonly warns: boolean
  readonly clock: Pick<Clock, 'monotonic'>
  readonly log: Log
}

type Limits = Pick<ProxyConfig, 'limits' | 'origin'>

/**
 * The descriptors of one process: lowers limits of connections that do not fit into them, and holds some open for the admin
 * listener. Without free descriptors, libuv accepts and closes new connections of every listener without an event.
 */
export class Descriptors {
  readonly #options: DescriptorOptions
  #held: number[] = []
  #checking: NodeJS.Timeout | undefined
  #endSeconds: () => void = () => undefined
  #usage = process.cpuUsage()
  #logAt = -Infinity
  /** The last logged message about limits that do not fit. */
  #logged = ''
  #exhausted = false
  /** Descriptors that the proxy may use. */
  #proxy = 0

  constructor(options: DescriptorOptions) {
    this.#options = options
  }

  /** Reads the limit of this process, and starts to hold descriptors. */
  static open(options: Omit<DescriptorOptions, 'limit' | 'open'>): Descriptors {
    const descriptors = new Descriptors({ ...options, limit: readLimit(), open: countOpen() })
    descriptors.check()
    descriptors.#endSeconds = eachSecond(() => descriptors.#second())
    return descriptors
  }

  #second(): void {
    const { user, system } = process.cpuUsage(this.#usage)
    this.#usage = process.cpuUsage()
    const isBusy = user + system > BUSY_US || this.#exhausted
    if (!isBusy) {
      clearInterval(this.#checking)
      this.#checking = undefined
    } else this.#checking ??= setInterval(() => this.check(), CHECK_MS).unref()
    this.check()
  }

  /** Whether no descriptor is free for new connections of clients. */
  get exhausted(): boolean {
    return this.#exhausted
  }

  /** Maximum connections of the API, which starts after the proxy. */
  get apiConnections(): number {
    return Math.min(MAX_API_CONNECTIONS, Math.max(this.#available - this.#proxy, this.#minApiConnections))
  }

  /** Returns the options of the proxy with limits of connections that fit into the descriptors. */
  fit<C extends Limits>(proxy: C): C {
    const { limits, origin } = proxy
    const origins = Math.min(origin.connections, this.#share(ORIGIN_SHARE))
    const rest = Math.max(this.#available - this.#minApiConnections - origins, MIN_CONNECTIONS)
    const connections = Math.min(limits.connections, rest)
    this.#proxy = connections + origins
    if (connections === limits.connections && origins === origin.connections) return proxy
    const perAddress = Math.max(1, Math.floor(connections * ADDRESS_SHARE))
    const own = limits.connections_per_address
    const fitted = {
      ...proxy,
      limits: {
        ...limits,
        connections,
        connections_per_address: own === 0 ? perAddress : Math.min(own, perAddress),
      },
      origin: { ...origin, connections: origins },
    }
    this.#warn(proxy, fitted)
    return fitted
  }

  /** Closes the held descriptors if few others are free, and opens them again later. */
  check(): void {
    const probes = this.#take(MIN_FREE)
    const isFree = probes.length === MIN_FREE
    for (const descriptor of probes) closeSync(descriptor)
    if (isFree && this.#held.length < HELD) {
      this.#held.push(...this.#take(HELD - this.#held.length))
      // Others need some as well: a listener would otherwise be full again at once.
      if (this.#held.length < HELD) this.#release()
    } else if (!isFree) this.#release()
    const before = this.#exhausted
    this.#exhausted = this.#held.length < HELD
    if (this.#exhausted) this.#logExhausted()
    else if (before) this.#options.log.info({ event: 'descriptors_available' }, 'new connections are accepted again')
  }

  close(): void {
    this.#endSeconds()
    clearInterval(this.#checking)
    this.#release()
  }

  get #available(): number {
    const { limit, open } = this.#options
    return Math.max(limit - open - RESERVED, 0)
  }

  get #minApiConnections(): number {
    return Math.min(MIN_API_CONNECTIONS, this.#share(API_SHARE))
  }

  #share(share: number): number {
    return Math.max(Math.floor(this.#available * share), MIN_CONNECTIONS)
  }

  #take(count: number): number[] {
    const taken: number[] = []
    try {
      while (taken.length < count) taken.push(openSync(devNull, 'r'))
    } catch {
      // No further one is free.
    }
    return taken
  }

  #release(): void {
    for (const descriptor of this.#held) closeSync(descriptor)
    this.#held = []
  }

  #warn(wanted: Limits, fitted: Limits): void {
    const { limit, open, warns, log } = this.#options
    const facts = {
      descriptors: limit,
      connections: fitted.limits.connections,
      connections_per_address: fitted.limits.connections_per_address,
      origin_connections: fitted.origin.connections,
      api_connections: this.apiConnections,
    }
    const text = JSON.stringify(facts)
    if (!warns || text === this.#logged) return
    this.#logged = text
    const clients = wanted.limits.connections + wanted.origin.connections
    const needed = open + RESERVED + Math.max(wanted.origin.connections / ORIGIN_SHARE, clients + MIN_API_CONNECTIONS)
    log.warn(
      { event: 'descriptors_limited', ...facts },
      `only ${limit} files can be open, so fewer connections are allowed than proxy.limits.connections and ` +
        `proxy.origin.connections say; set ulimit -n or LimitNOFILE to ${needed}, or lower these options`,
    )
  }

  #logExhausted(): void {
    const { limit, clock, log } = this.#options
    const now = clock.monotonic()
    if (now < this.#logAt) return
    this.#logAt = now + LOG_MS
    log.error(
      { event: 'descriptors_exhausted', descriptors: limit },
      `nearly all of ${limit} files are open (EMFILE), so new connections of clients are closed; raise ulimit -n or ` +
        'LimitNOFILE, or lower proxy.limits.connections and proxy.origin.connections',
    )
  }
}

/** Returns the maximum descriptors of this process; Infinity if the system does not say. */
function readLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? []
    return Number(soft ?? Infinity)
  } catch {
    return Infinity
  }
}

function countOpen(): number {
  try {
    return readdirSync('/dev/fd').length
  } catch {
    return 0
  }
}
