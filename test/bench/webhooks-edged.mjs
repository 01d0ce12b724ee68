// edged's queue and sender on its embedded store: durable accepts from 64 callers, then deliveries with their CPU.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cpuSeconds } from './measure.mjs'
import { ACCOUNT, payloadOf, URL_OF } from './webhooks-load.mjs'
const from = async (path) => await import(`../../dist/src/${path}.js`)
const { openStore } = await from('store/index')
const { silentLog } = await from('core/log')
const { systemClock: clock } = await from('core/clock')
const { openMetrics } = await from('core/metrics')
const { DELIVERY_STATES } = await from('core/model/delivery')
const { newOrderedUuid, newUuid } = await from('core/ids')
const { WEBHOOKS } = await from('core/model/webhook')
const { startWebhooks } = await from('webhooks/index')
const { GuardedEgress, readEgress } = await from('net/guarded-egress')

const [store, port, count, webhooks, clients] = [process.argv[2], ...process.argv.slice(3).map(Number)]
const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
const log = silentLog
const metrics = openMetrics({ process: false })
const opened = await openStore(store, { folder, log, clock })
const rules = await readEgress({
  allow_cidrs: [`127.0.0.1/32:${port}`],
  ca_file: fileURLToPath(new URL('../fixtures/tls/ca.pem', import.meta.url)),
  resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
})
const egress = new GuardedEgress(rules, { log, metrics })
const config = {
  retry_schedule: [5000],
  timeout: 15_000,
  tries: { at_once: 256, per_destination: 4 },
  breaker: { failures: 10, open: 30_000, most: 900_000 },
  disable_after: 0,
  drain_timeout: 1000,
  keep: { jobs: 1e9, age: 1e12 },
  quotas: { pending: 1e9, pending_bytes: 1e12 },
}
const at = new Date().toISOString()
const hook = (id, status) => ({
  id,
  label: 'bench',
  destination_url: URL_OF(port),
  authentication_type: 'None',
  status,
  version: 1,
  created_at: at,
  updated_at: at,
  headers: [],
})
const ids = Array.from({ length: webhooks }, newUuid)
const set = async (status) =>
  await opened.batch(ids.map((id) => ({ kind: WEBHOOKS, scope: ACCOUNT, id, value: hook(id, status) })))
await set('disabled')
const { deliveries, close } = startWebhooks({
  store: opened,
  vault: { open: (text) => text },
  egress,
  clock,
  log,
  metrics,
  config: () => config,
  ...(store !== 'embedded' && { sharedAs: 'bench' }),
})

let completed = 0
const over = new Promise((resolve) => {
  opened.watch((changes) => {
    for (const { kind, value } of changes)
      if (kind === DELIVERY_STATES.name && value.status === 'completed') completed++
    if (completed === count) resolve()
  })
})

let made = 0
const client = async () => {
  while (made < count) {
    const id = newOrderedUuid(Date.now())
    const delivery = {
      id,
      webhook_id: ids[made++ % webhooks],
      finding_instance_id: newUuid(),
      integration_id: 'i',
      created_at: new Date().toISOString(),
      triggered_by_actor: 'user',
      triggered_by_id: 'u',
      payload: payloadOf(id),
    }
    await deliveries.accept(ACCOUNT, [delivery])
  }
}
const started = performance.now()
const acceptCpu = await cpuSeconds(() => Promise.all(Array.from({ length: clients }, client)))
const accepting = (performance.now() - started) / 1000

const sending = performance.now()
const cpu = await cpuSeconds(async () => {
  await set('enabled')
  await over
})
process.send({
  accepts: made / accepting,
  acceptCpu: made / acceptCpu,
  deliveries: count / cpu,
  each: count / ((performance.now() - sending) / 1000),
})
await close()
await opened.close()
rmSync(folder, { recursive: true })
process.exit()
