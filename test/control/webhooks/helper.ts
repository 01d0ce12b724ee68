import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { basicEndpoints } from '../../../control/index.js'
import { posture } from '../../../control/webhooks/index.js'
import type { ControlConfig } from '../../../control/http/context.js'
import type { WebhookServices } from '../../../control/webhooks/services.js'
import type { LogRecord } from '../../../src/core/emit.js'
import { DELIVERIES, type Destination, type Evaluation } from '../../../src/core/model/delivery.js'
import { WEBHOOKS as STORED } from '../../../src/core/model/webhook.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { account } from '../../../src/core/scope.js'
import { NotPublic } from '../../../src/egress/egress.js'
import { Keyring } from '../../../src/store/secrets/keyring.js'
import { destinationOf } from '../../../src/webhooks/auth-headers.js'
import { StoredDeliveries } from '../../../src/webhooks/delivery-store.js'
import { ACCOUNT, client, type Client } from '../client.js'

export const POSTURE = `/accounts/${ACCOUNT}/data-security/posture`
export const WEBHOOKS = `${POSTURE}/webhooks`
export const JOBS = `${WEBHOOKS}/jobs`
export const FINDING = `${POSTURE}/findings`
export const POLICIES = `${POSTURE}/policies`
export const INGEST = `/accounts/${ACCOUNT}/edged/findings`

/** Names that resolve to public addresses in these tests; no other name does. */
const PUBLIC = ['hooks.example.com', 'other.example.com', '192.0.2.1', '2001:db8::1']

export interface PostureClient extends Client {
  readonly deliveries: StoredDeliveries
  /** Destinations of test deliveries. */
  readonly tested: Destination[]
  /** Result of the next test delivery. */
  outcome: Evaluation
  readonly records: LogRecord[]
  /** Returns the destination of a stored webhook, with its secrets unencrypted. */
  opened(id: string): Destination
  /** Makes this name resolve to no public address. */
  refuse(host: string): void
  limits: { webhooks: number; policies: number; findings: number; instances: number; pending: number }
}

/** Creates the API with findings, policies and webhooks, over a queue that is never emptied. */
export async function postureClient(t: Test, config: Partial<ControlConfig> = {}): Promise<PostureClient> {
  const limits = { webhooks: 100, policies: 100, findings: 1000, instances: 100_000, pending: 50_000 }
  const known = new Set(PUBLIC)
  const tested: Destination[] = []
  const records: LogRecord[] = []
  const vault = new Keyring([randomBytes(32)])
  let deliveries: StoredDeliveries | undefined
  let engine: WebhookServices | undefined
  const api = await client(t, {
    config,
    areas: (deps) => {
      const { store, clock } = deps
      deliveries = new StoredDeliveries(
        store,
        clock,
        () => ({ jobs: limits.pending, bytes: 1e9 }),
        openMetrics({ process: false }),
      )
      engine = {
        vault,
        deliveries,
        tester: {
          async evaluate(destination) {
            tested.push(destination)
            return made.outcome
          },
        },
        egress: {
          async check(host, port) {
            if (!known.has(host) || port === 22) throw new NotPublic()
          },
        },
        health: () => ({
          state: 'healthy',
          failing_since: null,
          failures: 0,
          next_try_at: null,
          waiting: 0,
          success: [],
        }),
        tryNow: () => false,
        limits: () => limits,
        emitter: { wants: () => true, emit: (_dataset, _scope, record) => void records.push(record) },
      }
      const found = engine
      return [...basicEndpoints(deps), ...posture({ ...deps, posture: () => found })]
    },
  })
  if (!deliveries) throw new Error('the areas were not asked for')
  const made: PostureClient = {
    ...api,
    deliveries,
    tested,
    refuse: (host) => void known.delete(host),
    opened(id) {
      const stored = api.store.get(STORED, account(ACCOUNT), id)
      if (!stored) throw new Error('unknown webhook')
      return destinationOf(stored.value, stored.scope, vault, api.clock.now())
    },
    outcome: { success: true, status_code: 200, message: 'the destination responded with 200' },
    records,
    limits,
  }
  return made
}

export const BASIC = { authentication_type: 'Basic Auth', headers: [{ key: 'Authorization', value: 'Basic YTpi' }] }
const NONE = { authentication_type: 'None' }

export const webhook = (change: object = {}) => ({
  label: 'Channel',
  destination_url: 'https://hooks.example.com/in',
  ...NONE,
  ...change,
})

export const instance = (id: string, change: object = {}) => ({
  id,
  affliction_date: '2026-11-21T10:00:00Z',
  asset: {
    id: `asset-${id}`,
    external_id: `x-${id}`,
    name: `file ${id}`,
    link: 'https://drive.example.com/f',
    category: { vendor: 'GOOGLE_WORKSPACE', service: 'Drive', type: 'File' },
    fields: [{ name: 'Owner', value: 'ann@example.com' }],
  },
  ...change,
})

export const TYPE = '5a7d9e2f-1b3c-4d5e-8f6a-7b8c9d0e1f2a'

export const finding = (id: string, instances: object[], change: object = {}) => ({
  id,
  finding_type_id: TYPE,
  name: 'Public file',
  description: 'Anyone may read it',
  severity: 'High',
  vendor: 'GOOGLE_WORKSPACE',
  category: { observation: 'Issue', product: 'SaaS', type: 'Posture' },
  remediation: null,
  integration: { id: 'int-1', name: 'Workspace', vendor: { name: 'GOOGLE' } },
  instances,
  ...change,
})

export const ndjson = (...lines: unknown[]): string => lines.map((line) => JSON.stringify(line)).join('\n')

/** Sends findings as NDJSON. */
export const ingest = async (api: Client, ...lines: unknown[]) =>
  await api.call('POST', INGEST, ndjson(...lines), { 'content-type': 'application/x-ndjson' })

/** The account that has all of them. */
export const scope = account(ACCOUNT)

/** Creates a webhook. Returns its id. */
export const hook = async ({ call }: Client, change: object = {}): Promise<string> =>
  (await call('POST', WEBHOOKS, webhook(change))).body.result.id

export const policy = (webhooks: string[], change: object = {}) => ({
  display_name: 'Tell the channel',
  enabled: true,
  finding_type_id: TYPE,
  applies_to_all_integrations: true,
  actions: { webhook_configs: webhooks.map((webhook_config_id) => ({ webhook_config_id })) },
  ...change,
})

/** Returns instance and webhook of each delivery, in the order of acceptance. */
export const sent = ({ store }: Client): string[][] =>
  store.list(DELIVERIES, scope).map(({ value }) => [value.finding_instance_id, value.webhook_id])
