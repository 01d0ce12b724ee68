// The proxy with one static asset of 10 KB under `/`, in a process of its own.
import { createHash } from 'node:crypto'
import { readConfig } from '../../dist/src/config/load.js'
import { systemClock } from '../../dist/src/core/clock.js'
import { silentLog } from '../../dist/src/core/log.js'
import { openMetrics } from '../../dist/src/core/metrics/metrics.js'
import { WORKER_DEPLOYMENTS, WORKER_SCRIPTS, WORKER_VERSIONS } from '../../dist/src/core/model/worker.js'
import { domainId, WORKER_DOMAINS } from '../../dist/src/core/model/worker-routing.js'
import { account } from '../../dist/src/core/scope.js'
import { listenProxy } from '../../dist/src/edge/serve/server.js'
import { zoneOf, zoneTable } from '../../dist/src/edge/exchange/zones.js'
import { WorkerRegistry } from '../../dist/src/daemon/workers/registry.js'
import { openStore } from '../../dist/src/store/index.js'
import { memoryBlobs } from '../../dist/src/store/blobs/memory-blobs.js'
import { manifestBytes } from '../../dist/src/workers/assets/manifest.js'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const page = Buffer.from(process.argv[2], 'base64')
const config = readConfig(
  `accounts: [{ id: ${ACCOUNT}, name: Bench }]
zones: [{ id: 9f1839b6152d298aca64c4e906b6d074, account: ${ACCOUNT}, name: bench.test, origin: http://127.0.0.1:9 }]
proxy: { listen: 127.0.0.1:0 }`,
  'bench.yaml',
  {},
)
const store = await openStore('memory', { folder: '', log: silentLog, clock: systemClock })
const blobs = memoryBlobs(systemClock)
const asset = { blob: await blobs.put(page), size: page.length, type: 'text/html; charset=utf-8' }
const hash = createHash('sha256').update(page).digest('hex').slice(0, 32)
const manifest = await blobs.put(
  await manifestBytes(
    { '/index.html': { hash, size: page.length } },
    () => asset,
    async () => {},
  ),
)
const scope = account(ACCOUNT)
const version = { id: 'v1', script: 'site', compatibility_flags: [], assets: { manifest, config: {} } }
const deployment = { id: 'd1', script: 'site', versions: [{ version_id: 'v1', percentage: 100 }] }
const domain = { id: domainId('bench.test'), hostname: 'bench.test', service: 'site', enabled: true }
await store.batch([
  { kind: WORKER_VERSIONS, scope, id: 'v1', value: version },
  { kind: WORKER_DEPLOYMENTS, scope, id: 'd1', value: deployment },
  { kind: WORKER_SCRIPTS, scope, id: 'site', value: { name: 'site', versions: ['v1'], deployments: ['d1'] } },
  { kind: WORKER_DOMAINS, scope, id: domain.id, value: domain },
])
const metrics = openMetrics({ process: false })
const geo = { find: () => ({}), update() {} }
const proxy = await listenProxy(config.proxy, {
  zones: { current: zoneTable([zoneOf(config.zones[0])]) },
  workers: new WorkerRegistry({ store, blobs, geo, clock: systemClock, metrics }, { cacheBytes: 64 * 1024 * 1024 }),
  clock: systemClock,
  log: silentLog,
  metrics,
})
process.send({ port: proxy.port })
process.on('SIGTERM', () => process.exit(0))
