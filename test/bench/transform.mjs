// The cost of a transform: CPU us per record at a steady rate through an http source, its spool and CSV files with gzip, in
// the process of the pipeline and in the process of the module, beside the same pipeline without one. Cases take turns.
//
//   npm run bench -- transform [--rate 10000] [--seconds 10] [--rounds 3]
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { findWorkerd } from '../../dist/src/workers/runtime/binary.js'
import { FIELDS, line } from './log-records.mjs'
import { median, sized, table } from './measure.mjs'

const option = (name, fallback) =>
  process.argv.includes(name) ? Number(process.argv[process.argv.indexOf(name) + 1]) : fallback
const RATE = option('--rate', sized(10_000, 2000))
const SECONDS = option('--seconds', sized(10, 1))
const ROUNDS = option('--rounds', sized(3, 1))
/** Requests per second of the sender. */
const REQUESTS = 10
/** Seconds before the measurement, in which code is compiled. */
const WARM_SECONDS = sized(4, 1)

const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
const MODULES = {
  'same.js': 'export default { record: (record) => record }',
  'clean.js': `export default {
    record(record) {
      const uri = record.ClientRequestURI ?? record.target
      if (uri === '/health') return null
      record.Path = uri.split('?')[0].toLowerCase()
      record.Slow = (record.EdgeResponseBytes ?? record.bytes) > 100_000
      return record
    },
  }`,
}
const large = Array.from({ length: 1000 }, (_, record) => line(record))
const small = Array.from(
  { length: 1000 },
  (_, n) =>
    `{"remote_addr":"203.0.113.${n % 250}","time":"2026-11-21T13:00:00Z","method":"GET","target":"/products/${n}/reviews?page=2","status":200,"bytes":18${n},"referer":"https://www.example.com/products/${n}","user_agent":"Mozilla/5.0 (X11; Linux x86_64) Chrome/142.0.0.0"}\n`,
)
const OF_LARGE = { dataset: 'http_requests', output_options: { output_type: 'csv', field_names: FIELDS } }
const fields = ['time', 'target', 'status', 'bytes']
const OF_SMALL = { dataset: 'any', output_options: { output_type: 'csv', field_names: fields } }
const runs = findWorkerd() !== undefined
if (!runs) console.log('workerd is not installed: only pipelines without a transform are measured')
const CASES = [
  ['2.2 KB, no transform', large, OF_LARGE],
  ['2.2 KB, the same record', large, { ...OF_LARGE, transform: './same.js' }],
  ['2.2 KB, two fields added', large, { ...OF_LARGE, transform: './clean.js' }],
  ['0.3 KB, no transform', small, OF_SMALL],
  ['0.3 KB, the same record', small, { ...OF_SMALL, transform: './same.js' }],
  ['0.3 KB, two fields added', small, { ...OF_SMALL, transform: './clean.js' }],
].filter(([, , { transform }]) => runs || transform === undefined)

/** Sends records at the rate for some seconds. */
async function send(url, lines, seconds) {
  const count = Math.round(RATE / REQUESTS)
  const body = Buffer.from(Array.from({ length: count }, (_, at) => lines[at % lines.length]).join(''))
  const begin = performance.now()
  for (let request = 1; request <= seconds * REQUESTS; request++) {
    const response = await fetch(url, { method: 'POST', body })
    if (response.status !== 202) throw new Error(`the source responded with ${response.status}`)
    await response.text()
    const ms = begin + (request * 1000) / REQUESTS - performance.now()
    if (ms > 0) await setTimeout(ms)
  }
  return { records: count * seconds * REQUESTS, seconds: (performance.now() - begin) / 1000 }
}

async function measured(number, lines, of) {
  const own = join(folder, String(number))
  const text = JSON.stringify({
    source: { http: '127.0.0.1:0' },
    destination_conf: `file://${own}-out?gzip=true`,
    max_upload_interval_seconds: 2,
    ...of,
  })
  const child = fork(new URL('./transform-child.mjs', import.meta.url), [text, join(folder, `${number}.yaml`)])
  try {
    const [{ url }] = await once(child, 'message')
    const usage = async () => {
      child.send('usage')
      return (await once(child, 'message'))[0]
    }
    const delivered = async (count) => {
      for (;;) {
        const now = await usage()
        if (now.delivered >= count) return now
        await setTimeout(50)
      }
    }
    const warm = await send(url, lines, WARM_SECONDS)
    const before = await delivered(warm.records)
    const { records, seconds } = await send(url, lines, SECONDS)
    const after = await delivered(warm.records + records)
    child.send('stop')
    await once(child, 'exit')
    const us = (name) => ((after[name] - before[name]) / records) * 1e6
    return { own: us('own'), runtime: us('runtime'), rate: records / seconds }
  } finally {
    child.kill('SIGKILL')
  }
}

try {
  for (const [name, source] of Object.entries(MODULES)) writeFileSync(join(folder, name), source)
  const results = CASES.map(() => [])
  for (let round = 0; round < ROUNDS; round++)
    for (const [index, [, lines, of]] of CASES.entries())
      results[index].push(await measured(`${round}-${index}`, lines, of))
  const of = (index, what) => median(results[index].map((result) => result[what]))
  console.log(`${RATE} records/s for ${SECONDS} s, ${ROUNDS} rounds, CPU us per record`)
  table(
    CASES.map(([name], index) => {
      const [own, runtime] = [of(index, 'own'), of(index, 'runtime')]
      return {
        case: name,
        pipeline: own.toFixed(1),
        module: runtime.toFixed(1),
        'in all': (own + runtime).toFixed(1),
        'of one core': `${(((own + runtime) * RATE) / 1e4).toFixed(0)} %`,
        'records/s': Math.round(of(index, 'rate')),
      }
    }),
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
