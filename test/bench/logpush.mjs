// Log push: CPU seconds per million of 2.2 KB http_requests, NDJSON in, two of five hosts kept, 12 fields as CSV, gzip
// at its default level (peers: 6), files out. `edged run`, the same with reshaping, and, from the spool, a job of the daemon, against JSON.parse and string formatting, and against
// Miller, syslog-ng and rsyslog where installed. Each run is a process of its own, start included; rounds take turns.
// Then once: a million records through `edged run`, with the peak of its memory; and 100,000 records in batches of 1,000 to
// a receiver that responds after 200 ms, with one batch in flight and with four.
//
//   npm run bench -- logpush [--rounds 3] [--records 300000]
import { execFileSync, spawn } from 'node:child_process'
import { createServer } from 'node:http'
import { once } from 'node:events'
import {
  createReadStream,
  createWriteStream,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { median, sized, table } from './measure.mjs'
import { csvOf, FILTER, KEPT, OUTPUT } from './log-job.mjs'
import { FIELDS, line } from './log-records.mjs'

const option = (name, fallback) =>
  process.argv.includes(name) ? Number(process.argv[process.argv.indexOf(name) + 1]) : fallback
const ROUNDS = option('--rounds', sized(3, 1))
const RECORDS = option('--records', sized(300_000, 5000))

const MILLION = 1_000_000
/** For the run that shows the peak of the memory. */
const MANY = sized(MILLION, 10_000)
/** For the receiver that is slow. */
const FLOWN = option('--in-flight-records', sized(100_000, 5000))
const BATCH = 1000
const RECEIVER_MS = 200

const CHILD = fileURLToPath(new URL('./logpush-child.mjs', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
const input = join(folder, 'requests.ndjson')
const pipeline = join(folder, 'pipeline.yaml')
const reshaping = join(folder, 'reshaping.yaml')
/** Stages that most records pass: two values changed, one added, one left out, and repeated ones recognized. */
const STAGES = {
  redact: { ClientIP: 'address', ClientRequestURI: 'query' },
  set: { service: 'shop' },
  drop: ['ClientCountry'],
  dedupe: { field: 'RayID', window: '10m' },
  output_options: { output_type: 'csv', field_names: [...FIELDS.slice(0, -1), 'service'], timestamp_format: 'rfc3339' },
}
const out = join(folder, 'out')

async function generate(path, records) {
  const file = createWriteStream(path)
  for (let record = 0; record < records; record += 1000) {
    const count = Math.min(1000, records - record)
    const text = Array.from({ length: count }, (_, i) => line(record + i)).join('')
    if (!file.write(text)) await once(file, 'drain')
  }
  file.end()
  await once(file, 'close')
}

/** The job of this benchmark as a pipeline file. */
function writePipeline(path, file, more = {}) {
  const fixed = { dataset: 'http_requests', filter: FILTER, output_options: OUTPUT }
  writeFileSync(
    path,
    JSON.stringify({ source: { file }, ...fixed, destination_conf: `file://${out}?gzip=true`, ...more }),
  )
}

/** Many records: the input by several names. */
async function many() {
  const names = Array.from({ length: Math.ceil(MANY / RECORDS) }, (_, n) => join(folder, `many-${n}.ndjson`))
  for (const name of names) linkSync(input, name)
  const file = join(folder, 'many.yaml')
  writePipeline(file, names)
  rmSync(out, { recursive: true, force: true })
  const { cpu, rss } = await ours('run', file)
  const records = names.length * RECORDS
  return { records, perMillion: (cpu / records) * MILLION, rss: rss / 1000 }
}

/** Records per second to a slow receiver. */
async function inFlight(count, file, records) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => setTimeout(() => response.end(), RECEIVER_MS))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const limits = { max_upload_records: BATCH, in_flight: count, filter: undefined }
  writePipeline(pipeline, file, { ...limits, destination_conf: `http://127.0.0.1:${server.address().port}/` })
  const began = performance.now()
  await ours('run', pipeline)
  const seconds = (performance.now() - began) / 1000
  server.close().closeAllConnections()
  return records / seconds
}

/** What a slow reader of the input gives: the text that must come out. */
async function expected() {
  const parts = []
  for await (const text of createInterface({ input: createReadStream(input) })) {
    const record = JSON.parse(text)
    if (KEPT.has(record.ClientRequestHost)) parts.push(csvOf(record))
  }
  return parts.join('')
}

/** A process of ours, which tells what it took. */
async function ours(...args) {
  const child = spawn(process.execPath, [CHILD, ...args], { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] })
  let told = ''
  child.stdio[3].on('data', (text) => (told += text))
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}`)
  return JSON.parse(told)
}

/** Any other command, by what the shell says of its children. */
function theirs(command) {
  const text = execFileSync('sh', ['-c', `${command} >&2; times`], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const seconds = text
    .trim()
    .split('\n')
    .at(-1)
    .split(' ')
    .map((time) => {
      const [, minutes, rest] = /(\d+)m([\d.]+)s/.exec(time)
      return Number(minutes) * 60 + Number(rest)
    })
  return { cpu: seconds[0] + seconds[1] }
}

const installed = (name) => {
  try {
    execFileSync('sh', ['-c', `command -v ${name}`], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

const PEERS = {
  'Miller, gzip -6': {
    command: 'mlr',
    run: () =>
      theirs(
        `mlr --ijson --ocsv filter '$ClientRequestHost=="a.example.test"||$ClientRequestHost=="b.example.test"' ` +
          `then cut -o -f ${FIELDS.join(',')} ${input} | gzip -6 > ${join(folder, 'mlr.gz')}`,
      ),
  },
  'syslog-ng, gzip -6': { command: 'syslog-ng', run: syslogNg },
  'rsyslog, zip 6': { command: 'rsyslogd', run: rsyslog },
}

/** Runs a daemon until a file that it writes stops growing. */
function daemon(start, output) {
  const script = `${start} & pid=$!; last=-1; sleep 2; while size=$(wc -c < ${output} 2>/dev/null || echo 0); [ "$size" != "$last" ] || [ "$size" = 0 ]; do last=$size; sleep 3; done; kill $pid; wait $pid`
  return theirs(`(${script})`)
}

function syslogNg() {
  const conf = join(folder, 'syslog-ng.conf')
  const output = join(folder, 'syslog-ng.gz')
  for (const rest of ['syslog-ng.gz', 'ng.persist', 'ng.ctl', 'ng.pid']) rmSync(join(folder, rest), { force: true })
  const template = FIELDS.map((name) => `\${j.${name}}`).join(',')
  writeFileSync(
    conf,
    `@version: 3.38
