import type { Agent } from '../../agents/identity.js'
import type { SectionWriter } from '../../history/codec.js'
import {
  ACCESS,
  ACTIONS,
  addRow,
  AGENTS_WITH_PATHS,
  bucketOf,
  BYTES,
  CACHE,
  CACHE_STATES,
  CACHED_BYTES,
  CHARGED,
  COMPARED_TOKENS,
  CONVERTED,
  DIMENSIONS,
  DURATIONS,
  FAILED,
  HTML_BYTES,
  HTML_TOKENS,
  MARKDOWN_BYTES,
  MARKDOWN_RESPONSES,
  ORIGIN_BYTES,
  ORIGIN_TIMES,
  OTHER,
  PATHS_OF_AGENT,
  placeOf,
  REFUSED,
  REQUESTS,
  SEPARATOR,
  STATUSES,
  TOKENS,
  TOTAL,
  VERIFICATIONS,
  VERIFIED,
  type DimensionName,
  type Row,
} from '../../history/layout.js'
import { Rows, type RowPool } from '../../history/rows.js'
import { headerOf } from '../../http/headers.js'
import { estimatedTokens } from '../exchange/conversion.js'
import type { Exchange } from '../exchange/exchange.js'

/** Longer paths, host names and descriptions of rules are cut. */
const MAX_KEY = 256
/** Rules of one request that are counted. */
const MAX_RULES = 16

const STATUS_KEYS = Array.from({ length: 1000 }, (_, status) => String(status))
const FROM_CACHE: ReadonlySet<string> = new Set(['HIT', 'STALE', 'UPDATING', 'REVALIDATED'])
const CACHE_SLOTS = new Map<string | undefined, number>([
  ...CACHE_STATES.map((state, index) => [state.toUpperCase(), CACHE + index] as const),
  [undefined, CACHE + CACHE_STATES.indexOf('none')],
])

const limitOf = (name: DimensionName): number => DIMENSIONS[placeOf(name) - 1]!.limit

/** The counts of one zone since they were last taken. */
export class ZoneCounts {
  readonly account: string
  readonly #pool: RowPool
  readonly #total: Row
  readonly #status: Rows
  readonly #cache: Rows
  readonly #method: Rows
  readonly #origin: Rows
  readonly #host: Rows
  readonly #agent: Rows
  readonly #country: Rows
  readonly #path: Rows
  readonly #rule: Rows
  readonly #worker: Rows
  readonly #charge: Rows
  /** Paths by the key of their agent. */
  readonly #agentPaths = new Map<string, Rows>()
  /** Rows of paths of agents that are not used, with their limit. */
  readonly #otherAgentPaths: Rows

  constructor(account: string, pool: RowPool) {
    const rows = (name: DimensionName): Rows => new Rows(limitOf(name), pool)
    this.account = account
    this.#pool = pool
    this.#total = pool.take(true)
    this.#status = rows('status')
    this.#cache = rows('cache')
    this.#method = rows('method')
    this.#origin = rows('origin')
    this.#host = rows('host')
    this.#agent = rows('agent')
    this.#country = rows('country')
    this.#path = rows('path')
    this.#rule = rows('rule')
    this.#worker = rows('worker')
    this.#charge = rows('charge')
    this.#otherAgentPaths = new Rows(0, pool)
  }

