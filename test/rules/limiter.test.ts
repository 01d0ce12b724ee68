import { pino } from 'pino'
import t from 'tap'
import { openMetrics } from '../../src/core/metrics/metrics.js'
import type { Delta, SharedCounters } from '../../src/core/metrics/counters.js'
import type { Limit } from '../../src/rules/limit.js'
import { Limiter } from '../../src/rules/limits/limiter.js'
import { shareCounts } from '../../src/rules/limits/sharing.js'
import { metric } from '../helpers/proxy.js'
import { until } from '../helpers/web.js'

function handClock(start = 1_000_000_000_000) {
  let at = start
  return {
    now: () => at,
    monotonic: () => at - start,
    sleep: async () => {},
    move: (ms: number) => {
      at += ms
    },
  }
}

const limit = (more: Partial<Limit> = {}): Limit => ({
  id: 'r1',
  periodMs: 60_000,
  threshold: 5,
  mitigationMs: 0,
  ...more,
})

/** Counts, then checks: the effect of a request whose rule counts its matches. */
const request = (limiter: Limiter, rule: Limit, key = 'a') => {
  limiter.count(rule, key)
  return limiter.over(rule, key)
}

t.test('the first request acted on is the one that makes the count one more than the threshold', async (t) => {
  const limiter = new Limiter({ clock: handClock() })
  const rule = limit()
  t.strictSame(
    Array.from({ length: 7 }, () => request(limiter, rule)),
    [false, false, false, false, false, true, true],
  )
  t.equal(request(limiter, rule, 'another key'), false)
})

t.test('without a mitigation time the action ends when the count is no longer over', async (t) => {
  const clock = handClock(60_000 * 100)
  const limiter = new Limiter({ clock })
  const rule = limit()
  for (let i = 0; i < 10; i++) request(limiter, rule)
  t.equal(limiter.over(rule, 'a'), true)
  const wait = limiter.retryAfter(rule, 'a')
  clock.move((wait - 1) * 1000 - 1)
  t.equal(limiter.over(rule, 'a', 1), true, 'one more is still over just before')
  clock.move(1001)
  t.equal(request(limiter, rule), false, 'and free at the time told')
})

t.test('a burst counts for exactly one period, wherever the period began', async (t) => {
  for (const offset of [0, 1, 7_000, 14_999, 20_000, 59_999]) {
    const clock = handClock(60_000 * 100 + offset)
    const limiter = new Limiter({ clock })
    const rule = limit()
    for (let i = 0; i < 20; i++) request(limiter, rule)
    clock.move(59_998)
    t.equal(limiter.over(rule, 'a'), true, `still over, begun at ${offset}`)
    t.equal(limiter.retryAfter(rule, 'a'), 1)
    clock.move(2)
    t.equal(request(limiter, rule), false, `over no longer, begun at ${offset}`)
  }
})

t.test('requests that are spread over a window expire one after the other', async (t) => {
  const clock = handClock(60_000 * 100)
  const limiter = new Limiter({ clock })
  const rule = limit()
  for (let i = 0; i <= 10; i++, clock.move(1000)) limiter.count(rule, 'a')
  const wait = limiter.retryAfter(rule, 'a')
  clock.move(wait * 1000)
  t.ok(wait > 53 && wait < 58, `half of them: ${wait}`)
  t.equal(request(limiter, rule), false)
})

t.test('with a mitigation time every matching request is acted on for that long, counted or not', async (t) => {
  const clock = handClock()
  const limiter = new Limiter({ clock })
  const rule = limit({ mitigationMs: 600_000 })
  for (let i = 0; i < 6; i++) request(limiter, rule)
  clock.move(599_000)
  t.equal(limiter.over(rule, 'a'), true)
  t.equal(limiter.retryAfter(rule, 'a'), 1)
  clock.move(1001)
  t.equal(limiter.over(rule, 'a'), false)
})

t.test('a client that keeps sending during a mitigation is let through when it ends', async (t) => {
  const clock = handClock()
  const limiter = new Limiter({ clock })
  const rule = limit({ periodMs: 10_000, mitigationMs: 20_000 })
  const seconds = Array.from({ length: 60 }, () => {
    clock.move(1000)
    return request(limiter, rule)
  })
  // Five pass in six seconds, then twenty are acted on.
  const round = [...Array<boolean>(5).fill(false), ...Array<boolean>(20).fill(true)]
  t.strictSame(seconds, [...round, ...round, ...round].slice(0, 60))
})

