/** What depends on time, while the wall clock is set forward and back by hours and days. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { randomBytes } from 'node:crypto'
import t, { type Test } from 'tap'
import { statusOf } from '../../control/http/auth/authenticate.js'
import { LiveClients } from '../../control/http/websocket-clients.js'
import { AgeClock } from '../../src/core/age-clock.js'
import { Leases, type Lease, type Presence } from '../../src/core/leases.js'
import { silentLog } from '../../src/core/log.js'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import { QUEUE_CONSUMERS, QUEUES } from '../../src/core/model/queues.js'
import { SCRIPT_SCHEDULES } from '../../src/core/model/worker-routing.js'
import { account, DAEMON } from '../../src/core/scope.js'
import { kind, type Store } from '../../src/core/store.js'
import { Keyring } from '../../src/store/secrets/keyring.js'
import { openMemory } from '../../src/store/memory.js'
import { memoryBlobs } from '../../src/store/blobs/memory-blobs.js'
import { AcmeManager } from '../../src/tls/acme/manager.js'
import { MANAGED_CERTIFICATES } from '../../src/tls/acme/records.js'
import { dailyTicketKeys } from '../../src/tls/ticket-keys.js'
import { CronScheduler } from '../../src/workers/triggers/cron.js'
import { Queues } from '../../src/workers/storage/queues.js'
import { JobStatus } from '../../pipelines/logpush/status.js'
import { HandClock } from '../helpers/hand-clock.js'
import { until } from '../helpers/web.js'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR
const SCOPE = account('a')

function storeOn(t: Test, clock: HandClock): Store {
  const store = openMemory({ folder: '', log: silentLog, clock, retention: { entries: 10 } })
  t.teardown(async () => await store.close())
  return store
}

t.test('deletion by age: a jump forward counts after an hour, one back immediately', async (t) => {
  const clock = new HandClock()
  const ages = new AgeClock(clock)
  const start = ages.now()
  clock.jump(40 * DAY)
  t.equal(ages.now(), start)
  await clock.advance(HOUR - 1)
  t.equal(ages.now(), start + HOUR - 1, 'time goes on')
  clock.jump(-40 * DAY)
  t.equal(ages.now(), start + HOUR - 1)
  await clock.advance(1)
  clock.jump(DAY)
  t.equal(ages.now(), start + HOUR, 'a second jump waits again')
  await clock.advance(HOUR)
  t.equal(ages.now(), start + DAY + 2 * HOUR)
  clock.jump(-2 * HOUR)
  t.equal(ages.now(), start + DAY)
})

t.test('schedules neither stop nor run thousands of times', async (t) => {
  const clock = new HandClock(Date.parse('2026-11-21T12:00:00Z'))
  const store = storeOn(t, clock)
  const schedules = [{ cron: '* * * * *', created_on: '', modified_on: '' }]
  await store.batch([{ kind: SCRIPT_SCHEDULES, scope: SCOPE, id: 'app', value: { schedules } }])
  const calls: number[] = []
  const scheduler = () =>
    new CronScheduler({
      store,
      clock,
      log: silentLog,
      isHere: () => true,
      stopped: () => undefined,
      skipped: () => undefined,
      call: async (_scope, _script, { scheduledTime }) => void calls.push(scheduledTime),
    })
  const crons = scheduler()
  const runs = async (on = crons) => {
    await clock.advance(MINUTE)
    calls.length = 0
    await on.tick()
    return calls.length
  }
  t.equal(await runs(), 1)
  clock.jump(40 * DAY)
  const late = await runs()
  t.ok(late >= 1 && late <= 6, `${late} runs after a jump forward`)
  t.equal(await runs(), 1)
  clock.jump(-40 * DAY)
  t.equal(await runs(), 1, 'after the clock was set back')
  t.equal(await runs(scheduler()), 1, 'also after a restart')
  clock.jump(-5 * MINUTE)
  t.equal(await runs(), 0, 'minutes that ran do not run again after a small correction')
  for (let n = 0; n < 5; n++) await runs()
  t.equal(await runs(), 1)
})

t.test('queue messages are delivered, and a lease ends, although the clock was set back', async (t) => {
  const clock = new HandClock()
  const store = storeOn(t, clock)
  const queues = new Queues({ store, blobs: () => memoryBlobs(clock), clock })
  const queue = {
    id: 'q',
    name: 'jobs',
    created_on: '',
    modified_on: '',
    delivery_delay: 0,
    delivery_paused: false,
    message_retention_period: 4 * 86_400,
  }
  const consumer = {
    id: 'c',
    type: 'http_pull',
    created_on: '',
    batch_size: 10,
    max_retries: 9,
    retry_delay: 0,
  } as const
  await store.batch([
    { kind: QUEUES, scope: SCOPE, id: 'q', value: queue },
    {
      kind: QUEUE_CONSUMERS,
      scope: SCOPE,
      id: 'q',
      value: { ...consumer, max_wait_time_ms: 0, visibility_timeout_ms: 30_000 },
    },
  ])
  const message = { body: Buffer.from('1'), format: 'json' } as const
  const leased = async () => (await queues.lease(SCOPE, 'q', 10, 30_000)).length
  clock.jump(3 * HOUR)
  await queues.send(SCOPE, queue, [message, { ...message, delaySeconds: 60 }])
  clock.jump(-3 * HOUR)
  t.match(queues.due(SCOPE, 'q'), { ready: 2, since: 0 })
  t.equal(await leased(), 2, 'messages that were sent before')
  t.equal(await leased(), 0)
  clock.jump(-3 * HOUR)
  t.equal(await leased(), 2, 'messages that were leased before')
  clock.jump(-10 * MINUTE)
  t.equal(await leased(), 0, 'clocks of machines may differ by minutes')
  await clock.advance(11 * MINUTE)
  t.equal(await leased(), 2)
  clock.jump(40 * DAY)
  t.equal(await leased(), 2, 'a wrong clock deletes no message')
})

t.test('certificates are ordered although the last order was at a later time', async (t) => {
  const clock = new HandClock()
  const store = storeOn(t, clock)
  let asked = 0
  const authority = createServer((_, response) => {
    asked++
    response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  await once(authority, 'listening')
  t.teardown(() => authority.close())
  const at = (ms: number) => new Date(clock.now() + ms).toISOString()
  await store.batch([
    {
      kind: MANAGED_CERTIFICATES,
      scope: DAEMON,
      id: 'www.example.com',
      value: {
        orders: Array.from({ length: 5 }, () => at(40 * DAY)),
        failures: 5,
        next_order: at(41 * DAY),
        owner: { id: 'another machine', until: at(40 * DAY + 10 * MINUTE) },
      },
    },
  ])
  const manager = new AcmeManager({
    store,
    vault: new Keyring([randomBytes(32)]),
    clock,
    log: silentLog,
    metrics: openMetrics({ process: false }),
    options: () => ({
      directory: `http://127.0.0.1:${(authority.address() as AddressInfo).port}/directory`,
      email: 'ops@example.com',
      caFile: undefined,
      eab: undefined,
      challenges: ['http-01'],
      dns: undefined,
      onDemand: undefined,
    }),
    names: () => ['www.example.com'],
  })
  t.teardown(async () => await manager.close())
  const record = () => store.get(MANAGED_CERTIFICATES, DAEMON, 'www.example.com')?.value
  await until(() => record()?.failures === 6)
  t.ok(asked > 0)
  t.match(record(), { orders: { length: 1 }, owner: undefined })
  t.ok(Date.parse(record()?.next_order ?? '') > clock.now(), 'and the next attempt waits by the new time')
})

const TASK_LEASES = kind<Lease>('test_lease')
const WORKERS = kind<Presence>('test_worker')

t.test('leases of jobs, deliveries and data follow the monotonic clock', async (t) => {
  const clock = new HandClock()
  const store = storeOn(t, clock)
  const machine = (self: string) =>
    new Leases(store, clock, { leases: TASK_LEASES, presence: WORKERS, expiryMs: 10_000, self })
  const [one, two] = [machine('one'), machine('two')]
  await one.hold(SCOPE, 'job')
  await two.renew()
  for (const jump of [40 * DAY, -80 * DAY]) {
    clock.jump(jump)
    await two.renew()
    t.equal(await two.hold(SCOPE, 'job'), false, 'no jump ends a lease')
  }
  await clock.advance(10_000)
  await two.renew()
  t.equal(await two.hold(SCOPE, 'job'), true, 'and none makes it longer')
})

t.test('tokens are expired exactly while the clock is behind their expiry', async (t) => {
  const clock = new HandClock()
  const token = { status: 'active', expires_on: new Date(clock.now() + HOUR).toISOString() } as const
  const seen = [0, 2 * HOUR, -2 * HOUR, 40 * DAY, -40 * DAY].map((ms) => {
    clock.jump(ms)
    return statusOf(token, clock.now())
  })
  t.same(seen, ['active', 'expired', 'active', 'expired', 'active'])
})

t.test('keys of session tickets are those of the day', async (t) => {
  const clock = new HandClock()
  const keys = dailyTicketKeys((purpose) => Buffer.from(purpose.padEnd(32)), clock)
  const today = keys()
  clock.jump(DAY)
  t.notOk(keys().equals(today))
  clock.jump(-DAY)
  t.ok(keys().equals(today))
})

t.test('a job counts how long it fails on the monotonic clock', async (t) => {
  const clock = new HandClock()
  const status = new JobStatus(SCOPE, '1', { store: storeOn(t, clock), clock, log: silentLog })
  t.teardown(async () => await status.close({ write: false }))
  t.equal(status.failingMs, 0)
  status.failed('no route to host')
  clock.jump(40 * DAY)
  t.equal(status.failingMs, 0)
  await clock.advance(HOUR)
  clock.jump(-80 * DAY)
  status.failed('no route to host')
  t.equal(status.failingMs, HOUR)
  status.delivered(new Date(clock.now()))
  t.equal(status.failingMs, 0)
})

t.test('a live session without clients is noticed after the same time', async (t) => {
  const clock = new HandClock()
  const clients = new LiveClients(clock)
  clock.jump(-DAY)
  await clock.advance(5 * MINUTE)
  clock.jump(3 * DAY)
  t.equal(clients.unusedMs, 5 * MINUTE)
})
