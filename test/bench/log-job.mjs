// What a job makes of the records of `log-records.mjs`, and the same by way of JSON.parse and strings.
import { FIELDS, HOSTS } from './log-records.mjs'

/** Two of five hosts are kept. */
export const KEPT = new Set(HOSTS.slice(0, 2))
export const FILTER = { where: { key: 'ClientRequestHost', operator: 'in', value: [...KEPT] } }
export const OUTPUT = { output_type: 'csv', field_names: FIELDS, timestamp_format: 'rfc3339' }

/** A job like that with a filter and fields of its own, for each number. */
export function unlike(n) {
  const hosts = [HOSTS[n % HOSTS.length], HOSTS[(n + 1) % HOSTS.length]]
  const fields = [...FIELDS.slice(n), ...FIELDS.slice(0, n)]
  return {
    filter: JSON.stringify({ where: { key: 'ClientRequestHost', operator: 'in', value: hosts } }),
    output_options: { ...OUTPUT, field_names: fields },
  }
}

const csvText = (text) => `"${text.replaceAll('"', '""')}"`
const write = (value) => (typeof value === 'string' ? csvText(value) : String(value ?? ''))
// Milliseconds are all that is left of a nanosecond timestamp here, which is enough for seconds.
const time = (value) => `"${new Date(Math.floor(value / 1e9) * 1000).toISOString().slice(0, 19)}Z"`
const formatters = FIELDS.map((name) =>
  name === 'EdgeStartTimestamp' ? (record) => time(record[name]) : (record) => write(record[name]),
)

/** The line of CSV that a parsed record becomes, put together as a string. */
export function csvOf(record) {
  let text = formatters[0](record)
  for (let i = 1; i < formatters.length; i++) text += ',' + formatters[i](record)
  return text + '\n'
}