options { keep-hostname(yes); stats-freq(0); };
source s { file("${input}" flags(no-parse) follow-freq(0.2) log-msg-size(65536)); };
parser p { json-parser(prefix("j.")); };
filter f { match("^[ab]\\\\.example\\\\.test$" value("j.ClientRequestHost")); };
destination d { program("gzip -6 > ${output}" template("${template}\\n")); };
log { source(s); parser(p); filter(f); destination(d); };
`,
  )
  const state = `-R ${folder}/ng.persist -c ${folder}/ng.ctl --pidfile ${folder}/ng.pid`
  return daemon(`syslog-ng -F --no-caps -f ${conf} ${state}`, output)
}

function rsyslog() {
  const conf = join(folder, 'rsyslog.conf')
  const output = join(folder, 'rsyslog.gz')
  const work = join(folder, 'rsyslog')
  rmSync(work, { recursive: true, force: true })
  rmSync(output, { force: true })
  mkdirSync(work)
  const fields = FIELDS.map((name) => `property(name="$!${name}" format="csv")`).join(' constant(value=",") ')
  writeFileSync(
    conf,
    `global(workDirectory="${work}" maxMessageSize="64k")
module(load="imfile") module(load="mmjsonparse")
template(name="csv" type="list") { ${fields} constant(value="\\n") }
input(type="imfile" file="${input}" tag="a" freshStartTail="off" ruleset="r")
ruleset(name="r") {
  action(type="mmjsonparse" cookie="")
  if $!ClientRequestHost == "a.example.test" or $!ClientRequestHost == "b.example.test" then
    action(type="omfile" file="${output}" template="csv" zipLevel="6" flushOnTXEnd="off")
}
`,
  )
  return daemon(`rsyslogd -n -f ${conf} -i ${folder}/rsyslog.pid`, output)
}

try {
  await generate(input, RECORDS)
  writePipeline(pipeline, input)
  writePipeline(reshaping, input, STAGES)
  const text = await expected()
  const check = (paths) => {
    const found = paths.map((path) => gunzipSync(readFileSync(path)).toString()).join('')
    if (found !== text) throw new Error(`the output differs: ${found.length} characters, ${text.length} expected`)
  }
  const RUNS = {
    'JSON.parse, strings': () => ours('baseline', input, join(folder, 'baseline.gz')),
    'edged run': () => ours('run', pipeline),
    'edged run, reshaping': () => ours('run', reshaping),
    'spool, 1 job': () => ours('spool', input, join(folder, 'spool-1'), '1'),
    'spool, 8 jobs, the same': () => ours('spool', input, join(folder, 'spool-8'), '8'),
    'spool, 8 jobs, all different': () => ours('spool', input, join(folder, 'spool-8'), '8', 'differ'),
  }
  for (const [name, { command, run }] of Object.entries(PEERS)) {
    if (installed(command)) RUNS[name] = run
    else console.log(`${command} is not installed`)
  }
  const taken = Object.fromEntries(Object.keys(RUNS).map((name) => [name, []]))
  for (let round = 0; round < ROUNDS; round++) {
    for (const [name, run] of Object.entries(RUNS)) {
      rmSync(out, { recursive: true, force: true })
      taken[name].push(await run())
      if (name === 'JSON.parse, strings') check([join(folder, 'baseline.gz')])
      if (name === 'edged run')
        check(
          readdirSync(out)
            .sort()
            .map((file) => join(out, file)),
        )
    }
  }
  console.log(`${RECORDS} records of ${Math.round(statSync(input).size / RECORDS)} bytes`)
  const of = (name, what) => median(taken[name].map((result) => result[what]))
  const cpu = (name) => of(name, 'cpu')
  table(
    Object.keys(RUNS).map((name) => ({
      run: name,
      'CPU s per million': ((cpu(name) / RECORDS) * 1e6).toFixed(2),
      'x JSON.parse': (cpu(name) / cpu('JSON.parse, strings')).toFixed(2),
      'peak RSS MB': Math.round(Math.max(...taken[name].map(({ rss = 0 }) => rss)) / 1000) || '',
    })),
  )
  const times = (name, one) => `${(cpu(name) / cpu(one)).toFixed(2)}x`
  const eight = (what) => times(`spool, 8 jobs, ${what}`, 'spool, 1 job')
  console.log(
    `8 jobs cost ${eight('the same')} one job where they are the same, ${eight('all different')} where they differ`,
  )
  const [elapsed, main] = ['seconds', 'main'].map(
    (what) => `${(of('spool, 8 jobs, all different', what) / of('spool, 1 job', what)).toFixed(2)}x`,
  )
  console.log(
    `where they differ: ${elapsed} the elapsed time on ${availableParallelism()} cores, ${main} the time of the main thread`,
  )
  for (const name of Object.keys(PEERS))
    if (name in RUNS) console.log(`edged run costs ${times('edged run', name)} ${name}`)

  const whole = await many()
  console.log(
    `${whole.records} records through edged run: ${whole.perMillion.toFixed(2)} CPU s per million, peak RSS ${whole.rss.toFixed(0)} MB`,
  )
  const few = join(folder, 'in-flight.ndjson')
  await generate(few, FLOWN)
  const one = await inFlight(1, few, FLOWN)
  const four = await inFlight(4, few, FLOWN)
  console.log(
    `${FLOWN} records in batches of ${BATCH} to a receiver of ${RECEIVER_MS} ms: in_flight 1 ${Math.round(one)} records/s, ` +
      `in_flight 4 ${Math.round(four)} records/s (${(four / one).toFixed(2)}x), start and end of the process included`,
  )
} finally {
  rmSync(folder, { recursive: true, force: true })
}