t.test('the count of a client that passed a challenge is reset', async (t) => {
  const limiter = new Limiter({ clock: handClock() })
  const rule = limit({ mitigationMs: 60_000 })
  for (let i = 0; i < 9; i++) request(limiter, rule)
  limiter.reset(rule, 'a')
  t.equal(limiter.over(rule, 'a'), false)
  t.equal(limiter.keys, 0)
})

t.test('a changed threshold retains the count, a changed period does not', async (t) => {
  const limiter = new Limiter({ clock: handClock() })
  for (let i = 0; i < 5; i++) request(limiter, limit())
  t.equal(limiter.over(limit({ threshold: 4 }), 'a'), true)
  t.equal(limiter.over(limit({ threshold: 4, periodMs: 10_000 }), 'a'), false)
})

t.test('decisions on bursty traffic are within 3 % of a log of every request', async (t) => {
  for (const load of [0.8, 1, 1.2, 2]) {
    const clock = handClock()
    const limiter = new Limiter({ clock })
    const rule = limit({ threshold: 100 })
    const log: number[] = []
    let seed = 42
    const random = () => (seed = (Math.imul(seed, 1_103_515_245) + 12_345) >>> 0) / 2 ** 32
    let wrong = 0
    let all = 0
    for (let minute = 0; minute < 200; minute++) {
      for (let burst = 0; burst < 10; burst++) {
        clock.move(Math.round(random() * 12_000))
        for (let i = 0; i < Math.round(random() * 20 * load); i++) {
          clock.move(Math.round(random() * 20))
          log.push(clock.now())
          while ((log[0] ?? 0) <= clock.now() - rule.periodMs) log.shift()
          if (request(limiter, rule) !== log.length > rule.threshold) wrong++
          all++
        }
      }
    }
    t.ok(wrong / all < 0.03, `${((wrong / all) * 100).toFixed(2)} % of ${all} at ${load} of the limit`)
  }
})

t.test('a million keys stay within the cap; those beyond it are never counted too low', async (t) => {
  const clock = handClock(60_000 * 100)
  const limiter = new Limiter({ clock, maxKeys: 100_000 })
  const rule = limit()
  for (let i = 0; i < 1_000_000; i++) limiter.count(rule, `192.0.2.${i}`)
  t.equal(limiter.keys, 100_000)
  for (let i = 0; i < 6; i++) limiter.count(rule, 'late comer')
  t.equal(limiter.over(rule, 'late comer'), true)
  clock.move(180_000)
  limiter.count(rule, 'x')
  t.equal(limiter.keys, 1, 'windows that are over cost nothing')
})

t.test('mitigated keys stay within the cap too', async (t) => {
  const limiter = new Limiter({ clock: handClock(), maxKeys: 100 })
  const rule = limit({ threshold: 0, mitigationMs: 60_000 })
  for (let i = 0; i < 1000; i++) request(limiter, rule, `k${i}`)
  t.equal(limiter.over(rule, 'k999'), true)
})

t.test('the counts of deleted rules are released', async (t) => {
  const limiter = new Limiter({ clock: handClock() })
  limiter.count(limit(), 'a')
  limiter.count(limit({ id: 'r2' }), 'a')
  limiter.drop(['r1', 'never counted'])
  t.equal(limiter.keys, 1)
})

t.test('keys of unused limits expire with their period', async (t) => {
  const clock = handClock()
  const limiter = new Limiter({ clock })
  for (let i = 0; i < 100; i++) limiter.count(limit({ id: 'idle' }), `k${i}`)
  clock.move(180_000)
  limiter.count(limit(), 'a')
  t.equal(limiter.keys, 1)
})

t.test('after a clock is set back, the limiter neither forgets nor stalls', async (t) => {
  const clock = handClock()
  const limiter = new Limiter({ clock })
  for (let i = 0; i < 6; i++) limiter.count(limit(), 'a')
  clock.move(-86_400_000)
  t.equal(limiter.over(limit(), 'a'), true)
  clock.move(86_400_000 + 180_000)
  t.equal(limiter.over(limit(), 'a'), false)
})

