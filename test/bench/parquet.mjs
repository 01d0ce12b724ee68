// Parquet files of http_requests of 2.2 KB with all their fields: CPU and memory of `edged run` beside NDJSON with gzip, and
// beside the writer of DuckDB where it is installed (npm install --prefix test/peers). Each run is a process of its own,
// start included. The files are read by hyparquet and by DuckDB, which must find all records.
//
//   npm run bench -- parquet [--records 1000000] [--rounds 1]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, linkSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { line } from './log-records.mjs'
import { median, sized, table } from './measure.mjs'

const option = (name, fallback) =>
  process.argv.includes(name) ? Number(process.argv[process.argv.indexOf(name) + 1]) : fallback
const RECORDS = option('--records', sized(1_000_000, 2000))
const ROUNDS = option('--rounds', 1)
/** Records of the file that makes up the input, by several names. */
const PART = Math.min(RECORDS, 100_000)
const PARTS = Math.ceil(RECORDS / PART)

const here = (name) => fileURLToPath(new URL(name, import.meta.url))
const hasDuckDb = existsSync(here('../peers/node_modules/@duckdb/node-api'))
const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
const inputs = Array.from({ length: PARTS }, (_, n) => join(folder, `requests-${n}.ndjson`))

async function generate() {
  const file = await open(inputs[0], 'w')
  let sum = 0
  for (let record = 0; record < PART; record += 1000) {
    const lines = Array.from({ length: Math.min(1000, PART - record) }, (_, at) => line(record + at))
    for (const text of lines) sum += Number(/"EdgeResponseStatus":(\d+)/.exec(text)[1])
    await file.write(lines.join(''))
  }
  await file.close()
  for (const name of inputs.slice(1)) linkSync(inputs[0], name)
  return { count: PART * PARTS, sum: sum * PARTS, ids: PART }
}

/** Runs a process that tells on file descriptor 3 what it took. */
async function child(file, ...args) {
  const started = spawn(process.execPath, [here(file), ...args], { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
  let told = ''
  started.stdio[3].on('data', (text) => (told += text))
  const [code] = await once(started, 'close')
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}`)
  return JSON.parse(told)
}

/** Runs a pipeline to files in a folder. */
async function pipeline(out, query) {
  const file = join(folder, 'pipeline.yaml')
  rmSync(`${file}.state`, { recursive: true, force: true })
  const limits = { max_upload_records: 1_000_000, max_upload_bytes: 1_000_000_000, max_upload_interval_seconds: 300 }
  const document = {
    source: { file: inputs },
    dataset: 'http_requests',
    output_options: { field_names: Object.keys(JSON.parse(line(0))) },
    ...limits,
    destination_conf: `file://${out}?${query}`,
  }
  writeFileSync(file, JSON.stringify(document))
  return await child('./logpush-child.mjs', 'run', file)
}

const paths = (out) =>
  statSync(out).isFile() ? [out] : readdirSync(out, { recursive: true }).map((name) => join(out, name))
const bytesOf = (out) => paths(out).reduce((sum, path) => sum + statSync(path).size, 0)

async function readByHyparquet(out) {
  const ids = new Set()
  let [count, sum] = [0, 0]
  for (const path of paths(out)) {
    const rows = await parquetReadObjects({
      file: await asyncBufferFromFile(path),
      columns: ['RayID', 'EdgeResponseStatus'],
    })
    for (const { RayID, EdgeResponseStatus } of rows) {
      ids.add(RayID)
      count++
      sum += Number(EdgeResponseStatus)
    }
  }
  return { count, sum, ids: ids.size }
}

const RUNS = {
  'edged run, NDJSON with gzip': async (out) => await pipeline(out, 'gzip=true'),
  'edged run, Parquet': async (out) => await pipeline(out, 'format=parquet'),
  ...(hasDuckDb && { 'DuckDB, Parquet': async (out) => await child('./parquet-child.mjs', 'write', out, ...inputs) }),
}
if (!hasDuckDb) console.log('DuckDB is not installed: npm install --prefix test/peers')

try {
  const expected = await generate()
  const results = Object.fromEntries(Object.keys(RUNS).map((name) => [name, []]))
  const same = (reader, found) => {
    for (const [name, value] of Object.entries(expected))
      if (found[name] !== value) throw new Error(`${reader} read ${name} ${found[name]} instead of ${value}`)
  }
  for (let round = 0; round < ROUNDS; round++)
    for (const [name, run] of Object.entries(RUNS)) {
      const out = join(folder, name.replaceAll(/\W+/g, '-'))
      rmSync(out, { recursive: true, force: true })
      const result = await run(out)
      results[name].push({ ...result, bytes: bytesOf(out) })
      if (name !== 'edged run, Parquet' || round > 0) continue
      same('hyparquet', await readByHyparquet(out))
      if (hasDuckDb) same('DuckDB', await child('./parquet-child.mjs', 'read', out))
    }
  const of = (name, what) => median(results[name].map((result) => result[what]))
  const first = Object.keys(RUNS)[0]
  console.log(
    `${expected.count} records of ${Math.round(statSync(inputs[0]).size / PART)} bytes, read back equal by ${hasDuckDb ? 'hyparquet and DuckDB' : 'hyparquet'}`,
  )
  table(
    Object.keys(RUNS).map((name) => ({
      run: name,
      'CPU s per million': ((of(name, 'cpu') / expected.count) * 1e6).toFixed(1),
      'x NDJSON': (of(name, 'cpu') / of(first, 'cpu')).toFixed(2),
      'peak RSS MB': Math.round(of(name, 'rss') / 1000),
      'bytes per record': Math.round(of(name, 'bytes') / expected.count),
    })),
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
