// npm run bench -- NAME [--short] [options]: one benchmark. `all` runs one after the other. In the short form they only show
// that they work. Builds nothing itself: `npm run bench` has built the product before.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { fileURLToPath } from 'node:url'

const BENCHMARKS = {
  markdown: 'HTML to Markdown against turndown, mdream, kreuzberg, rehype-remark; latency; attack inputs',
  fidelity: 'Markdown against the documents that pages were rendered from, and main content against marked texts',
  tokens: 'the estimate of x-markdown-tokens against tokenizers of language models',
  proxy: 'CPU per request of the proxy against http-proxy, and nginx and Caddy where installed',
  floor:
    'user and system time and allocated bytes of a request by kind, beside nginx and a bare pass-through in Node.js',
  overhead: 'CPU that access log, traces at 1 %, metrics by zone and the history add to a request',
  history: 'counts of 100 zones of 1,000 paths over 30 days: size on disk, memory, slowest query, cost of a request',
  'request-log': 'the line of a finished request that is kept: CPU, bytes',
  agents: 'recognition of agents: a new signature, one that was seen, a User-Agent; the hint of a page',
  options: '100 paths of a zone, compress where nothing is compressed, rules in the file beside rules by API',
  assets: 'a static asset of 10 KB: CPU per request and requests/s, beside nginx where installed',
  cache: 'cached responses: CPU per hit beside nginx and Varnish, hit ratio beside LRU, coalescing, Markdown',
  rules: 'the rules language against a linear pass and npm expression engines',
  limits: 'rate limits: time for each request, memory for a million keys',
  records: 'log records: NDJSON to CSV against JSON.parse and string formatting',
  formats: 'lines of access logs, logfmt and patterns beside JSON: CPU per line',
  parquet: 'Parquet files of a million records beside NDJSON with gzip and DuckDB: CPU, memory, size',
  transform: 'records through a module at 10,000 records/s: CPU per record in the pipeline and in the module',
  spool: 'the durable log spool: appending, reading for one job and for eight, events, start with 1 GB',
  jobs: 'jobs of log push from the spool to gzip batches: one, eight, large batches, memory',
  'logpush-daemon': 'the daemon with one job and with eight: CPU from ingest to delivery, memory',
  'logpush-backlog': 'the daemon with 1 GB of log spool: start, memory while destinations are down and afterwards',
  webhooks: 'durable accepts and deliveries of webhooks against BullMQ with got, where redis-server is installed',
  'webhooks-hostile': 'webhooks to receivers that send 1 GB, trickle, hang or reset: memory, delay of healthy ones',
  logpush: 'files and spools to CSV files, against JSON.parse, and syslog-ng, rsyslog, Miller where installed',
  scale: 'processes, machines, 10,000 zones, changes on another machine, spools on NATS; parts by name',
  control: 'the API at 10 and at 10,000 stored rulesets',
  rulesets: 'writes of a ruleset of 1,000 rules: time, and the longest turn of the event loop',
  workers:
    'a hello Worker beside workerd alone, nginx and miniflare: CPU; uploads; start and memory of 1, 100, 300 scripts',
}

/** A benchmark of `all` that takes longer in the short form has failed. */
const SHORT_LIMIT_MS = 240_000

const given = process.argv.slice(2)
const [name = '', ...options] = given.filter((each) => each !== '--short')
if (given.includes('--short')) process.env.EDGED_BENCH_SHORT = '1'
const IS_SHORT = process.env.EDGED_BENCH_SHORT === '1'
if (name !== 'all' && !(name in BENCHMARKS)) {
  for (const [known, about] of Object.entries({
    ...BENCHMARKS,
    all: 'each of them, or those that are named, one after the other',
  }))
    console.error(`npm run bench -- ${known.padEnd(10)} ${about}`)
  process.exit(name === '' ? 0 : 2)
}

const here = fileURLToPath(new URL('.', import.meta.url))
if (!existsSync(`${here}node_modules`)) {
  console.error('installing the peers (test/bench/package.json) ...')
  try {
    execFileSync('npm', ['install', '--no-package-lock', '--no-audit', '--no-fund'], {
      cwd: here,
      stdio: ['ignore', 'ignore', 'inherit'],
    })
  } catch {
    console.error('npm cannot install the peers: their rows are left out')
  }
}
if (name === 'all')
  await runAll(Object.keys(BENCHMARKS).filter((each) => options.length === 0 || options.includes(each)))
else {
  process.argv.splice(2, process.argv.length, ...options)
  await import(`./${name}.mjs`)
}

/**
 * Fails if one of the benchmarks throws or prints no figures, twice: a busy machine may give a server no CPU time at all.
 * The short form, whose figures mean nothing, runs one for each core at the same time.
 */
async function runAll(names) {
  const failures = []
  const waiting = [...names]
  const lane = async () => {
    for (let each = waiting.shift(); each !== undefined; each = waiting.shift()) {
      const began = performance.now()
      const first = await failureOf(each)
      if (first !== undefined) console.error(`${each}: ${first}; once more`)
      const failure = first && (await failureOf(each))
      console.log(`(${each}: ${((performance.now() - began) / 1000).toFixed(1)} s)`)
      if (failure !== undefined) failures.push(`${each}: ${failure}`)
    }
  }
  await Promise.all(Array.from({ length: IS_SHORT ? availableParallelism() : 1 }, lane))
  if (failures.length === 0) return
  console.error(`\nfailed:\n${failures.join('\n')}`)
  process.exitCode = 1
}

/** Runs a benchmark in a process of its own. Returns what is wrong with it. */
async function failureOf(benchmark) {
  // The processes that it starts end with it.
  const child = spawn(process.execPath, [fileURLToPath(import.meta.url), benchmark], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  })
  let text = ''
  if (!IS_SHORT) console.log(`\n== ${benchmark}`)
  child.stdout.on('data', (chunk) => {
    text += chunk
    if (!IS_SHORT) process.stdout.write(chunk)
  })
  let isLate = false
  const end = () => process.kill(-Number(child.pid), 'SIGKILL')
  const timer = IS_SHORT && setTimeout(() => end((isLate = true)), SHORT_LIMIT_MS)
  const [code, signal] = await once(child, 'close')
  clearTimeout(timer)
  // In one piece, because another benchmark runs at the same time.
  if (IS_SHORT) process.stdout.write(`\n== ${benchmark}\n${text}`)
  if (isLate) return `not finished after ${SHORT_LIMIT_MS / 1000} s`
  if (code !== 0) return `ended with ${code ?? signal}`
  return figuresMissing(text)
}

function figuresMissing(text) {
  const wrong = /^.*\b(?:NaN|Infinity|undefined)\b.*$/m.exec(text)
  if (wrong) return `no figure in: ${wrong[0]}`
  return /(?<![\w.])\d/.test(text) || /not installed|^skipped: /m.test(text) ? undefined : 'no figures'
}
