// CPU of one record of the request log: the line that is written, of a request of a browser through the cache to an origin.
import { lineOf } from '../../dist/src/edge/records/requests/recorded.js'
import { median, sized, table } from './measure.mjs'

const RECORDS = sized(200_000, 2000)
const ROUNDS = sized(5, 1)
const REQUEST = {
  Host: 'www.example.test',
  'User-Agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
  Accept: 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
  'Accept-Language': 'en-US,en;q=0.9',
  'Accept-Encoding': 'gzip, deflate, br, zstd',
  Cookie: 'session=abc; other=def',
  'Sec-Fetch-Dest': 'document',
  'Sec-Fetch-Mode': 'navigate',
  'Sec-Fetch-Site': 'none',
  'Upgrade-Insecure-Requests': '1',
  Referer: 'https://www.example.test/articles?page=2',
}
const RESPONSE = {
  Date: 'Sat, 28 Nov 2026 18:00:00 GMT',
  'Content-Type': 'text/html; charset=utf-8',
  'Cache-Control': 'public, max-age=60',
  ETag: 'W/"abcdef0123456789"',
  Vary: 'accept-encoding',
  'Last-Modified': 'Sat, 28 Nov 2026 17:00:00 GMT',
  'Content-Length': '10234',
}
const exchanges = Array.from({ length: 2000 }, (_, n) => ({
  startedAt: 1_795_867_871_123.4 + n,
  startedMonotonic: 1000.1 + n,
  routedAt: 1000.5 + n,
  rayId: n.toString(16).padStart(16, '0'),
  method: 'GET',
  scheme: 'https',
  host: 'www.example.test',
  httpVersion: '2',
  clientAddress: `192.0.2.${n % 250}`,
  rawTarget: `/articles/page-${n}?utm=${n}`,
  rawHeaders: Object.entries(REQUEST).flat(),
  matches: [],
  sent: { status: 200, bodyBytes: 10_000 + n, headers: Object.entries(RESPONSE).flat(), firstByteAt: 1020.7 + n },
  caching: { status: 'MISS' },
  origin: { url: 'http://127.0.0.1:9000', status: 200, tries: 1, askedAt: 1001.2 + n, respondedAt: 1019.3 + n },
}))

const options = { queries: true, anonymise: false }
const kept = exchanges.map((exchange) => ({ exchange, endedMonotonic: exchange.startedMonotonic + 25, interval: 1 }))
/** Bytes are counted so that joined texts are also copied, as when they are written. */
const encoded = (count) => {
  let bytes = 0
  for (let at = 0; at < count; at++) bytes += Buffer.from(lineOf(kept[at % kept.length], 'US', options)).length
  return bytes / count
}

encoded(RECORDS / 4)
const rounds = Array.from({ length: ROUNDS }, () => {
  const before = process.cpuUsage()
  const bytes = encoded(RECORDS)
  return { us: process.cpuUsage(before).user / RECORDS, bytes }
})
table([
  {
    'CPU us a record': median(rounds.map(({ us }) => us)).toFixed(2),
    'bytes a record': Math.round(median(rounds.map(({ bytes }) => bytes))),
  },
])
