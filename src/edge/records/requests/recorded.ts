import type { Agent } from '../../../agents/identity.js'
import { cacheReasonNumber } from '../../../core/model/requests/cache-reason.js'
import type { RecordedMarkdown, RecordedPhase } from '../../../core/model/requests/request-record.js'
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

/** The cache did not answer. */
const UNANSWERED: ReadonlySet<string | undefined> = new Set(['MISS', 'EXPIRED', 'BYPASS', 'DYNAMIC'])
const MAX_TARGET = 2048
const MAX_VALUE = 512
const MAX_RULES = 16

/** Names of header fields. Most messages write them as here, or with capital letters at the beginning of words. */
class FieldNames {
  readonly #byText = new Map<string, string>()
  readonly #lengths = new Set<number>()

  constructor(names: readonly string[]) {
    for (const name of names) {
      this.#byText.set(name, name)
      this.#byText.set(
        name.replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase()),
        name,
      )
      this.#lengths.add(name.length)
    }
  }

  /** Returns the name in lower case. Undefined for a name that is not one of these. */
  kept(text: string): string | undefined {
    if (!this.#lengths.has(text.length)) return undefined
    return this.#byText.get(text) ?? this.#byText.get(text.toLowerCase())
  }
}

/**
 * The header fields that are kept. None of them has secrets of clients or sites: cookies, credentials and fields that
 * edged does not know are left out.
 */
const REQUEST_FIELDS = new FieldNames([
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
const RESPONSE_FIELDS = new FieldNames([
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

/**
 * Returns the line of a finished request in a segment: a {@link RequestRecord} as JSON and a line feed. It is joined from
 * texts. An object and JSON.stringify cost four times as much.
 */
export function lineOf(
  { exchange, endedMonotonic, interval }: KeptExchange,
  country: string | undefined,
  { queries, anonymise }: RecordOptions,
): string {
  const { agent, origin, sent, caching, startedMonotonic, matches, worker } = exchange
  const target = exchange.rawTarget
  const mark = target.indexOf('?')
  const markdown = markdownOf(exchange)
  const ip = anonymise ? anonymous(exchange.clientAddress) : exchange.clientAddress
  // The first two members have a fixed length, so that readers find them without parsing the line.
  let line = `{"at":${Math.floor(exchange.startedAt)},"ray":"${exchange.rayId}"`
  if (interval !== 1) line += `,"n":${interval}`
  line += `,"method":${ofBytes(exchange.method, MAX_VALUE)},"scheme":"${exchange.scheme}","host":${ofBytes(exchange.host, MAX_VALUE)}`
  line += `,"path":${ofBytes(mark < 0 ? target : target.slice(0, mark), MAX_TARGET)}`
  if (mark >= 0 && queries) line += `,"query":${ofBytes(target.slice(mark), MAX_TARGET)}`
  line += `,"http":"${exchange.httpVersion}","status":${sent.status}`
  if (caching.status !== undefined) line += `,"cache":"${caching.status}"`
  if (caching.reason !== undefined && UNANSWERED.has(caching.status))
    line += `,"why":${cacheReasonNumber(caching.reason)}`
  if (markdown !== undefined) line += `,"markdown":"${markdown}"`
  if (agent !== undefined) line += `,"agent":${ofAgent(agent)}`
  line += `,"ip":${quoted(ip)}`
  if (country !== undefined) line += `,"country":${quoted(country)}`
  line += `,"bytes":${sent.bodyBytes},"ms":${tenths(endedMonotonic - startedMonotonic)}`
  line += `,"phases":[${phasesOf(exchange, endedMonotonic, markdown)}]`
  if (matches.length > 0) line += `,"rules":[${matches.slice(0, MAX_RULES).map(ofRule).join(',')}]`
  if (origin.askedAt !== undefined && origin.url !== undefined)
    line += `,"origin":{"url":${quoted(origin.url)},"status":${origin.status},"tries":${origin.tries}}`
  if (worker !== undefined) line += `,"worker":${quoted(worker)}`
  line += `,"request":[${fieldsOf(exchange.rawHeaders, REQUEST_FIELDS, queries)}]`
  return `${line},"response":[${fieldsOf(sent.headers ?? [], RESPONSE_FIELDS, queries)}]}\n`
}

const ofAgent = ({ name, operator, category, verified, verifiedBotCategory }: Agent): string =>
  `{"name":${quoted(name)},"operator":${quoted(operator)},"category":"${category}","verified":"${verified}","bot":${quoted(verifiedBotCategory)}}`

const ofRule = ({ ruleset, rule, phase, description, action }: Exchange['matches'][number]): string =>
  `{"ruleset_id":${quoted(ruleset)},"rule_id":${quoted(rule)},"phase":"${phase}","name":${quoted(description.slice(0, MAX_VALUE))},"action":"${action}"}`

/** Returns what became of a page that was asked for as Markdown. Undefined if the request did not ask for one. */
function markdownOf({ conversion }: Exchange): RecordedMarkdown | undefined {
  if (conversion === undefined) return undefined
  const { outcome } = conversion
  if (outcome === 'converted' || outcome === 'streamed' || outcome === 'cached') return 'converted'
  return outcome === 'internal_error' || outcome === 'no_memory' ? 'failed' : 'refused'
}

/** Returns the stages that the request passed, in order. */
function phasesOf(exchange: Exchange, ended: number, markdown: RecordedMarkdown | undefined): string {
  const { origin, sent, caching, startedMonotonic: start, routedAt } = exchange
  const sentAt = sent.firstByteAt ?? ended
  let phases = ''
  const add = (name: RecordedPhase['name'], from: number, to: number, result: string): void => {
    const comma = phases === '' ? '' : ','
    phases += `${comma}{"name":"${name}","start_ms":${tenths(from - start)},"ms":${tenths(Math.max(0, to - from))},"result":${quoted(result)}}`
  }
  add('rules', start, routedAt ?? sentAt, exchange.matches.at(-1)?.action ?? '')
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

/** Milliseconds with one decimal. Whole numbers are written faster than fractions. */
function tenths(ms: number): string {
  const tens = Math.round(ms * 10)
  if (!(tens >= 0)) return tens < 0 ? String(tens / 10) : '0'
  const rest = tens % 10
  return rest === 0 ? String(tens / 10) : `${(tens - rest) / 10}.${rest}`
}

/** Characters that JSON escapes, and characters outside of ASCII. */
const SPECIAL = /[^ !#-[\]-~]/

const quoted = (text: string): string => (SPECIAL.test(text) ? JSON.stringify(text) : `"${text}"`)

/** Returns a byte string as text in JSON, cut to a number of bytes. */
function ofBytes(bytes: string, max: number): string {
  const cut = bytes.length > max ? bytes.slice(0, max) : bytes
  return SPECIAL.test(cut) ? JSON.stringify(toText(cut)) : `"${cut}"`
}

function fieldsOf(headers: RawHeaders, names: FieldNames, queries: boolean): string {
  let kept = ''
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = names.kept(headers[at]!)
    if (name === undefined) continue
    const value = headers[at + 1]!
    const shown = queries || !ADDRESSES.has(name) ? value : value.slice(0, MAX_VALUE).replace(/[?#].*$/s, '')
    kept += `${kept === '' ? '' : ','}"${name}",${ofBytes(shown, MAX_VALUE)}`
  }
  return kept
}

/** Returns an address with zeros after the first 24 bits of IPv4, or the first 48 bits of IPv6. */
function anonymous(address: string): string {
  const ip = parseIp(plainAddress(address))
  return ip === undefined ? '' : formatIp(network(ip, typeof ip === 'number' ? 24 : 48)[0])
}