  /** Counts a finished request. `country`: two capital letters, if it is known. */
  count(exchange: Exchange, ms: number, country: string | undefined): void {
    readFacts(exchange, ms)
    addFacts(this.#total)
    const { agent, caching, matches, origin, sent, worker } = exchange
    addFacts(this.#status.of(STATUS_KEYS[sent.status] ?? '0'))
    addFacts(this.#cache.of(CACHE_STATES[facts.cacheSlot - CACHE]!))
    addFacts(this.#method.of(exchange.method))
    addFacts(this.#host.of(cut(exchange.host)))
    const path = pathOf(exchange.rawTarget)
    addFacts(this.#path.of(path))
    if (origin.url !== undefined && (origin.askedAt !== undefined || caching.response === undefined))
      addFacts(this.#origin.of(origin.url))
    if (country !== undefined) addFacts(this.#country.of(country))
    if (worker !== undefined) addFacts(this.#worker.of(worker))
    for (let i = 0; i < matches.length && i < MAX_RULES; i++) {
      const { ruleset, rule, description } = matches[i]!
      addFacts(this.#rule.of(`${ruleset}/${rule}${SEPARATOR}${cut(description)}`))
    }
    if (agent !== undefined) this.#countAgent(exchange, path)
  }

  /** Returns everything that was counted, as a cell of the history, and begins again. */
  take(writer: SectionWriter, section: SectionWriter): Buffer {
    section.row(OTHER, this.#total)
    writer.section(TOTAL, section.take())
    this.#total.fill(0)
    const put = (name: DimensionName, rows: Rows, isBinary = false): void => {
      const top = rows.top()
      if (top.length === 0) return
      for (const [key, row] of top) section.row(isBinary ? Buffer.from(key, 'latin1') : key, row)
      writer.section(placeOf(name), section.take())
      rows.clear()
    }
    put('status', this.#status)
    put('cache', this.#cache)
    put('method', this.#method)
    put('origin', this.#origin)
    put('host', this.#host)
    put('agent', this.#agent)
    put('country', this.#country)
    put('path', this.#path, true)
    this.#putAgentPaths(writer, section)
    put('rule', this.#rule)
    put('worker', this.#worker)
    put('charge', this.#charge)
    return writer.take()
  }

  /** Gives all rows back. */
  release(): void {
    this.#pool.give(this.#total)
  }

  #countAgent({ agent, agentAction, charged, sent }: Exchange, path: string): void {
    const { name, verified } = agent!
    const row = this.#agent.of(keyOf(agent!))
    addFacts(row)
    row[VERIFICATIONS + VERIFIED.indexOf(verified)]!++
    row[ACCESS + (agentAction === undefined ? 0 : ACTIONS.indexOf(agentAction))]!++
    const isMarkdown =
      sent.status < 400 && sent.headers && headerOf(sent.headers, 'content-type')?.startsWith('text/markdown')
    if (isMarkdown) row[MARKDOWN_RESPONSES]!++
    addFacts(this.#pathsOf(name).of(path))
    if (charged === undefined) return
    const charge = this.#charge.of(`${cut(name)}${SEPARATOR}${charged.currency}`)
    charge[REQUESTS]!++
    charge[CHARGED]! += Number(charged.millionths)
  }

  #pathsOf(agent: string): Rows {
    const known = this.#agentPaths.get(agent)
    if (known) return known
    if (this.#agentPaths.size >= AGENTS_WITH_PATHS) return this.#otherAgentPaths
    const rows = new Rows(PATHS_OF_AGENT, this.#pool)
    this.#agentPaths.set(agent, rows)
    return rows
  }

  #putAgentPaths(writer: SectionWriter, section: SectionWriter): void {
    const other = this.#pool.take(true)
    for (const [agent, rows] of this.#agentPaths) {
      const prefix = Buffer.from(cut(agent) + SEPARATOR)
      for (const [path, row] of rows.top())
        if (path === OTHER) addRow(other, row)
        else section.row(Buffer.concat([prefix, Buffer.from(path, 'latin1')]), row)
      rows.clear()
    }
    for (const [, row] of this.#otherAgentPaths.top()) addRow(other, row)
    this.#otherAgentPaths.clear()
    this.#agentPaths.clear()
    if (other[REQUESTS]! > 0) section.row(OTHER, other)
    this.#pool.give(other)
    if (section.length > 0) writer.section(placeOf('agent,path'), section.take())
  }
}

/** Keys by agent: most requests share an agent with others. */
const agentKeys = new WeakMap<Agent, string>()

function keyOf(agent: Agent): string {
  let key = agentKeys.get(agent)
  if (key === undefined) {
    key = `${cut(agent.name)}${SEPARATOR}${agent.operator}${SEPARATOR}${agent.category}`
    agentKeys.set(agent, key)
  }
  return key
}

/** The facts that every row of one request counts. Filled for each request, so that none allocates. */
const facts = {
  bytes: 0,
  originBytes: 0,
  cachedBytes: 0,
  statusSlot: 0,
  cacheSlot: 0,
  durationSlot: 0,
  /** -1 without a response of an origin. */
  originSlot: -1,
  /** -1 if the request was not for Markdown. */
  markdownSlot: -1,
  markdownBytes: 0,
  /** -1 if it is not known. */
  htmlBytes: -1,
}

function readFacts({ sent, caching, origin, conversion }: Exchange, ms: number): void {
  const { status, bodyBytes } = sent
  facts.bytes = bodyBytes
  facts.originBytes = origin.bytes
  facts.cachedBytes = caching.status !== undefined && FROM_CACHE.has(caching.status) ? caching.bytes : 0
  facts.statusSlot = status >= 100 && status < 600 ? STATUSES + Math.floor(status / 100) - 1 : -1
  facts.cacheSlot = CACHE_SLOTS.get(caching.status)!
  facts.durationSlot = DURATIONS + bucketOf(ms)
  facts.originSlot =
    origin.askedAt !== undefined && origin.respondedAt !== undefined
      ? ORIGIN_TIMES + bucketOf(origin.respondedAt - origin.askedAt)
      : -1
  facts.markdownSlot = -1
  if (conversion === undefined) return
  const { outcome, htmlBytes } = conversion
  const isConverted = outcome === 'converted' || outcome === 'streamed' || outcome === 'cached'
  facts.markdownSlot = isConverted
    ? CONVERTED
    : outcome === 'internal_error' || outcome === 'no_memory'
      ? FAILED
      : REFUSED
  facts.markdownBytes = isConverted ? conversion.bytes : 0
  facts.htmlBytes = isConverted ? htmlBytes : -1
}

function addFacts(row: Row): void {
  const { originBytes, cachedBytes, statusSlot, originSlot, markdownSlot } = facts
  row[REQUESTS]!++
  row[BYTES]! += facts.bytes
  if (originBytes > 0) row[ORIGIN_BYTES]! += originBytes
  if (cachedBytes > 0) row[CACHED_BYTES]! += cachedBytes
  if (statusSlot >= 0) row[statusSlot]!++
  row[facts.cacheSlot]!++
  row[facts.durationSlot]!++
  if (originSlot >= 0) row[originSlot]!++
  if (markdownSlot >= 0) addMarkdown(row)
}

function addMarkdown(row: Row): void {
  const { markdownSlot, markdownBytes, htmlBytes } = facts
  row[markdownSlot]!++
  if (markdownSlot !== CONVERTED) return
  const tokens = estimatedTokens(markdownBytes)
  row[MARKDOWN_BYTES]! += markdownBytes
  row[TOKENS]! += tokens
  if (htmlBytes < 0) return
  row[HTML_BYTES]! += htmlBytes
  row[HTML_TOKENS]! += estimatedTokens(htmlBytes)
  row[COMPARED_TOKENS]! += tokens
}

const cut = (text: string): string => (text.length > MAX_KEY ? text.slice(0, MAX_KEY) : text)

/** Queries can contain secrets: they are not counted. */
function pathOf(target: string): string {
  const query = target.indexOf('?')
  const end = query < 0 ? target.length : query
  return end > MAX_KEY ? target.slice(0, MAX_KEY) : query < 0 ? target : target.slice(0, end)
}
