// Log records: CPU seconds per million of 2.2 KB http_requests, NDJSON in, 12 fields as CSV out, two of five hosts kept,
// against JSON.parse of each line and compiled string formatting. One process, in turn; both outputs must be the same.
//
//   npm run bench -- records [--rounds 5] [--records 20000]
import { BatchText, compileFilter, compileFormat, sampler, Scanner } from '../../dist/pipelines/records/index.js'
import { dataset, FIELDS, HOSTS, lines } from './log-records.mjs'
import { cpuSeconds, median, sized, table } from './measure.mjs'

const option = (name, fallback) => Number(process.argv[process.argv.indexOf(name) + 1] || fallback)
const ROUNDS = process.argv.includes('--rounds') ? option('--rounds') : sized(5, 1)
const RECORDS = process.argv.includes('--records') ? option('--records') : sized(20_000, 2000)

const KEPT = new Set(HOSTS.slice(0, 2))

const input = lines(RECORDS)
const filter = { where: { key: 'ClientRequestHost', operator: 'in', value: [...KEPT] } }
const keeps = compileFilter(dataset, JSON.stringify(filter))
const samples = sampler(1, 'bench')
const scanner = new Scanner(dataset)
const batch = new BatchText(
  compileFormat(dataset, { output_type: 'csv', field_names: FIELDS, timestamp_format: 'rfc3339' }),
)

function scanned(keep) {
  let position = 0
  for (let start = 0, end; (end = input.indexOf(10, start)) >= 0; start = end + 1) {
    const record = scanner.scan(input, start, end)
    if (keep(record) && samples(position++)) batch.add(record)
  }
  return batch.close()
}

const csvText = (text) => `"${text.replaceAll('"', '""')}"`
const write = (value) => (typeof value === 'string' ? csvText(value) : String(value ?? ''))
// Milliseconds are all that is left of a nanosecond timestamp here, which is enough for seconds.
const time = (value) => `"${new Date(Math.floor(value / 1e9) * 1000).toISOString().slice(0, 19)}Z"`
const formatters = FIELDS.map((name) =>
  name === 'EdgeStartTimestamp' ? (record) => time(record[name]) : (record) => write(record[name]),
)

function parsed(keep) {
  const parts = []
  for (let start = 0, end; (end = input.indexOf(10, start)) >= 0; start = end + 1) {
    const record = JSON.parse(input.toString('utf8', start, end))
    if (!keep(record)) continue
    let text = formatters[0](record)
    for (let i = 1; i < formatters.length; i++) text += ',' + formatters[i](record)
    parts.push(text + '\n')
  }
  return Buffer.from(parts.join(''))
}

const ALL = () => true
const RUNS = {
  'edged, 2 hosts of 5': () => scanned(keeps),
  'JSON.parse, 2 hosts of 5': () => parsed(({ ClientRequestHost }) => KEPT.has(ClientRequestHost)),
  'edged, all kept': () => scanned(ALL),
  'JSON.parse, all kept': () => parsed(ALL),
}

const outputs = Object.entries(RUNS).map(([, run]) => Buffer.from(run()))
if (!outputs[0].equals(outputs[1]) || !outputs[2].equals(outputs[3])) throw new Error('the outputs differ')

const times = Object.fromEntries(Object.keys(RUNS).map((name) => [name, []]))
for (let round = 0; round < ROUNDS; round++) {
  for (const [name, run] of Object.entries(RUNS)) times[name].push(await cpuSeconds(() => void run()))
}
console.log(`${RECORDS} records of ${Math.round(input.length / RECORDS)} bytes`)
const names = Object.keys(RUNS)
table(
  names.map((name, i) => ({
    run: name,
    'CPU s per million': ((median(times[name]) / RECORDS) * 1e6).toFixed(2),
    'x JSON.parse': (median(times[name]) / median(times[names[i | 1]])).toFixed(2),
  })),
)
