import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import type { RequestPage, RequestReader } from '../../../src/core/model/requests/request-reader.js'
import type { RequestRecord } from '../../../src/core/model/requests/request-record.js'
import { WORKER_MACHINES } from '../../../src/core/model/worker-data.js'
import { DAEMON, zone } from '../../../src/core/scope.js'
import type { Store } from '../../../src/core/store.js'
import { requestsOf } from '../../../src/daemon/all-requests.js'
import { FrameSender } from '../../../src/daemon/machines/frames.js'
import { WorkerHomeServer } from '../../../src/daemon/machines/home-server.js'
import { openMemory } from '../../../src/store/memory.js'
import { HandClock } from '../../helpers/hand-clock.js'

const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const KEY = Buffer.alloc(32, 7)
const NOWHERE = { machines: 1, missing: [] }

const record = (at: number, ray: string, path = '/'): RequestRecord => ({
  at,
  ray: ray.padStart(16, '0'),
  method: 'GET',
  scheme: 'https',
  host: 'one.test',
  path,
  http: '2',
  status: 200,
  ip: '192.0.2.1',
  bytes: 1,
  ms: 1,
  phases: [],
  request: [],
  response: [],
})

/** Reads records that are in memory, newest first. A page ends after `examines` records. */
function reader(records: readonly RequestRecord[], examines = Infinity): RequestReader {
  const sorted = records.toSorted((a, b) => b.at - a.at || (a.ray < b.ray ? 1 : -1))
  return {
    async page(_zone, { after, limit }): Promise<RequestPage> {
      const rest = sorted.filter(({ at, ray }) => !after || at < after.at || (at === after.at && ray < after.ray))
      const found = rest.slice(0, Math.min(limit, examines))
      const last = found.at(-1)
      const next = found.length < rest.length && last ? { at: last.at, ray: last.ray } : undefined
      return { records: found, examined: found.length, next, coverage: NOWHERE }
    },
    find: async (_zone, ray) => sorted.find((one) => one.ray === ray),
    kept: async () => ({ from: sorted.at(-1)?.at, isSampled: sorted.some(({ n }) => n), coverage: NOWHERE }),
    dryRun: async (_zone, { since }) => ({
      matched: sorted.length,
      examined: 10,
      since: Math.max(since, sorted.at(-1)?.at ?? 0),
      statuses: new Map([[200, sorted.length]]),
      agents: new Map([[sorted[0]!.path, 1]]),
      samples: sorted.map(({ ray }) => ray),
      coverage: NOWHERE,
    }),
    async *follow() {
      yield [sorted[0]!]
    },
  }
}

/** Returns the log of all machines as the machine `one` reads it. */
async function machines(t: Test, own: RequestReader, others: Readonly<Record<string, RequestReader>>) {
  const store: Store = openMemory({ folder: '', log: silentLog, clock: new HandClock(), retention: { entries: 10 } })
  const announce = async (id: string, address: string) =>
    void (await store.batch([{ kind: WORKER_MACHINES, scope: DAEMON, id, value: { beat: 1, address } }]))
  const config = { machines: { listen: '127.0.0.1:0', advertise: null }, store: 'redis://127.0.0.1:1/0' }
  const servers = new Map<string, WorkerHomeServer>()
  for (const [self, other] of Object.entries(others)) {
    const deps = { keys: [KEY], self, clock: systemClock, log: silentLog }
    const server = await WorkerHomeServer.open(config, deps)
    t.teardown(() => server.close())
    server.serve({ accept: async () => undefined, caughtUp: async () => new Map() })
    requestsOf(other, { sources: server.sources, questions: undefined, log: silentLog })
    await announce(self, server.address)
    servers.set(self, server)
  }
  const questions = { store, self: 'one', keys: [KEY], clock: systemClock }
  return { all: requestsOf(own, { sources: undefined, questions, log: silentLog }), servers, announce }
}

const range = { since: 0, until: Infinity, limit: 3 }

t.test('pages have the requests of all machines in order, each once', async (t) => {
  const odd = Array.from({ length: 7 }, (_, n) => record(1000 + 2 * n, `a${n}`))
  const even = Array.from({ length: 9 }, (_, n) => record(1001 + 2 * n, `b${n}`))
  const { all } = await machines(t, reader(odd), { two: reader(even, 2), three: reader([record(1000, 'c')]) })
  const seen: RequestRecord[] = []
  let pages = 0
  for (let after: RequestPage['next']; pages === 0 || after; pages++) {
    const page: RequestPage = await all.page(ZONE, { ...range, after })
    t.strictSame(page.coverage, { machines: 3, missing: [] })
    t.ok(page.records.length <= range.limit)
    seen.push(...page.records)
    after = page.next
  }
  const wanted = [...odd, ...even, record(1000, 'c')].toSorted((a, b) => b.at - a.at || (a.ray < b.ray ? 1 : -1))
  t.strictSame(
    seen.map(({ ray }) => ray),
    wanted.map(({ ray }) => ray),
  )
})

t.test('one request is found on another machine, and dry runs add up', async (t) => {
  const there = record(500, 'b1', '/there')
  const { all } = await machines(t, reader([record(900, 'a1')]), { two: reader([there]) })
  t.strictSame(await all.find(ZONE, there.ray), there)
  t.equal(await all.find(ZONE, 'f'.repeat(16)), undefined)
  t.strictSame(await all.kept(ZONE), { from: 500, isSampled: false, coverage: { machines: 2, missing: [] } })
  t.strictSame(await all.dryRun(ZONE, { expression: 'true', phase: 'p', since: 0 }), {
    matched: 2,
    examined: 20,
    since: 900,
    statuses: new Map([[200, 2]]),
    agents: new Map([
      ['/', 1],
      ['/there', 1],
    ]),
    samples: [record(0, 'a1').ray, there.ray],
    coverage: { machines: 2, missing: [] },
  })
})

t.test('machines that do not answer are named, and the others still answer', async (t) => {
  const failing = { ...reader([]), page: async () => Promise.reject(new Error('the disk is broken')) }
  const { all, servers, announce } = await machines(t, reader([record(900, 'a1')]), {
    two: reader([record(800, 'b1')]),
    three: reader([record(700, 'c1')]),
    four: failing,
  })
  await announce('five', '127.0.0.1:1')
  servers.get('three')?.close()
  const { records, coverage } = await all.page(ZONE, range)
  t.same(
    records.map(({ at }) => at),
    [900, 800],
  )
  t.strictSame(coverage, { machines: 2, missing: ['five', 'four', 'three'] })
})

t.test('sessions of other machines get the requests of this one, a line each', async (t) => {
  const sources = new Map()
  requestsOf(reader([record(900, 'a1')]), { sources, questions: undefined, log: silentLog })
  const stream = new PassThrough()
  const sender = new FrameSender(stream)
  sender.open()
  const scope = zone(ZONE)
  await sources.get('request_tail')({ scope, input: { requests: {} } }, sender, new AbortController().signal)
  const [head] = await once(stream, 'data')
  const rest = stream.read() ?? (await once(stream, 'data'))[0]
  t.equal(head.length, 5)
  t.match(JSON.parse(rest.toString()), { ray_id: record(0, 'a1').ray, at: '1970-01-01T00:00:00.900Z', status: 200 })
})
