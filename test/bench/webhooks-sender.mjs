// edged's queue and sender on a store, with webhooks at these paths of the receiver, disabled at first.
import { fileURLToPath } from 'node:url'
import { ACCOUNT, payloadOf, URL_OF } from './webhooks-load.mjs'
const from = async (path) => await import(`../../dist/src/${path}.js`)
const { openStore } = await from('store/index')
const { silentLog } = await from('core/log')
const { systemClock: clock } = await from('core/clock')
const { openMetrics } = await from('core/metrics/metrics')
const { DELIVERY_STATES } = await from('core/model/delivery')
const { newOrderedUuid, newUuid } = await from('core/ids')
const { WEBHOOKS } = await from('core/model/webhook')
const { startWebhooks } = await from('webhooks/index')
const { GuardedEgress, readEgress } = await from('egress/guarded-egress')

export async function benchSender(store, folder, port, paths) {
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
    attempts: { in_flight: 256, in_flight_per_destination: 4 },
    circuit_breaker: { failures: 10, open_for: 30_000, max_open_for: 900_000 },
    disable_after: 0,
    drain_timeout: 1000,
    retention: { jobs: 1e9, age: 1e12 },
    quotas: { pending: 1e9, pending_bytes: 1e12 },
  }
  const at = new Date().toISOString()
  const hooks = paths.map((path) => ({
    id: newUuid(),
    label: 'bench',
    destination_url: URL_OF(port, path),
    authentication_type: 'None',
    version: 1,
    created_at: at,
    updated_at: at,
    headers: [],
  }))
  const set = async (status) =>
    await opened.batch(
      hooks.map((hook) => ({ kind: WEBHOOKS, scope: ACCOUNT, id: hook.id, value: { ...hook, status } })),
    )
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

  const waiting = new Map()
  let ended = 0
  const enough = { count: Infinity, resolve() {} }
  opened.watch((changes) => {
    for (const { kind, id, value } of changes) {
      if (kind !== DELIVERY_STATES.name || value?.status !== 'completed') continue
      waiting.get(id)?.()
      waiting.delete(id)
      if (++ended === enough.count) enough.resolve()
    }
  })

  return {
    enable: async () => await set('enabled'),
    /** Accepts one delivery to the webhook of this number; its id. */
    async accept(number) {
      const id = newOrderedUuid(Date.now())
      const delivery = {
        id,
        webhook_id: hooks[number].id,
        finding_instance_id: newUuid(),
        integration_id: 'i',
        created_at: new Date().toISOString(),
        triggered_by_actor: 'user',
        triggered_by_id: 'u',
        payload: payloadOf(id),
      }
      await deliveries.accept(ACCOUNT, [delivery])
      return id
    },
    completed: async (id) =>
      deliveries.get(ACCOUNT, id)?.state.status === 'completed' || (await new Promise((done) => waiting.set(id, done))),
    /** Resolves when so many have been completed. */
    all: async (count) =>
      await new Promise((resolve) => {
        Object.assign(enough, { count, resolve })
        if (ended >= count) resolve()
      }),
    async close() {
      await close()
      await opened.close()
    },
  }
}
