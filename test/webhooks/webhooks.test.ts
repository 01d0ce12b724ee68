import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import t from 'tap'
import { newOrderedUuid } from '../../src/core/ids.js'
import { acceptedState, DELIVERIES, DELIVERY_STATES } from '../../src/core/model/delivery.js'
import type { StoredFinding, StoredInstance } from '../../src/core/model/finding.js'
import { issuesOf } from '../../src/core/schema.js'
import { account } from '../../src/core/scope.js'
import { silentLog } from '../../src/core/log.js'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import { openStore } from '../../src/store/index.js'
import { requestHeaders } from '../../src/webhooks/auth-headers.js'
import { StoredDeliveries } from '../../src/webhooks/delivery-store.js'
import { credentialIssues } from '../../src/webhooks/header-rules.js'
import { deliveryOf, testPayload } from '../../src/webhooks/payload.js'
import { TestPayload, WebhookPayload } from '../../src/webhooks/payload-schema.js'
import { keyOf, signatureOf } from '../../src/webhooks/signature.js'
import { handClock } from '../control/client.js'
import { testFolder } from '../helpers/folder.js'

const scope = account('023e105f4ecef8ad9ca31a8372d0c353')

const FINDING: StoredFinding = {
  id: 'f1',
  finding_type_id: 'type',
  name: 'Public "file" ✓',
  severity: 'High',
  vendor: 'GOOGLE_WORKSPACE',
  category: { observation: 'Issue', product: 'SaaS', type: 'Posture' },
  integration: { id: 'int-1' },
  ignored: true,
  created_at: '2026-11-21T12:00:00.000Z',
  updated_at: '2026-11-21T12:00:00.000Z',
}
const INSTANCE: StoredInstance = {
  id: 'i1',
  affliction_date: '2026-11-21T10:00:00Z',
  is_archived: false,
  asset: { external_id: 'x', name: 'ünïcode \u{1f600}' },
  finding_id: 'f1',
  created_at: '2026-11-21T12:00:00.000Z',
  updated_at: '2026-11-21T12:00:00.000Z',
}
const SENDER = { triggered_by_actor: 'account_token', triggered_by_id: 'token' } as const
const made = (now = Date.now(), webhook = 'w1') =>
  deliveryOf(now, SENDER, { id: webhook, label: 'Channel' }, FINDING, INSTANCE)

