// Made records of http_requests, 2.2 KB each, the same for the same number.
import { DATASETS } from '../../dist/pipelines/records/index.js'

/** What the benchmarks take of a record. */
export const FIELDS = [
  'RayID',
  'EdgeStartTimestamp',
  'ClientIP',
  'ClientRequestHost',
  'ClientRequestMethod',
  'ClientRequestURI',
  'ClientRequestUserAgent',
  'EdgeResponseStatus',
  'EdgeResponseBytes',
  'CacheCacheStatus',
  'OriginResponseStatus',
  'ClientCountry',
]
export const HOSTS = ['a', 'b', 'c', 'd', 'e'].map((name) => `${name}.example.test`)
const AGENT = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36'
export const dataset = DATASETS.get('http_requests')

// 75 of them, which make 2.2 KB.
const NAMES = dataset.names.filter((name, place) => FIELDS.includes(name) || place < 73)

/** A share between 0 and 1 that follows from the number of the record and of the field. */
const share = (record, field) => Math.abs(Math.sin(record * 12.9898 + field * 78.233) * 43758.5453) % 1

const OWN = {
  ClientRequestHost: (record) => JSON.stringify(HOSTS[record % HOSTS.length]),
  ClientRequestUserAgent: (record) => JSON.stringify(`${AGENT} "${record % 7}"`),
  ClientRequestURI: (record) => JSON.stringify(`/shop/item/${record}?ref=${Math.floor(share(record, 1) * 1e6)}`),
  EdgeResponseStatus: (record) => String([200, 200, 304, 404, 503][Math.floor(share(record, 2) * 5)]),
  RayID: (record) => `"8a${(record * 2654435761).toString(16).padStart(14, '0')}"`,
}
const BY_TYPE = {
  string: (record, field) => `"${Math.floor(share(record, field) * 2 ** 20).toString(36)}"`,
  int: (record, field) => String(Math.floor(share(record, field) * 1e6)),
  float: (record, field) => String(share(record, field)),
  bool: (record, field) => String(share(record, field) < 0.5),
  timestamp: (record) => `1795266000${String(record * 1000).padStart(9, '0')}`,
  object: () => '{"x-forwarded-proto":"https"}',
  'array[string]': () => '["one","two"]',
  'array[int]': () => '[1,22,333]',
  'array[object]': () => '[]',
}

/** One record as a line. */
export function line(record) {
  const members = NAMES.map((name) => {
    const field = dataset.places.get(name)
    const value = (OWN[name] ?? BY_TYPE[dataset.types[field]])(record, field)
    return `"${name}":${value}`
  })
  return `{${members.join(',')}}\n`
}

/** So many records as NDJSON. */
export const lines = (count) => Buffer.from(Array.from({ length: count }, (_, record) => line(record)).join(''))
