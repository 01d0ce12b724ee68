import Cloudflare from 'cloudflare'
import t from 'tap'
import { zone } from '../../../src/core/scope.js'
import { positionAt } from '../../../pipelines/logpush/history.js'
import type { Frame } from '../../../pipelines/logpush/spool/types.js'
import { ADMIN, OTHER_ZONE, ZONE } from '../client.js'
import { logpushClient } from './helper.js'

const RECORDS = `/zones/${ZONE}/edged/records/http_requests`
const ray = (n: number): string => n.toString(16).padStart(16, '0')
const records = (from: number, count: number): string =>
  Array.from(
    { length: count },
    (_, n) => `{"RayID":"${ray(from + n)}","EdgeResponseStatus":200,"EdgeStartTimestamp":1506702504433000200}\n`,
  ).join('')

t.test('retained records are found by time and by ray id, as the official client requests them', async (t) => {
  const api = await logpushClient(t)
  const client = new Cloudflare({ apiToken: ADMIN, baseURL: api.url, maxRetries: 0 })
  const zoneId = { zone_id: ZONE }
  const flag = async () => (await client.logs.control.retention.get(zoneId))?.flag
  t.equal(await flag(), false)
  t.match(await api.call('GET', `/zones/${ZONE}/logs/rayids/${ray(1)}`), {
    status: 400,
    body: { errors: [{ code: 20307 }] },
  })
  t.same(await client.logs.control.retention.create({ ...zoneId, flag: true }), { flag: true })
  t.equal(await flag(), true)
  t.equal((await client.logs.control.retention.get({ zone_id: OTHER_ZONE }))?.flag, false)

  const spool = await api.spools.open('http_requests', zone(ZONE))
  await spool.cursor('pull')
  const begin = Math.floor(Date.now() / 1000)
  await api.send(RECORDS, records(0, 500))
  await api.send(RECORDS, records(500, 500) + records(7, 1))
  const end = Math.floor(Date.now() / 1000) + 1
  api.clock.advance((end + 120) * 1000 - api.clock.now())

  const received = async (query: object) =>
    String(await client.logs.received.get({ ...zoneId, start: begin, end, ...query }))
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line) as Record<string, unknown>)
  const all = await received({})
  t.equal(all.length, 1001)
  t.strictSame(Object.keys(all[0]!).sort(), [
    'ClientIP',
    'ClientRequestHost',
    'ClientRequestMethod',
    'ClientRequestURI',
    'EdgeEndTimestamp',
    'EdgeResponseBytes',
    'EdgeResponseStatus',
    'EdgeStartTimestamp',
    'RayID',
  ])
  const form = { fields: 'RayID,EdgeStartTimestamp', timestamps: 'rfc3339' as const }
  t.strictSame(await received({ ...form, count: 2, start: new Date(begin * 1000).toISOString() }), [
    { RayID: ray(0), EdgeStartTimestamp: '2017-09-29T16:28:24Z' },
    { RayID: ray(1), EdgeStartTimestamp: '2017-09-29T16:28:24Z' },
  ])
  t.equal((await received({ start: `${begin}000000000`, end: `${end}000000000` })).length, 1001)
  t.equal((await received({ start: begin - 60, end: begin })).length, 0, 'end is exclusive')
  const sampled = (await received({ sample: 0.1 })).length
  t.ok(sampled > 20 && sampled < 250, `${sampled} of 1001`)

  const found = String(await client.logs.RayID.get(ray(7), { ...zoneId, fields: 'RayID' }))
  t.equal(found, `{"RayID":"${ray(7)}"}\n`.repeat(2), 'ray ids are not unique')
  t.equal(String(await client.logs.RayID.get(ray(99_999), zoneId)), '')
  t.match(await client.logs.received.fields.get(zoneId), { RayID: 'string', EdgeStartTimestamp: 'timestamp' })

  const WRONG: [query: string, pointer: string][] = [
    [`start=${begin}&end=${begin}`, '/start'],
    [`start=${begin - 4000}&end=${end}`, '/start'],
    [`start=${begin}&end=${end + 3600}`, '/end'],
    [`start=${begin - 8 * 86_400}&end=${begin - 8 * 86_400 + 60}`, '/start'],
    [`start=yesterday&end=${end}`, '/start'],
    [`end=${end}&fields=Nope`, '/fields'],
    [`end=${end}&count=0`, '/count'],
    [`end=${end}&sample=2`, '/sample'],
    [`end=${end}&timestamps=iso`, '/timestamps'],
    ['start=1', '/end'],
  ]
  for (const [query, pointer] of WRONG)
    t.match(
      await api.call('GET', `/zones/${ZONE}/logs/received?${query}`),
      { status: 400, body: { errors: [{ source: { pointer } }] } },
      query,
    )
  t.match(await api.call('GET', `/zones/${ZONE}/logs/rayids/xyz`), { status: 400 })
})

t.test('a position is found by its time', async (t) => {
  const frames = [0, 10, 20, 20, 50].map((at, n) => ({ first: n * 10, count: 10, acceptedAt: at, release() {} }))
  const frame = async (position: number) =>
    frames.find(({ first, count }) => position < first + count) as unknown as Frame
  const spool = { start: 0, end: 50, frame }
  const FOUND: [ms: number, position: number][] = [
    [-1, 0],
    [0, 0],
    [1, 10],
    [20, 20],
    [21, 40],
    [51, 50],
  ]
  for (const [ms, position] of FOUND) t.equal(await positionAt(spool, ms), position)
})