for (const mitigationMs of [0, 60_000])
  t.test(`a limit ends on time after the clock was set back, mitigation ${mitigationMs}`, async (t) => {
    let jumped = 0
    const clock = handClock(60_000 * 100_000)
    const limiter = new Limiter({ clock: { ...clock, now: () => clock.now() + jumped } })
    const rule = limit({ mitigationMs })
    jumped = 40 * 86_400_000
    for (let n = 0; n < 7; n++) request(limiter, rule)
    t.equal(limiter.over(rule, 'a'), true)
    jumped = -7_200_000
    t.equal(request(limiter, rule), true, 'what was counted still counts')
    clock.move(120_000)
    t.equal(limiter.over(rule, 'a'), false)
    for (let n = 0; n < 6; n++) request(limiter, rule)
    t.equal(limiter.over(rule, 'a'), true, 'and later requests count')
  })

/** Counters of all machines, in memory. */
class Shared implements SharedCounters {
  readonly totals = new Map<string, number>()
  down = false

  async add(deltas: readonly Delta[]) {
    if (this.down) throw new Error('out of reach')
    return deltas.map(({ limit, key, window, amount, anew }) => {
      const name = JSON.stringify([limit, key, window])
      this.totals.set(name, anew ? amount : (this.totals.get(name) ?? 0) + amount)
      return this.totals.get(name) ?? 0
    })
  }
}

t.test('two machines share a limit', async (t) => {
  const clock = handClock(60_000 * 100)
  const [one, two] = [new Limiter({ clock }), new Limiter({ clock })]
  const shared = new Shared()
  await Promise.all([one.exchange(shared), two.exchange(shared)])
  for (let i = 0; i < 3; i++) for (const machine of [one, two]) machine.count(limit(), 'a')
  t.equal(one.over(limit(), 'a'), false, 'three of six are known here')
  await one.exchange(shared)
  await two.exchange(shared)
  t.equal(two.over(limit(), 'a'), true)
  one.count(limit(), 'a')
  await one.exchange(shared)
  t.equal(one.over(limit(), 'a'), true)
})

t.test('a key that is reset is reset on all machines', async (t) => {
  const clock = handClock(60_000 * 100)
  const [one, two] = [new Limiter({ clock }), new Limiter({ clock })]
  const shared = new Shared()
  const exchange = async () => {
    for (const machine of [one, two, one]) await machine.exchange(shared)
  }
  await exchange()
  for (let i = 0; i < 4; i++) for (const machine of [one, two]) machine.count(limit(), 'a')
  await exchange()
  one.count(limit(), 'a')
  one.reset(limit(), 'a')
  shared.down = true
  await t.rejects(one.exchange(shared))
  shared.down = false
  await exchange()
  t.strictSame(new Set(shared.totals.values()), new Set([0]))
  one.count(limit(), 'a')
  two.count(limit(), 'a')
  await exchange()
  for (const machine of [one, two]) t.equal(machine.over(limit(), 'a'), false)
})

t.test('no counts are lost while shared counters are unreachable', async (t) => {
  const clock = handClock(60_000 * 100)
  const limiter = new Limiter({ clock })
  const shared = new Shared()
  await limiter.exchange(shared)
  shared.down = true
  for (let i = 0; i < 6; i++) limiter.count(limit(), 'a')
  await t.rejects(limiter.exchange(shared))
  t.equal(limiter.over(limit(), 'a'), true, 'goes by its own count')
  limiter.count(limit(), 'a')
  shared.down = false
  await limiter.exchange(shared)
  t.strictSame([...shared.totals.values()], [7])
})

t.test('an outage of shared counters is logged once, counted each time, and ends when they return', async (t) => {
  const limiter = new Limiter({ clock: handClock() })
  const shared = new Shared()
  const metrics = openMetrics({ process: false })
  const events: unknown[] = []
  const log = pino({}, { write: (line: string) => void events.push((JSON.parse(line) as { event: string }).event) })
  let rounds = 0
  const sleep = async () => {
    rounds++
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  const clock = { ...handClock(), sleep }
  const failures = async () => await metric(metrics, 'edged_rate_limit_sync_failures_total')
  shared.down = true
  limiter.count(limit(), 'a')
  const sharing = shareCounts(limiter, shared, { clock, log, metrics })
  limiter.count(limit(), 'a')
  await until(async () => (await failures()) > 3)
  shared.down = false
  await until(() => shared.totals.size > 0)
  t.strictSame([...shared.totals.values()], [1])
  await until(() => events.length === 2)
  t.strictSame(events, ['rate_limits_not_shared', 'rate_limits_shared'])
  await sharing.close()
  const ended = rounds
  await new Promise(setImmediate)
  t.equal(rounds, ended)
})
