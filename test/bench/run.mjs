// npm run bench -- NAME [options]: one benchmark. Builds nothing itself: `npm run bench` has built the product before.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const BENCHMARKS = {
  markdown: 'HTML to Markdown against turndown, mdream, kreuzberg, rehype-remark; latency; attack inputs',
  tokens: 'the estimate of x-markdown-tokens against tokenizers of language models',
  proxy: 'CPU per request of the proxy against http-proxy, and nginx and Caddy where installed',
  overhead: 'CPU that access log, traces at 1 % and metrics by zone add to a request',
  assets: 'a static asset of 10 KB: CPU per request and requests/s, beside nginx where installed',
  cache: 'cached responses: CPU per hit beside nginx and Varnish, hit ratio beside LRU, coalescing, Markdown',
  rules: 'the rules language against a linear pass and npm expression engines',
  limits: 'rate limits: time for each request, memory for a million keys',
  records: 'log records: NDJSON to CSV against JSON.parse and string formatting',
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
  workers: 'a hello Worker beside workerd alone and miniflare; uploads; start and memory of 1, 100, 300 scripts',
}

const [name = '', ...options] = process.argv.slice(2)
if (!(name in BENCHMARKS)) {
  for (const [known, about] of Object.entries(BENCHMARKS))
    console.error(`npm run bench -- ${known.padEnd(10)} ${about}`)
  process.exit(name === '' ? 0 : 2)
}

const here = fileURLToPath(new URL('.', import.meta.url))
if (!existsSync(`${here}node_modules`)) {
  console.error('installing the peers (test/bench/package.json) ...')
  execFileSync('npm', ['install', '--no-package-lock'], { cwd: here, stdio: ['ignore', 'ignore', 'inherit'] })
}
process.argv.splice(2, process.argv.length, ...options)
await import(`.//${name}.mjs`)
