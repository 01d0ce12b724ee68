import { Connector, type ConnectorDeps } from '../../http/connector.js'
import {
  OriginConnection,
  type ConnectionOwner,
  type OriginLimits,
  type OriginRequest,
} from '../../http/origin-connection.js'
import { proxyHeader } from '../../http/proxy-protocol.js'
import { requestText } from '../../http/request-text.js'
import { messageOf } from '../../core/errors.js'
import type { Clock } from '../../core/clock.js'
import { eachSecond } from '../../core/schedule/each-second.js'
import type { Log } from '../../core/log.js'
import { LARGE_READS, TurnQueue } from '../../core/schedule/turn-queue.js'
import { balancersOf, type Zone, type Zones } from '../exchange/zones.js'
import type { HealthOptions } from '../balancing/balancer.js'
import type { Peer } from '../balancing/peer.js'

/** How often due checks are started. */
const TICK_MS = 200
const HEADER_BYTES = 65_536

export interface HealthDeps {
  readonly zones: Zones
  readonly dial: ConnectorDeps
  readonly clock: Clock
  readonly log: Log
}

/** Requests a path of each origin of the zones with `health`, and takes origins that fail out of use. */
export class HealthChecks {
  readonly #deps: HealthDeps
  readonly #end: () => void
  /** Undefined while no origin is checked. */
  #timer: NodeJS.Timeout | undefined
  /** Time of the next check by origin; Infinity while one is in progress. */
  readonly #dueAt = new WeakMap<Peer, number>()
  #zones: readonly Zone[] | undefined
  #checked: readonly Zone[] = []

  constructor(deps: HealthDeps) {
    this.#deps = deps
    this.#end = eachSecond(() => this.#look())
    this.#look()
  }

  close(): void {
    this.#end()
    clearInterval(this.#timer)
  }

  /** Finds the zones whose origins are checked. Most configurations have none, and need no timer for them. */
  #look(): void {
    const { zones } = this.#deps.zones.current
    if (zones === this.#zones) return
    this.#zones = zones
    this.#checked = zones.filter((zone) => balancersOf(zone).some(({ health }) => health !== undefined))
    clearInterval(this.#timer)
    this.#timer = this.#checked.length > 0 ? setInterval(() => this.#tick(), TICK_MS).unref() : undefined
  }

  #tick(): void {
    this.#look()
    const now = this.#deps.clock.monotonic()
    for (const zone of this.#checked)
      for (const { peers, health } of balancersOf(zone))
        for (const peer of health ? peers : [])
          if (now >= (this.#dueAt.get(peer) ?? -Infinity)) this.#check(zone, peer, health!)
  }

  #check(zone: Zone, peer: Peer, options: HealthOptions): void {
    this.#dueAt.set(peer, Infinity)
    const started = this.#deps.clock.monotonic()
    const done = (problem: string | undefined): void => {
      const now = this.#deps.clock.monotonic()
      this.#dueAt.set(peer, Math.max(started + options.interval, now))
      const { healthy_after: healthy, unhealthy_after: unhealthy } = options
      const change = peer.checked(problem, now, { healthy, unhealthy })
      if (!change) return
      const facts = { event: `origin_${change}`, zone: zone.id, name: zone.name, origin: peer.url, path: options.path }
      if (change === 'up') this.#deps.log.info(facts)
      else this.#deps.log.warn({ ...facts, reason: problem })
    }
    try {
      const connector = new Connector({ url: peer.url, ca: zone.originCa }, { ...this.#deps.dial, zone: zone.id })
      new HealthRequest(zone, options, done).send(connector)
    } catch (error) {
      done(messageOf(error))
    }
  }
}

/** One check: a GET on a connection of its own. */
class HealthRequest implements OriginRequest, ConnectionOwner {
  readonly method = 'GET'
  readonly upgrade = false
  readonly text: string
  readonly body = null
  readonly length = undefined
  readonly timeoutMs = undefined
  readonly client = undefined
  readonly preamble: Buffer | undefined
  readonly limits: OriginLimits
  readonly turns = new TurnQueue(LARGE_READS)
  connection: OriginConnection | undefined
  readonly #options: HealthOptions
  #done: ((problem: string | undefined) => void) | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(
    { name: host, proxyProtocol }: Pick<Zone, 'name' | 'proxyProtocol'>,
    options: HealthOptions,
    done: (problem: string | undefined) => void,
  ) {
    this.preamble = proxyProtocol === 'off' ? undefined : proxyHeader(proxyProtocol, undefined)
    const { path: target, timeout } = options
    const headers = ['host', host, 'user-agent', 'edged-health', 'accept', '*/*']
    this.text = requestText({ method: this.method, target, headers, body: null, upgrade: false }).text
    this.limits = {
      connect_timeout: timeout,
      headers_timeout: timeout,
      body_timeout: timeout,
      keep_alive_timeout: 0,
      queue_timeout: timeout,
      header_bytes: HEADER_BYTES,
      connections: 1,
      queue_size: 0,
    }
    this.#options = options
    this.#done = done
  }

  send(connector: Connector): void {
    // Before the connection: it may fail at once.
    this.#timer = setTimeout(
      () => this.#finish(`no response within ${this.#options.timeout} ms`),
      this.#options.timeout,
    )
    this.#timer.unref()
    try {
      void new OriginConnection(connector, this, this)
    } catch (error) {
      this.#finish(messageOf(error))
    }
  }

  sent(): void {}

  head(status: number): void {
    this.#finish(isExpected(status, this.#options.status) ? undefined : `responded with ${status}`)
  }

  data(): boolean {
    return true
  }

  end(): void {}

  switched(): void {
    this.#finish('switched to another protocol')
  }

  fail(error: Error): void {
    this.#finish(messageOf(error))
  }

  released(connection: OriginConnection): void {
    connection.close()
  }

  gone(): void {}

  #finish(problem: string | undefined): void {
    clearTimeout(this.#timer)
    const done = this.#done
    this.#done = undefined
    // The rest of the response is not read.
    this.connection?.abort()
    done?.(problem)
  }
}

/** Returns whether a list of statuses and ranges such as `200-299,304` has this one. */
export function isExpected(status: number, expected: string): boolean {
  return expected.split(',').some((part) => {
    const [from = '', to = from] = part.trim().split('-')
    return status >= Number(from) && status <= Number(to)
  })
}
