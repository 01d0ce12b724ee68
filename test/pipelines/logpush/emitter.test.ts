import t, { type Test } from 'tap'
import { Registry } from 'prom-client'
import { systemClock } from '../../../src/core/clock.js'
import type { LogRecord } from '../../../src/core/emit.js'
import { silentLog } from '../../../src/core/log.js'
import { zone } from '../../../src/core/scope.js'
import { SpoolEmitter } from '../../../pipelines/logpush/emitter.js'
import { openSpools } from '../../../pipelines/logpush/spool/index.js'
import { testFolder } from '../../helpers/folder.js'

const ZONE = zone('9f1839b6152d298aca64c4e906b6d074')
const OTHER = zone('1f1839b6152d298aca64c4e906b6d074')

/** Time that stands still: nothing is flushed but by hand. */
const still = { ...systemClock, sleep: (_: number, signal?: AbortSignal) => hung(signal!) }
const hung = (signal: AbortSignal) =>
  new Promise<void>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))

async function opened(t: Test) {
  const metrics = new Registry()
  const spools = await openSpools(testFolder(t), { clock: systemClock, log: silentLog, limits: { bytes: 1e9 } })
  t.teardown(() => spools.close())
  const spool = await spools.open('http_requests', ZONE)
  await spool.cursor('job')
  const emitter = new SpoolEmitter({ spools, clock: still, log: silentLog, metrics })
  t.teardown(() => emitter.close())
  const dropped = async () => {
    const { values } = await metrics.getSingleMetric('edged_logpush_events_dropped_total')!.get()
    return Object.fromEntries(values.map(({ labels, value }) => [labels['reason'], value]))
  }
  const lines = async () => {
    await emitter.close()
    const frame = await spool.frame(0)
    return Array.from({ length: frame?.count ?? 0 }, (_, i) => Buffer.from(frame!.line(i)).toString())
  }
  return { emitter, spool, dropped, lines }
}

t.test('events become records of the jobs that want them, with every value as it was', async (t) => {
  const { emitter, lines } = await opened(t)
  await emitter.want([{ dataset: 'http_requests', scope: ZONE }])
  t.equal(emitter.wants('http_requests', ZONE), true)
  t.equal(emitter.wants('http_requests', OTHER), false)
  t.equal(emitter.wants('firewall_events', ZONE), false)
  emitter.emit('http_requests', OTHER, { RayID: 'not ours' })
  const event: LogRecord = {
    Unknown: 1,
    ClientIP: '::1',
    ClientRequestURI: '/"\\\u2028é\ud800',
    EdgeResponseBytes: 18446744073709551615n,
    EdgeResponseStatus: 200,
    CacheCacheStatus: undefined,
    ClientCountry: null,
    RequestHeaders: { 'x-a': '1', big: 2n ** 63n, none: undefined, list: [1, NaN, true] },
    WAFAttackScore: Infinity,
    ClientRequestUserAgent: 'ü'.repeat(20_000),
  }
  emitter.emit('http_requests', ZONE, event)
  emitter.emit('http_requests', ZONE, {})
  const [first, second, ...more] = await lines()
  t.strictSame(more, [])
  t.equal(second, '{}')
  const members = [
    '"ClientCountry":null',
    '"ClientIP":"::1"',
    '"ClientRequestURI":"/\\"\\\\\u2028é\\ud800"',
    `"ClientRequestUserAgent":"${'ü'.repeat(20_000)}"`,
    '"EdgeResponseBytes":18446744073709551615',
    '"EdgeResponseStatus":200',
    '"RequestHeaders":{"x-a":"1","big":9223372036854775808,"list":[1,null,true]}',
    '"WAFAttackScore":null',
  ]
  t.strictSame(
    members.filter((member) => !first?.includes(member)),
    [],
  )
  t.equal(Object.keys(JSON.parse(first!)).length, members.length)
})

t.test('many events arrive in order', async (t) => {
  const { emitter, spool } = await opened(t)
  await emitter.want([{ dataset: 'http_requests', scope: ZONE }])
  for (let i = 0; i < 3000; i++) emitter.emit('http_requests', ZONE, { EdgeResponseBytes: i, RayID: 'x'.repeat(200) })
  await emitter.close()
  t.equal(spool.end, 3000)
  let next = 0
  for (let at = 0; at < spool.end;) {
    const frame = (await spool.frame(at))!
    for (let i = 0; i < frame.count; i++)
      if (JSON.parse(Buffer.from(frame.line(i)).toString()).EdgeResponseBytes !== next++) t.fail(`at ${next - 1}`)
    at = frame.first + frame.count
  }
  t.equal(next, 3000)
})

t.test('what comes faster than it can be packed is dropped and counted, and nothing waits', async (t) => {
  const { emitter, spool, dropped } = await opened(t)
  await emitter.want([{ dataset: 'http_requests', scope: ZONE }])
  for (let i = 0; i < 5000; i++) emitter.emit('http_requests', ZONE, { EdgeResponseBytes: i })
  t.strictSame(await dropped(), { queue: 5000 - 4096 })
  await emitter.close()
  t.equal(spool.end, 4096)
})

t.test('an event that cannot be written harms no other', async (t) => {
  const { emitter, dropped, lines } = await opened(t)
  await emitter.want([{ dataset: 'http_requests', scope: ZONE }])
  const round: Record<string, unknown> = {}
  round['itself'] = round
  emitter.emit('http_requests', ZONE, { RequestHeaders: round })
  emitter.emit('http_requests', ZONE, { RayID: 'a' })
  t.strictSame(await lines(), ['{"RayID":"a"}'])
  t.strictSame(await dropped(), { unfit: 1 })
})

t.test('what a job took is durable when the job goes', async (t) => {
  const { emitter, spool } = await opened(t)
  await emitter.want([{ dataset: 'http_requests', scope: ZONE }])
  emitter.emit('http_requests', ZONE, { RayID: 'a' })
  await emitter.want([])
  t.equal(spool.end, 1)
  t.equal(emitter.wants('http_requests', ZONE), false)
})
