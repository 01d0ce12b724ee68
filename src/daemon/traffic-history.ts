import type { RuleCount, TrafficPoint, ZoneTraffic } from '../../control/overview/services.js'
import type { Clock } from '../core/clock.js'
import { EventLoopYield, inSlices, type Pause } from '../core/schedule/event-loop-yield.js'
import { messageOf } from '../core/errors.js'
import type { Log } from '../core/log.js'
import type { Sample } from '../telemetry/samples.js'

const slices = new EventLoopYield()
const pause: Pause = () => slices.yieldToEventLoop()

const INTERVAL_MS = 15_000
/** One hour. */
const MAX_POINTS = 240
/** Zones with a history; further ones have totals only. */
const MAX_ZONES = 200

const NONE: ZoneTraffic = { requests: 0, clientErrors: 0, serverErrors: 0, markdown: 0, cacheHits: 0, bytes: 0 }

/** Returns the values of the metrics of all processes whose name begins with `prefix`. */
export type ReadSamples = (prefix: string) => Promise<readonly Sample[]>

/** Stores the totals of all zones every 15 s, for the last hour. */
export class TrafficHistory {
  readonly #read: ReadSamples
  readonly #clock: Clock
  readonly #timer: NodeJS.Timeout
  #points: TrafficPoint[] = []

  constructor(read: ReadSamples, { clock, log }: { clock: Clock; log: Log }) {
    this.#read = read
    this.#clock = clock
    const sample = (): void => {
      this.now().then(
        (point) => this.#add(point),
        (error: unknown) => log.debug({ event: 'traffic_sample_failed', error: messageOf(error) }),
      )
    }
    sample()
    this.#timer = setInterval(sample, INTERVAL_MS).unref()
  }

  /** Points of the last hour, oldest first. */
  get points(): readonly TrafficPoint[] {
    return this.#points
  }

  /** Returns the totals of this moment. */
  async now(): Promise<TrafficPoint> {
    return { at: this.#clock.now(), zones: await trafficOf(await this.#read('edged_zone_')) }
  }

  async rules(): Promise<readonly RuleCount[]> {
    return ruleCounts(await this.#read('edged_rule_'))
  }

  close(): void {
    clearInterval(this.#timer)
  }

  #add({ at, zones }: TrafficPoint): void {
    this.#points.push({ at, zones: new Map([...zones].slice(0, MAX_ZONES)) })
    if (this.#points.length > MAX_POINTS) this.#points.shift()
  }
}

/** Returns the totals by zone. */
async function trafficOf(samples: readonly Sample[]): Promise<Map<string, ZoneTraffic>> {
  const zones = new Map<string, ZoneTraffic>()
  for await (const slice of inSlices(samples, pause))
    for (const { name, labels, value } of slice) {
      const { zone = '', class: status } = labels
      const old = zones.get(zone) ?? NONE
      zones.set(zone, add(old, name, status, value))
    }
  return zones
}

function add(old: ZoneTraffic, name: string, status: string | undefined, value: number): ZoneTraffic {
  if (name === 'edged_zone_requests_total')
    return {
      ...old,
      requests: old.requests + value,
      clientErrors: old.clientErrors + (status === '4xx' ? value : 0),
      serverErrors: old.serverErrors + (status === '5xx' ? value : 0),
    }
  if (name === 'edged_zone_markdown_responses_total') return { ...old, markdown: value }
  if (name === 'edged_zone_cache_hits_total') return { ...old, cacheHits: value }
  return name === 'edged_zone_response_body_bytes_total' ? { ...old, bytes: value } : old
}

function ruleCounts(samples: readonly Sample[]): RuleCount[] {
  const counts = new Map<string, RuleCount>()
  for (const { name, labels, value } of samples) {
    const { ruleset, rule } = labels
    if (ruleset === undefined || rule === undefined) continue
    const key = `${ruleset} ${rule}`
    const old = counts.get(key) ?? { ruleset, rule, matches: 0, failures: 0 }
    if (name === 'edged_rule_matches_total') counts.set(key, { ...old, matches: old.matches + value })
    if (name === 'edged_rule_failures_total') counts.set(key, { ...old, failures: old.failures + value })
  }
  return [...counts.values()]
}
