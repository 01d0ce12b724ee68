import { brotliCompressSync, deflateSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { Webhook } from 'standardwebhooks'
import { DELIVERY_STATES, type DeliveryState } from '../../src/core/model/delivery.js'
import { WEBHOOKS } from '../../src/core/model/webhook.js'
import { DAEMON } from '../../src/core/scope.js'
import { StoreUnavailable, type Store } from '../../src/core/store.js'
import { LEASE_MS, RENEW_MS } from '../../src/webhooks/lease-kinds.js'
import { openEgress } from '../helpers/egress.js'
import { HandClock } from '../helpers/hand-clock.js'
import type { Responding } from '../helpers/receiver.js'
import { turns, until } from '../helpers/web.js'
import { ACCOUNT, memory, receiver, Workbench } from './workbench.js'

const status =
  (code: number, headers = {}): Responding =>
  (_, response) =>
    void response.writeHead(code, headers).end()

/** Advances the time until a condition holds, one second per step. An attempt that began in one step ends in it. */
async function pass(clock: HandClock, what: () => boolean, stepMs = 1000): Promise<void> {
  await until(async () => {
    if (what()) return true
    await clock.advance(stepMs)
    for (let turn = 0; turn < 40; turn++) await new Promise(setImmediate)
    return what()
  })
}

t.test('a delivery arrives with its bytes, its id and its credentials', async (t) => {
  const to = await receiver(t)
  const bench = new Workbench(t, await openEgress([to.server]))
  const id = await bench.webhook(to.url('/a?token=x'))
  const value = bench.seal(id, 'Bearer abc')
  await bench.edit(id, { authentication_type: 'Bearer Auth', headers: [{ key: 'authorization', value }] })
  const [job = ''] = await bench.send(id)
  await until(() => bench.state(job)?.status === 'completed')
  const [got] = to.received
  t.equal(got?.path, '/a?token=x')
  t.equal(got?.headers.authorization, 'Bearer abc')
  t.equal(got?.headers['webhook-id'], job)
  t.equal(got?.headers['content-type'], 'application/json')
  t.equal(got?.body, bench.deliveries.get(ACCOUNT, job)?.delivery.payload)
  t.equal(got?.headers['webhook-signature'], undefined)
  t.match(bench.state(job)?.tries, [{ status_code: 204, error: null, response: '' }])
})

t.test('signatures are those of Standard Webhooks, by the old secret too while it is valid', async (t) => {
  const clock = new HandClock(Date.now())
  const to = await receiver(t)
  const bench = new Workbench(t, await openEgress([to.server]), { clock })
  const [current, former] = ['whsec_' + Buffer.alloc(32, 1).toString('base64'), 'a plain old secret']
  const id = await bench.webhook(to.url())
  const soon = new Date(clock.now() + 3_600_000).toISOString()
  const secret = bench.seal(id, current)
  const former_secrets = [{ secret: bench.seal(id, former), until: soon }]
  await bench.edit(id, { authentication_type: 'HMAC-Signing', signing_secret: secret, former_secrets })
  await bench.send(id)
  await until(() => to.received.length === 1)
  const { headers, body } = to.received[0] ?? { headers: {}, body: '' }
  const plain = Buffer.from(former).toString('base64')
  for (const key of [current, plain]) t.ok(new Webhook(key).verify(body, headers as Record<string, string>))
  t.throws(() => new Webhook(plain).verify(body + ' ', headers as Record<string, string>))

  await clock.advance(3_600_001)
  const [job] = await bench.send(id)
  await until(() => to.received.length === 2)
  const signature = String(to.received[1]?.headers['webhook-signature'])
  t.equal(signature.split(' ').length, 1, 'the old secret signs no more')
  t.equal(to.received[1]?.headers['webhook-id'], job)
})

t.test('attempts follow the schedule, with one id, and the last one ends it', async (t) => {
  const clock = new HandClock()
  const to = await receiver(t, status(503))
  const bench = new Workbench(t, await openEgress([to.server]), { clock })
  const [job = ''] = await bench.send(await bench.webhook(to.url()))
  await until(() => bench.state(job)?.attempts === 1)
  t.equal(bench.state(job)?.status, 'pending')
  for (const [wait, tries] of [
    [5000, 2],
    [300_000, 3],
    [1_800_000, 4],
  ] as const) {
    await clock.advance(wait - 1)
    t.equal(to.received.length, tries - 1, 'not before its time')
    await pass(clock, () => bench.state(job)?.attempts === tries, 1)
  }
  t.match(bench.state(job), { status: 'failed', failure_reason: 'Service Temporarily Unavailable' })
  t.equal(bench.state(job)?.tries.length, 4)
  t.strictSame([...new Set(to.received.map(({ headers }) => headers['webhook-id']))], [job])

  to.response = status(200)
  await bench.deliveries.retry(ACCOUNT, job)
  await until(() => bench.state(job)?.status === 'completed')
  t.match(bench.state(job), { attempts: 1, tries: { length: 5 } })
})

t.test('Retry-After is waited for, up to a day', async (t) => {
  const clock = new HandClock()
  const to = await receiver(t, status(429, { 'retry-after': '100' }))
  const bench = new Workbench(t, await openEgress([to.server]), { clock })
  const [job = ''] = await bench.send(await bench.webhook(to.url()))
  await until(() => bench.state(job)?.attempts === 1)
  t.equal(Date.parse(bench.state(job)?.due_at ?? '') - clock.now(), 100_000)
  to.response = status(429, { 'retry-after': new Date(clock.now() + 10 * 86_400_000).toUTCString() })
  await clock.advance(99_999)
  t.equal(to.received.length, 1)
  await pass(clock, () => bench.state(job)?.attempts === 2, 1)
  t.equal(Date.parse(bench.state(job)?.due_at ?? '') - clock.now(), 86_400_000)
  to.response = status(429, { 'retry-after': '9'.repeat(400) })
  await pass(clock, () => bench.state(job)?.attempts === 3, 3_600_000)
  t.equal(Date.parse(bench.state(job)?.due_at ?? '') - clock.now(), 86_400_000, 'a number of any length')
})

// A receiver that recovered got its whole backlog of retries before anything new.
t.test('first attempts are sent before retries that are due', async (t) => {
  const clock = new HandClock()
  const to = await receiver(t, status(500))
  const options = {
    in_flight_per_destination: 1,
    circuit_breaker: { failures: 1, open_for: 60_000, max_open_for: 60_000 },
    retry_schedule: [1000],
  }
  const bench = new Workbench(t, await openEgress([to.server]), { clock, options })
  const id = await bench.webhook(to.url())
  const [retried = ''] = await bench.send(id)
  await until(() => bench.state(retried)?.attempts === 1)
  const later = await bench.send(id, id, id)
  to.response = status(204)
  await pass(clock, () => bench.state(retried)?.status === 'completed')
  t.same(
    to.received.map(({ headers }) => headers['webhook-id']),
    [retried, ...later, retried],
  )
})

t.test('a compressed response is stored as text', async (t) => {
  const long = 'reason '.repeat(100_000)
  const bodies: [encoding: string, body: Buffer, text: string | RegExp][] = [
    ['gzip', gzipSync('the reason'), 'the reason'],
    ['X-GZIP', gzipSync('the reason'), 'the reason'],
    ['deflate', deflateSync('the reason'), 'the reason'],
    ['br', brotliCompressSync('the reason'), 'the reason'],
    ['identity', Buffer.from('the reason'), 'the reason'],
    ['gzip', gzipSync(long), long.slice(0, 1024)],
    ['gzip', gzipSync('the reason').subarray(0, 24), /^the r/],
    ['gzip', Buffer.from('not gzip'), ''],
    ['zstd', Buffer.from('xxxx'), '(4 bytes with content-encoding zstd)'],
    ['', Buffer.from('é'.repeat(511) + 'xé'), 'é'.repeat(511) + 'x'],
  ]
  const to = await receiver(t, (request, response) => {
    const [encoding, body] = bodies[Number(request.path.slice(1))]!
    response.writeHead(200, encoding === '' ? {} : { 'content-encoding': encoding }).end(body)
  })
  const bench = new Workbench(t, await openEgress([to.server]))
  for (const [at, [encoding, , text]] of bodies.entries()) {
    const [job = ''] = await bench.send(await bench.webhook(to.url(`/${at}`)))
    await until(() => bench.state(job)?.status === 'completed')
    t.match(bench.state(job)?.tries, [{ status_code: 200, response: text }], `${at}: ${encoding}`)
  }
})

t.test('410 disables the webhook; pending deliveries are sent when it is enabled again', async (t) => {
  const to = await receiver(t, status(410))
  const bench = new Workbench(t, await openEgress([to.server]), { options: { in_flight_per_destination: 1 } })
  const id = await bench.webhook(to.url())
  const [gone = '', waits = ''] = await bench.send(id, id)
  await until(() => bench.status(id) === 'disabled')
  t.match(bench.state(gone), { status: 'failed', failure_reason: 'Integration Unavailable' })
  t.equal(bench.state(waits)?.status, 'pending')
  t.match(bench.store.get(WEBHOOKS, ACCOUNT, id)?.value, {
    version: 2,
    disabled_at: String,
    disabled_reason: 'the destination responded with 410 Gone',
  })
  const audit = []
  for await (const { entry } of bench.store.audit()) audit.push(entry)
  t.match(audit, [{ actor: { id: 'edged' }, action: 'update', resource: { kind: 'webhook', id } }])

  to.response = status(200)
  await bench.edit(id, { status: 'enabled' })
  await until(() => bench.state(waits)?.status === 'completed')
})

// Moving a webhook away from a deleted destination left it disabled by an attempt still in flight to the old one.
t.test('410 from the previous URL of a webhook does not disable it', async (t) => {
  let finish: (() => void) | undefined
  const before = await receiver(t, (_, response) => void (finish = () => response.writeHead(410).end()))
  const after = await receiver(t)
  const bench = new Workbench(t, await openEgress([before.server, after.server]))
  const id = await bench.webhook(before.url())
  const [gone = ''] = await bench.send(id)
  await until(() => finish !== undefined)
  await bench.edit(id, { destination_url: after.url() })
  finish?.()
  await until(() => bench.state(gone)?.status === 'failed')
  const [next = ''] = await bench.send(id)
  await until(() => bench.state(next)?.status === 'completed' || bench.status(id) === 'disabled')
  t.equal(bench.status(id), 'enabled')
})

t.test('deleting a webhook deletes its pending deliveries', async (t) => {
  const clock = new HandClock()
  const to = await receiver(t, status(500))
  const bench = new Workbench(t, await openEgress([to.server]), { clock })
  const id = await bench.webhook(to.url())
  const [job = ''] = await bench.send(id)
  await until(() => bench.state(job)?.attempts === 1)
  await bench.edit(id, { deleted_at: '2026-11-21T00:00:00Z' })
  await until(() => bench.state(job)?.status === 'failed')
  t.match(bench.state(job), { failure_reason: 'Integration Unavailable', failure_details: { error: /deleted/ } })
})

t.test('no delivery stays pending for a deleted webhook', async (t) => {
  const clock = new HandClock()
  let finish: (() => void) | undefined
  const to = await receiver(t, (_, response) => void (finish = () => response.writeHead(500).end()))
  const egress = await openEgress([to.server])
  const bench = new Workbench(t, egress, { clock })
  const id = await bench.webhook(to.url())
  const [underWay = ''] = await bench.send(id)
  await until(() => finish !== undefined)
  await bench.edit(id, { deleted_at: '2026-11-21T00:00:00Z' })
  finish?.()
  await until(() => bench.state(underWay)?.status === 'failed')
  t.match(bench.state(underWay)?.tries, [{ status_code: 500 }], 'its try was not cut off')

  // A request may have read before the deletion, and stored after it.
  const [late = ''] = await bench.send(id)
  await until(() => bench.state(late)?.status === 'failed')

  await bench.sender.close()
  const [left = ''] = await bench.send(id)
  t.equal(bench.state(left)?.status, 'pending')
  const again = new Workbench(t, egress, { clock, store: bench.store })
  await until(() => again.state(left)?.status === 'failed')
  t.equal(to.received.length, 1)
})

t.test('a change of the webhook does not affect attempts in flight', async (t) => {
  let finish: (() => void) | undefined
  const to = await receiver(t, (_, response) => void (finish = () => response.writeHead(200).end()))
  const bench = new Workbench(t, await openEgress([to.server]))
  const id = await bench.webhook(to.url())
  const [first = ''] = await bench.send(id)
  await until(() => finish !== undefined)
  await bench.edit(id, { label: 'another' })
  to.response = status(200)
  const other = await bench.webhook(to.url())
  const [elsewhere = ''] = await bench.send(other)
  await until(() => bench.state(elsewhere)?.status === 'completed')
  finish?.()
  await until(() => bench.state(first)?.status === 'completed')
  const [second = ''] = await bench.send(id)
  await until(() => bench.state(second)?.status === 'completed')
  t.match(bench.state(first), { attempts: 1, tries: [{ status_code: 200 }] })
  t.equal(to.received.length, 3)
})

t.test('a delivery that is retried at the moment it finishes is sent again', async (t) => {
  const to = await receiver(t)
  const bench = new Workbench(t, await openEgress([to.server]))
  const id = await bench.webhook(to.url())
  let again: Promise<unknown> | undefined
  const stop = bench.store.watch((changes) => {
    for (const { kind, id, value } of changes)
      if (kind === DELIVERY_STATES.name && (value as DeliveryState).status === 'completed')
        again ??= bench.deliveries.retry(ACCOUNT, id)
  })
  const [job = ''] = await bench.send(id)
  await until(() => bench.state(job)?.tries.length === 2)
  t.ok(await again)
  stop()
})

t.test('first attempts are made in the order of acceptance', async (t) => {
  const to = await receiver(t)
  const bench = new Workbench(t, await openEgress([to.server]), { options: { in_flight_per_destination: 1 } })
  const id = await bench.webhook(to.url())
  const jobs = await bench.send(...Array.from({ length: 50 }, () => id))
  await until(() => to.received.length === 50)
  t.strictSame(
    to.received.map(({ headers }) => headers['webhook-id']),
    jobs,
  )
})

t.test('a failing destination gets no deliveries except one trial', async (t) => {
  const clock = new HandClock()
  const to = await receiver(t, status(500))
  const bench = new Workbench(t, await openEgress([to.server]), { clock })
  const id = await bench.webhook(to.url())
  await bench.send(...Array.from({ length: 40 }, () => id))
  await until(() => to.received.length >= 10)
  await turns()
  const before = to.received.length
  t.ok(before < 15, `${before} tries until it opened`)
  await clock.advance(29_000)
  t.equal(to.received.length, before, 'open')
  await pass(clock, () => to.received.length === before + 1, 500)
  await turns()
  t.equal(to.received.length, before + 1, 'one probe, and open again')
  to.response = status(200)
  await pass(clock, () => to.received.length >= before + 41, 1000)
})

t.test('a wall clock that jumps by a day neither floods nor stalls', async (t) => {
  const clock = new HandClock()
  const to = await receiver(t, status(500))
  const bench = new Workbench(t, await openEgress([to.server]), { clock })
  const [job = ''] = await bench.send(await bench.webhook(to.url()))
  await until(() => bench.state(job)?.attempts === 1)
  clock.jump(86_400_000)
  await clock.advance(4999)
  t.equal(to.received.length, 1, 'no earlier for a clock that went ahead')
  await pass(clock, () => bench.state(job)?.attempts === 2, 1)
  clock.jump(-2 * 86_400_000)
  await pass(clock, () => bench.state(job)?.attempts === 3, 60_000)

  await bench.sender.close()
  clock.jump(-20 * 86_400_000)
  const again = new Workbench(t, await openEgress([to.server]), { clock, store: bench.store })
  await clock.advance(1_800_000 * 1.2)
  await until(() => again.state(job)?.attempts === 4)
  t.pass('and no later after a restart than the delay before it')
})

t.test('five days without a success disable a webhook, even if the wall clock jumps', async (t) => {
  const clock = new HandClock()
  const to = await receiver(t, status(500))
  const hour = 3_600_000
  const options = { retry_schedule: Array.from({ length: 200 }, () => hour) }
  const bench = new Workbench(t, await openEgress([to.server]), { clock, options })
  const id = await bench.webhook(to.url())
  const [job = ''] = await bench.send(id)
  await until(() => bench.state(job)?.attempts === 1)
  clock.jump(30 * 24 * hour)
  await pass(clock, () => bench.state(job)?.attempts === 2, hour / 2)
  t.equal(bench.status(id), 'enabled')
  await pass(clock, () => (bench.state(job)?.attempts ?? 0) >= 110, hour / 4)
  t.equal(bench.status(id), 'enabled')
  await pass(clock, () => bench.status(id) === 'disabled', hour / 4)
  const { attempts = 0 } = bench.state(job) ?? {}
  t.ok(attempts >= 115 && attempts <= 125, `after ${attempts} tries an hour apart`)
})

t.test('of two daemons on one store one sends for a webhook, and the other after the first stopped', async (t) => {
  const clock = new HandClock()
  const to = await receiver(t)
  const egress = await openEgress([to.server])
  const store = memory(clock)
  const one = new Workbench(t, egress, { clock, store, sharedAs: 'one' })
  const two = new Workbench(t, egress, { clock, store, sharedAs: 'two' })
  const id = await one.webhook(to.url())
  const jobs = [...(await one.send(id, id)), ...(await two.send(id, id))]
  await until(() => jobs.every((job) => one.state(job)?.status === 'completed'))
  t.equal(to.received.length, 4, 'each of them once')

  const lease = { name: 'webhook_lease' }
  const held = store.get<{ owner: string }>(lease, ACCOUNT, id)?.value.owner
  t.ok(held === 'one' || held === 'two')
  // A daemon that was killed leaves its lease and its record behind.
  await store.batch([
    { kind: lease, scope: ACCOUNT, id, value: { owner: 'gone' } },
    { kind: { name: 'webhook_sender' }, scope: DAEMON, id: 'gone', value: { beat: 1 } },
  ])
  await clock.advance(RENEW_MS)
  await until(() => store.get<{ owner: string }>(lease, ACCOUNT, id)?.value.owner === 'gone')
  const [late = ''] = await one.send(id)
  await turns()
  t.equal(one.state(late)?.status, 'pending')
  await pass(clock, () => one.state(late)?.status === 'completed', RENEW_MS)
  t.ok(clock.monotonic() >= LEASE_MS)
  t.equal(to.received.length, 5)

  const owner = () => store.get<{ owner: string }>(lease, ACCOUNT, id)?.value.owner
  const [stops, stays] = owner() === 'one' ? [one, two] : [two, one]
  await stops.sender.close()
  const [after = ''] = await stays.send(id)
  await until(() => stays.state(after)?.status === 'completed')
  t.pass('one that stops gives its leases back at once')
})

t.test('a lease that is lost and won again sends nothing twice', async (t) => {
  const clock = new HandClock()
  const to = await receiver(t, () => undefined)
  const store = memory(clock)
  const bench = new Workbench(t, await openEgress([to.server]), { clock, store, sharedAs: 'one' })
  const id = await bench.webhook(to.url())
  const jobs = await bench.send(...Array.from({ length: 10 }, () => id))
  await until(() => to.received.length === 1)
  const lease = { name: 'webhook_lease' }
  for (const owner of ['two', 'one']) await store.batch([{ kind: lease, scope: ACCOUNT, id, value: { owner } }])
  await pass(clock, () => store.get<{ owner: string }>(lease, ACCOUNT, id)?.value.owner === 'one', RENEW_MS)
  to.response = status(204)
  for (const socket of to.sockets) socket.destroy()
  await pass(clock, () => jobs.every((job) => bench.state(job)?.status === 'completed'))
  t.equal(to.received.length, 11, 'only the one that was cut off came again')
})

t.test('a machine begins no attempt after its leases may have expired', async (t) => {
  const clock = new HandClock()
  const to = await receiver(t, status(503))
  const store = memory(clock)
  let isAway = false
  const shared = Object.create(store) as Store
  shared.batch = async (writes, audit) => {
    if (isAway) throw new StoreUnavailable('away')
    return await store.batch(writes, audit)
  }
  const options = { retry_schedule: [LEASE_MS, LEASE_MS] }
  const bench = new Workbench(t, await openEgress([to.server]), { clock, store: shared, sharedAs: 'one', options })
  const id = await bench.webhook(to.url())
  const [job] = await bench.send(id)
  await until(() => bench.state(job!)?.attempts === 1)
  isAway = true
  await clock.advance(2 * LEASE_MS)
  await turns()
  t.equal(bench.sender.queueOf(ACCOUNT, id)?.inFlight, 0)
  isAway = false
  await pass(clock, () => to.received.length === 2)
})

t.test('finished deliveries beyond a limit are deleted, the oldest first', async (t) => {
  const clock = new HandClock()
  const to = await receiver(t)
  const bench = new Workbench(t, await openEgress([to.server]), { clock })
  const id = await bench.webhook(to.url())
  const jobs = await bench.send(...Array.from({ length: 12 }, () => id))
  await until(() => jobs.every((job) => bench.state(job)?.status === 'completed'))
  for (const kept of [5, 3]) {
    bench.options.retention = { jobs: kept, age: 1e9 }
    await pass(clock, () => bench.deliveries.list(ACCOUNT, {}, 0, 100).total === kept, 60_000)
    t.strictSame(
      bench.deliveries.list(ACCOUNT, {}, 0, 100).jobs.map(({ delivery }) => delivery.id),
      jobs.slice(-kept).toReversed(),
    )
  }
})