t.test('signatures are those of Standard Webhooks, as its own library checks them', async (t) => {
  const now = Date.now()
  const { id, payload } = made(now)
  const bytes = randomBytes(32)
  const secrets: [secret: string, theirs: Webhook][] = [
    [`whsec_${bytes.toString('base64')}`, new Webhook(`whsec_${bytes.toString('base64')}`)],
    ['any text ✓', new Webhook(Buffer.from('any text ✓'), { format: 'raw' })],
    ['WHSEC_abc', new Webhook(Buffer.from('WHSEC_abc'), { format: 'raw' })],
  ]
  const destination = { destination_url: 'https://a.test', authentication_type: 'HMAC-Signing', headers: [] } as const
  for (const [secret, theirs] of secrets) {
    const headers = requestHeaders({ ...destination, signing_secrets: [secret] }, id, now, payload)
    t.same(theirs.verify(payload, headers), JSON.parse(payload))
    t.throws(() => theirs.verify(`${payload} `, headers))
    t.throws(() => theirs.verify(payload, { ...headers, 'webhook-id': 'other' }))
    t.throws(() => theirs.verify(payload, requestHeaders({ ...destination, signing_secrets: ['x'] }, id, now, payload)))
  }
  const all = requestHeaders({ ...destination, signing_secrets: secrets.map(([secret]) => secret) }, id, now, payload)
  for (const [, theirs] of secrets) t.ok(theirs.verify(payload, all), 'old and new secrets sign side by side')
  // The example of the specification, signed with its secret.
  t.equal(
    signatureOf(
      ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
      1614265330,
      '{"test": 2432232314}',
    ),
    'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  )
})

t.test('the text after whsec_ is base64; any other secret is its UTF-8 bytes', async (t) => {
  t.same(keyOf('whsec_YWJj'), Buffer.from('abc'))
  t.same(keyOf('whsec'), Buffer.from('whsec'))
  t.same(keyOf('é'), Buffer.from([0xc3, 0xa9]))
  for (const bad of ['whsec_', 'whsec_a', 'whsec_ab', 'whsec_abc', 'whsec_YW-j', 'whsec_YW==Yw=='])
    t.equal(keyOf(bad), undefined, bad)
})

t.test('every plain secret that is accepted verifies in a library in raw mode', async (t) => {
  const issues = (secret: string) => credentialIssues({ authentication_type: 'HMAC-Signing', signing_secret: secret })
  const accepted = Array.from({ length: 0x300 }, (_, code) => `s${String.fromCharCode(code)}`).filter(
    (secret) => issues(secret).length === 0,
  )
  t.equal(accepted.length, 95)
  const timestamp = Math.floor(Date.now() / 1000)
  for (const secret of accepted) {
    const headers = {
      'webhook-id': 'a',
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatureOf([secret], 'a', timestamp, '{}'),
    }
    t.same(new Webhook(secret, { format: 'raw' }).verify('{}', headers), {}, secret)
  }
})

t.test('every type has webhook-id; no configured header overrides one that the sender sets', async (t) => {
  const headers = requestHeaders(
    {
      destination_url: 'https://a.test',
      authentication_type: 'Static Headers',
      headers: [
        { key: 'X-Key', value: 'secret' },
        { key: 'Webhook-Id', value: 'mine' },
      ],
      signing_secrets: [],
    },
    'the-id',
    1,
    '{}',
  )
  t.strictSame(headers, {
    'x-key': 'secret',
    'content-type': 'application/json',
    'user-agent': 'edged',
    'webhook-id': 'the-id',
  })
})

t.test('payloads fit their schema, and so do its examples', async (t) => {
  const issues = issuesOf(WebhookPayload)
  for (const example of (WebhookPayload as { examples?: unknown[] }).examples ?? []) t.same(issues(example), [])
  for (const example of (TestPayload as { examples?: unknown[] }).examples ?? [])
    t.same(issuesOf(TestPayload)(example), [])
  t.same(issuesOf(TestPayload)(JSON.parse(testPayload(0))), [])
  const full = deliveryOf(0, { ...SENDER, policy_id: 'p1' }, { id: 'w', label: 'L' }, FINDING, {
    ...INSTANCE,
    dlp_contexts: [{ a: 1 }],
  })
  for (const { payload } of [made(), full]) t.same(issues(JSON.parse(payload)), [])
  const payload = JSON.parse(made().payload)
  t.same(Object.keys(payload), ['id', 'type', 'metadata', 'data'])
  t.notMatch(made().payload, 'ignored')
  t.same(
    issues({ ...payload, extra: 1 }).map(({ pointer }) => pointer),
    ['/extra'],
  )
  t.same(
    issues({ ...payload, metadata: { ...payload.metadata, sent_at: 'now' } }).map(({ pointer }) => pointer),
    ['/metadata/sent_at'],
  )
})

t.test('ids of deliveries sort in the order of creation, even when the clock goes back', async (t) => {
  const ids = Array.from({ length: 10_000 }, (_, at) => newOrderedUuid(2_000_000_000_000 - at))
  t.same(ids, ids.toSorted())
  t.equal(new Set(ids).size, ids.length)
  t.match(ids[0], /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
})

t.test(
  'what was accepted is there after a restart, with its bytes, its order and its place in the counts',
  async (t) => {
    const clock = handClock()
    const options = { folder: testFolder(t), log: silentLog, clock }
    const limits = () => ({ jobs: 100, bytes: 1e6 })
    const first = await openStore('embedded', options)
    const before = new StoredDeliveries(first, clock, limits, openMetrics({ process: false }))
    const some = Array.from({ length: 20 }, (_, at) => made(clock.now(), `w${at % 2}`))
    await before.accept(scope, some.slice(0, 10))
    await before.accept(scope, some.slice(10))
    t.equal(before.room(scope), 80)
    const failed = { ...acceptedState(some[0]!), status: 'failed' as const }
    await first.change(DELIVERY_STATES, scope, some[0]!.id, () => failed)
    await before.close()
    await first.close()

    const store = await openStore('embedded', options)
    t.teardown(async () => await store.close())
    const after = new StoredDeliveries(store, clock, limits, openMetrics({ process: false }))
    t.strictSame(
      store.list(DELIVERIES, scope).map(({ value }) => value),
      some,
    )
    t.equal(after.room(scope), 81)
    t.same(
      after
        .latest(scope, 'i1')
        .map(({ delivery }) => delivery.id)
        .toSorted(),
      [some[18]?.id, some[19]?.id],
    )
    t.equal(await after.retry(scope, some[1]?.id ?? ''), undefined)
    t.match(await after.retry(scope, some[0]?.id ?? ''), { state: { status: 'pending' } })
    t.equal(after.room(scope), 80)
    await store.batch(
      some.flatMap(({ id }) => [
        { kind: DELIVERIES, scope, id, value: undefined },
        { kind: DELIVERY_STATES, scope, id, value: undefined },
      ]),
    )
    t.equal(after.room(scope), 100)
    t.same(after.latest(scope, 'i1'), [])
    t.same(after.list(scope, {}, 0, 10), { jobs: [], total: 0 })
    const big = new StoredDeliveries(store, clock, () => ({ jobs: 100, bytes: 300 }), openMetrics({ process: false }))
    t.equal(big.room(scope), 100)
    await big.accept(scope, [{ ...made(), payload: '灯'.repeat(100) }])
    t.equal(big.room(scope), 0, 'payloads are counted as well, by their bytes')
  },
)

t.test('concurrent calls share a batch, and one that conflicts does not reject the others', async (t) => {
  const clock = handClock()
  const store = await openStore('embedded', { folder: testFolder(t), log: silentLog, clock })
  t.teardown(async () => await store.close())
  const metrics = openMetrics({ process: false })
  const deliveries = new StoredDeliveries(store, clock, () => ({ jobs: 10_000, bytes: 1e9 }), metrics)
  const batches: number[] = []
  store.watch((changes) => void batches.push(changes.length))

  await Promise.all(Array.from({ length: 8 }, async () => await deliveries.accept(scope, [made(clock.now())])))
  t.same(batches, [8], 'one batch has the delivery of each call, whose state is not stored yet')
  t.equal(store.count(DELIVERY_STATES, scope), 0)

  const known = store.list(DELIVERIES, scope)[0]!.value
  const calls = [made(clock.now()), known, made(clock.now())]
  const results = await Promise.allSettled(calls.map(async (one) => await deliveries.accept(scope, [one])))
  t.same(results.map(({ status }) => status), ['fulfilled', 'rejected', 'fulfilled']) // prettier-ignore
  t.match(results[1], { reason: { name: 'VersionConflict' } })
  t.equal(store.count(DELIVERIES, scope), 10)

  const twice = made(clock.now())
  const repeated = await Promise.allSettled([twice, twice].map(async (one) => await deliveries.accept(scope, [one])))
  t.same(repeated.map(({ status }) => status), ['fulfilled', 'rejected']) // prettier-ignore
  t.match(repeated[1], { reason: { name: 'VersionConflict' } }, 'a repeated id in one group conflicts')

  const many = Array.from({ length: 700 }, () => made(clock.now()))
  await Promise.all(many.map(async (one) => await deliveries.accept(scope, [one])))
  t.equal(store.count(DELIVERIES, scope), 711, 'more calls than one batch takes')
  t.ok(Math.max(...batches) <= 1100, 'a batch is bounded')
})
