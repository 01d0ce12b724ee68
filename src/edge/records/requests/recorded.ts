import type {
  RecordedFields,
  RecordedMarkdown,
  RecordedPhase,
  RecordedRule,
  RequestRecord,
} from '../../../core/model/request-record.js'
import { formatIp, parseIp, plainAddress, toText } from '../../../expr/index.js'
import { network } from '../../../expr/language/ip.js'
import type { RawHeaders } from '../../../http/headers.js'
import type { Exchange } from '../../exchange/exchange.js'

/** A finished request that is kept. */
export interface KeptExchange {
  readonly exchange: Exchange
  /** On the clock's `monotonic` scale. */
  readonly endedMonotonic: number
  /** The number of requests that it stands for. */
  readonly interval: number
}

export interface RecordOptions {
  /** Query strings are kept. */
  readonly queries: boolean
  /** Only the beginning of addresses is kept. */
  readonly anonymise: boolean
}

const MAX_TARGET = 2048
const MAX_VALUE = 512
const MAX_RULES = 16

/**
 * The header fields that are kept. None of them has secrets of clients or sites: cookies, credentials and fields that
 * edged does not know are left out.
 */
const REQUEST_FIELDS: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-language',
  'cache-control',
  'content-length',
  'content-type',
  'if-modified-since',
  'if-none-match',
  'origin',
  'range',
  'referer',
  'sec-fetch-dest',
  'sec-fetch-mode',
  'sec-fetch-site',
  'signature-agent',
  'upgrade',
  'user-agent',
  'x-requested-with',
])
const RESPONSE_FIELDS: ReadonlySet<string> = new Set([
  'accept-ranges',
  'age',
  'allow',
  'cache-control',
  'content-encoding',
  'content-language',
  'content-length',
  'content-range',
  'content-signal',
  'content-type',
  'crawler-charged',
  'crawler-error',
  'crawler-price',
  'etag',
  'expires',
  'last-modified',
  'location',
  'retry-after',
  'server',
  'vary',
  'x-markdown-tokens',
])
/** Fields whose values can have a query string. */
const ADDRESSES: ReadonlySet<string> = new Set(['referer', 'location'])

/** Returns the record of a finished request, with the country of its client. */
export function recordOf(
  { exchange, endedMonotonic, interval }: KeptExchange,
  country: string | undefined,
  { queries, anonymise }: RecordOptions,
): RequestRecord {
  const { agent, origin, sent, caching, startedMonotonic } = exchange
  const target = exchange.rawTarget
  const mark = target.indexOf('?')
  const markdown = markdownOf(exchange)
  const query = mark < 0 || !queries ? undefined : text(target.slice(mark), MAX_TARGET)
  return {
    // The first two members have a fixed length, so that readers find them without parsing the line.
    at: Math.floor(exchange.startedAt),
    ray: exchange.rayId,
    ...(interval !== 1 && { n: interval }),
    method: text(exchange.method, MAX_VALUE),
    scheme: exchange.scheme,
    host: text(exchange.host, MAX_VALUE),
    path: text(mark < 0 ? target : target.slice(0, mark), MAX_TARGET),
    ...(query !== undefined && { query }),
    http: exchange.httpVersion,
    status: sent.status,
    ...(caching.status !== undefined && { cache: caching.status }),
    ...(markdown !== undefined && { markdown }),
    ...(agent !== undefined && {
      agent: {
        name: agent.name,
        operator: agent.operator,
        category: agent.category,
        verified: agent.verified,
        bot: agent.verifiedBotCategory,
      },
    }),
    ip: anonymise ? anonymous(exchange.clientAddress) : exchange.clientAddress,
    ...(country !== undefined && { country }),
    bytes: sent.bodyBytes,
    ms: tenths(endedMonotonic - startedMonotonic),
    phases: phasesOf(exchange, endedMonotonic, markdown),
    ...(exchange.matches.length > 0 && { rules: exchange.matches.slice(0, MAX_RULES).map(ruleOf) }),
    ...(origin.askedAt !== undefined &&
      origin.url !== undefined && { origin: { url: origin.url, status: origin.status, tries: origin.tries } }),
    ...(exchange.worker !== undefined && { worker: exchange.worker }),
    request: fieldsOf(exchange.rawHeaders, REQUEST_FIELDS, queries),
    response: fieldsOf(sent.headers ?? [], RESPONSE_FIELDS, queries),
  }
}

const ruleOf = ({ ruleset, rule, phase, description, action }: Exchange['matches'][number]): RecordedRule => ({
  ruleset_id: ruleset,
  rule_id: rule,
  phase,
  name: description.slice(0, MAX_VALUE),
  action,
})

/** Returns what became of a page that was asked for as Markdown. Undefined if the request did not ask for one. */
function markdownOf({ conversion }: Exchange): RecordedMarkdown | undefined {
  if (conversion === undefined) return undefined
  const { outcome } = conversion
  if (outcome === 'converted' || outcome === 'streamed' || outcome === 'cached') return 'converted'
  return outcome === 'internal_error' || outcome === 'no_memory' ? 'failed' : 'refused'
}

/** Returns the stages that the request passed, in order. */
function phasesOf(exchange: Exchange, ended: number, markdown: RecordedMarkdown | undefined): RecordedPhase[] {
  const { origin, sent, caching, startedMonotonic: start, routedAt } = exchange
  const sentAt = sent.firstByteAt ?? ended
  const phases: RecordedPhase[] = []
  const add = (name: RecordedPhase['name'], from: number, to: number, result: string): void => {
    phases.push({ name, start_ms: tenths(from - start), ms: tenths(Math.max(0, to - from)), result })
  }
  const ending = exchange.matches.at(-1)?.action
  add('rules', start, routedAt ?? sentAt, ending ?? '')
  const asked = origin.askedAt
  if (routedAt !== undefined && caching.status !== undefined)
    add('cache', routedAt, Math.max(routedAt, asked ?? sentAt), caching.status)
  if (routedAt !== undefined && exchange.worker !== undefined)
    add('worker', routedAt, origin.respondedAt ?? sentAt, String(sent.status))
  else if (asked !== undefined)
    add('origin', asked, origin.respondedAt ?? sentAt, origin.status === 0 ? 'failed' : String(origin.status))
  if (markdown === 'converted' && origin.respondedAt !== undefined && sentAt > origin.respondedAt)
    add('convert', origin.respondedAt, sentAt, markdown)
  if (sent.firstByteAt !== undefined) add('send', sentAt, ended, String(sent.status))
  return phases
}

/** Milliseconds with one decimal. */
const tenths = (ms: number): number => Math.round(ms * 10) / 10

/** Returns a byte string as text, cut to a number of bytes. */
const text = (bytes: string, max: number): string => toText(bytes.length > max ? bytes.slice(0, max) : bytes)

function fieldsOf(headers: RawHeaders, names: ReadonlySet<string>, queries: boolean): RecordedFields {
  const kept: string[] = []
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at]!.toLowerCase()
    if (!names.has(name)) continue
    const value = text(headers[at + 1]!, MAX_VALUE)
    kept.push(name, queries || !ADDRESSES.has(name) ? value : value.replace(/[?#].*$/s, ''))
  }
  return kept
}

/** Returns an address with zeros after the first 24 bits of IPv4, or the first 48 bits of IPv6. */
function anonymous(address: string): string {
  const ip = parseIp(plainAddress(address))
  return ip === undefined ? '' : formatIp(network(ip, typeof ip === 'number' ? 24 : 48)[0])
}
