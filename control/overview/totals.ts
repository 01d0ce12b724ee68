import { Type, type Static } from 'typebox'
import {
  BYTES,
  CACHE,
  CACHE_STATES,
  CACHED_BYTES,
  CONVERTED,
  DURATIONS,
  FAILED,
  HTML_BYTES,
  HTML_TOKENS,
  MARKDOWN_BYTES,
  ORIGIN_BYTES,
  ORIGIN_TIMES,
  quantile,
  REFUSED,
  REQUESTS,
  STATUSES,
  TOKENS,
  type Row,
} from '../../src/history/layout.js'

const count = (description: string) => Type.Integer({ minimum: 0, description })
const CLASSES = ['1xx', '2xx', '3xx', '4xx', '5xx'] as const

const ms = Type.Union([Type.Number(), Type.Null()])
const Times = (description: string) =>
  Type.Object(
    { p50: ms, p95: ms, p99: ms },
    { description: `${description} Milliseconds, at most 19 % from the exact quantile. Null without any.` },
  )

/** The counts of some requests, as the API shows them. */
export const Totals = Type.Object({
  requests: count('Finished requests.'),
  bytes: count('Body bytes sent to clients.'),
  origin_bytes: count('Body bytes received from origins.'),
  cached_bytes: count('Body bytes that the cache sent instead of an origin.'),
  errors: count('Responses with status 5xx.'),
  statuses: Type.Object(
    { '1xx': count(''), '2xx': count(''), '3xx': count(''), '4xx': count(''), '5xx': count('') },
    { description: 'Responses by class of status.' },
  ),
  cache: Type.Record(Type.Enum([...CACHE_STATES]), count(''), {
    description: 'Responses by outcome of the cache. none: responses of edged itself.',
  }),
  markdown: Type.Object({
    converted: count('Pages that were converted to Markdown.'),
    refused: count('Pages that cannot be converted, and were sent as HTML.'),
    failed: count('Pages that were sent as HTML because of a fault or a lack of memory.'),
    tokens: count('Estimated tokens of the Markdown.'),
    html_tokens: count('Estimated tokens of its HTML.'),
    bytes: count('Bytes of the Markdown.'),
    html_bytes: count('Bytes of its HTML.'),
  }),
  duration_ms: Times('From the head of the request to the end of the response.'),
  origin_ms: Times('Time to the head of the response of the origin.'),
})

/** Returns a row of counts as the API shows it. */
export function totalsOf(row: Row): Static<typeof Totals> {
  const statuses = CLASSES.map((name, index) => [name, row[STATUSES + index]!] as const)
  const cache = CACHE_STATES.map((name, index) => [name, row[CACHE + index]!] as const)
  const times = (first: number) => ({
    p50: quantile(row, first, 0.5),
    p95: quantile(row, first, 0.95),
    p99: quantile(row, first, 0.99),
  })
  return {
    requests: row[REQUESTS]!,
    bytes: row[BYTES]!,
    origin_bytes: row[ORIGIN_BYTES]!,
    cached_bytes: row[CACHED_BYTES]!,
    errors: row[STATUSES + 4]!,
    statuses: Object.fromEntries(statuses) as Static<typeof Totals>['statuses'],
    cache: Object.fromEntries(cache) as Static<typeof Totals>['cache'],
    markdown: {
      converted: row[CONVERTED]!,
      refused: row[REFUSED]!,
      failed: row[FAILED]!,
      tokens: row[TOKENS]!,
      html_tokens: row[HTML_TOKENS]!,
      bytes: row[MARKDOWN_BYTES]!,
      html_bytes: row[HTML_BYTES]!,
    },
    duration_ms: times(DURATIONS),
    origin_ms: times(ORIGIN_TIMES),
  }
}
