import type { Config } from '../config/schema.js'
import type { Clock } from '../core/clock.js'
import { InvalidInput, messageOf } from '../core/errors.js'
import type { Log } from '../core/log.js'
import type { RequestRecord } from '../core/model/requests/request-record.js'
import type {
  DryRun,
  KeptRequests,
  RequestCoverage,
  RequestPage,
  RequestQuery,
  RequestReader,
  TrialRule,
} from '../core/model/requests/request-reader.js'
import { requestFolder } from '../edge/records/requests/request-log.js'
import { followed } from '../edge/records/requests/following.js'
import { keptRequests, removeOldRequests } from '../edge/records/requests/old-requests.js'
import { StoredRequests } from '../edge/records/requests/stored-requests.js'
import { allErrors } from '../expr/editing/index.js'
import { compile, ExprError, parse, SCHEME, type Filter } from '../expr/index.js'
import type { Edge } from './proxy/edge.js'
import { processCount } from './processes/index.js'

const SWEEP_MS = 3_600_000
/** Records that a dry run examines. */
const MAX_DRY_RUN = 10_000
const MAX_SAMPLES = 20
/** Agents that a dry run counts by name. */
const MAX_AGENTS = 100
const OTHER = 'other'
const anyList = () => undefined
const THIS_MACHINE: RequestCoverage = { machines: 1, missing: [] }

export interface RequestsDeps {
  readonly config: () => Config
  readonly edge: Edge
  readonly clock: Clock
  readonly log: Log
}

/** The request log of this machine, as the API reads it. Deletes requests that are not kept any more. */
export class Requests implements RequestReader {
  readonly #deps: RequestsDeps
  readonly #folder: string
  readonly #stored: StoredRequests
  readonly #timer: NodeJS.Timeout
  #sweeping: Promise<void>

  constructor(deps: RequestsDeps) {
    const { config, edge, clock } = deps
    this.#deps = deps
    this.#folder = requestFolder(config().data)
    this.#stored = new StoredRequests({ folder: this.#folder, zones: edge.zones, fields: { clock, geo: edge.geo } })
    this.#sweeping = this.#sweep()
    this.#timer = setInterval(() => {
      this.#sweeping = this.#sweeping.then(async () => await this.#sweep())
    }, SWEEP_MS).unref()
  }

  async page(zone: string, { filter, limit, ...range }: RequestQuery): Promise<RequestPage> {
    const compiled = filter === undefined ? undefined : this.#filter(zone, filter)
    return { ...(await this.#stored.page(zone, range, { limit, filter: compiled })), coverage: THIS_MACHINE }
  }

  async find(zone: string, ray: string): Promise<RequestRecord | undefined> {
    return await this.#stored.find(zone, ray)
  }

  async kept(zone: string): Promise<KeptRequests> {
    return { ...(await this.#stored.kept(zone)), coverage: THIS_MACHINE }
  }

  async dryRun(zone: string, { expression, phase, since, limit = MAX_DRY_RUN }: TrialRule): Promise<DryRun> {
    const filter = this.#filter(zone, expression, phase)
    const statuses = new Map<number, number>()
    const agents = new Map<string, number>()
    const samples: string[] = []
    let matched = 0
    let examined = 0
    let oldest = since
    const isWhole = await this.#stored.each(zone, { since, until: Infinity }, filter, (record, matches) => {
      if (examined >= Math.min(limit, MAX_DRY_RUN)) return false
      examined++
      oldest = record.at
      if (!matches) return true
      matched++
      statuses.set(record.status, (statuses.get(record.status) ?? 0) + 1)
      if (record.agent) {
        const name = agents.has(record.agent.name) || agents.size < MAX_AGENTS ? record.agent.name : OTHER
        agents.set(name, (agents.get(name) ?? 0) + 1)
      }
      if (samples.length < MAX_SAMPLES) samples.push(record.ray)
      return true
    })
    return { matched, examined, since: isWhole ? since : oldest, statuses, agents, samples, coverage: THIS_MACHINE }
  }

  follow(zone: string, filter: string | undefined, signal: AbortSignal): AsyncIterable<readonly RequestRecord[]> {
    const compiled = filter === undefined ? undefined : this.#filter(zone, filter)
    return this.#followed(zone, compiled, signal)
  }

  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#sweeping
  }

  async *#followed(zone: string, filter: Filter | undefined, signal: AbortSignal): AsyncGenerator<RequestRecord[]> {
    for await (const records of followed(this.#stored.folderOf(zone), this.#deps.clock, signal)) {
      const wanted = filter ? records.filter((record) => this.#stored.matches(zone, filter, record)) : records
      if (wanted.length > 0) yield wanted
    }
  }

  /** Compiles an expression with the lists of the zone's account. */
  #filter(zone: string, text: string, phase?: string): Filter {
    const { edge } = this.#deps
    const account = edge.zones.current.zones.find(({ id }) => id === zone)?.accountId ?? ''
    try {
      return compile(parse(text, phase === undefined ? {} : { phase }), edge.lists(account))
    } catch (error) {
      if (!(error instanceof ExprError)) throw error
      const place = phase === undefined ? {} : { phase }
      const [first] =
        error.class === 'ExpressionTooLong' ? [] : allErrors(text, { scheme: SCHEME, place, list: anyList })
      const advice = first?.fix && first.error.message === error.message ? `; did you mean ${first.fix.text}?` : ''
      throw new InvalidInput([{ pointer: '', message: error.message + advice }])
    }
  }

  /** Never rejects. */
  async #sweep(): Promise<void> {
    const { config, clock, log } = this.#deps
    const { history } = config()
    const processes = processCount(config())
    const isWriting = (process: number): boolean =>
      processes === 1 ? process === 0 : process >= 1 && process <= processes
    try {
      const { days } = history
      const requests = keptRequests(history)
      await removeOldRequests(this.#folder, { requests, days, isWriting, now: clock.now() })
    } catch (error) {
      log.warn({ event: 'request_log_sweep_failed', error: messageOf(error) })
    }
  }
}
