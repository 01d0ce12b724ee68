import t from 'tap'
import { Balancer, Balancers, type BalancerOptions } from '../../src/edge/balancing/balancer.js'
import { isExpected } from '../../src/edge/origins/health.js'
import { Peer } from '../../src/edge/balancing/peer.js'

const NOBODY = { clientAddress: '192.0.2.1', clientHeaders: [] }

const options = (
  peers: readonly { url: string; weight?: number; backup?: boolean; connections?: number }[],
  more: Partial<BalancerOptions> = {},
): BalancerOptions => ({
  peers: peers.map((peer) => ({ weight: 1, backup: false, connections: undefined, ...peer })),
  balance: 'round_robin',
  retries: 1,
  health: undefined,
  ...more,
})

const peer = () => new Peer({ url: 'a', weight: 1, backup: false, connections: undefined })

/** Fails an origin until it is down. */
function takeDown(target: Peer, now: number): void {
  for (let i = 0; i < 3; i++) target.failed(now, true)
}

t.test('round robin follows the weights smoothly', async (t) => {
  const balancer = new Balancer(options([{ url: 'a', weight: 2 }, { url: 'b' }]))
  const order = Array.from({ length: 6 }, (_, i) => balancer.pick(NOBODY, i * 1e6).url)
  t.equal(order.join(''), 'abaaba')
})

t.test('least_requests takes the origin with the fewest requests for its weight', async (t) => {
  const balancer = new Balancer(options([{ url: 'a', weight: 3 }, { url: 'b' }], { balance: 'least_requests' }))
  const counts = new Map<string, number>()
  for (let i = 0; i < 8; i++) {
    const found = balancer.pick(NOBODY, 1e6)
    found.started()
    counts.set(found.url, (counts.get(found.url) ?? 0) + 1)
  }
  t.same(Object.fromEntries(counts), { a: 6, b: 2 })
})

t.test('a key stays at its origin, and an origin that goes down moves only its own keys', async (t) => {
  const urls = ['http://a', 'http://b', 'http://c', 'http://d']
  const keys = Array.from({ length: 4000 }, (_, i) => ({
    clientAddress: `10.0.${i >> 8}.${i & 255}`,
    clientHeaders: [],
  }))
  const balancer = new Balancer(
    options(
      urls.map((url, i) => ({ url, weight: i === 0 ? 3 : 1 })),
      { balance: 'client_address' },
    ),
  )
  const before = keys.map((key) => balancer.pick(key, 1e6).url)
  t.same(
    keys.map((key) => balancer.pick(key, 1e6).url),
    before,
  )
  const share = before.filter((url) => url === 'http://a').length / keys.length
  t.ok(share > 0.45 && share < 0.55, `weight 3 of 6 gets ${share}`)
  takeDown(balancer.peers[3]!, 1e6)
  const after = keys.map((key) => balancer.pick(key, 1e6).url)
  t.notOk(after.includes('http://d'))
  t.equal(before.filter((url, i) => url !== 'http://d' && url !== after[i]).length, 0)
})

t.test('a header or a cookie is the key; without it requests rotate', async (t) => {
  const peers = [{ url: 'a' }, { url: 'b' }, { url: 'c' }]
  const pick = (balance: string, headers: string[]) => {
    const balancer = new Balancer(options(peers, { balance }))
    const key = { clientAddress: '', clientHeaders: headers }
    return new Set(Array.from({ length: 9 }, () => balancer.pick(key, 1e6).url)).size
  }
  t.equal(pick('header:X-User', ['x-USER', 'ann']), 1)
  t.equal(pick('header:X-User', ['x-other', 'ann']), 3)
  t.equal(pick('cookie:sid', ['Cookie', 'a=1; sid=abc; b=2']), 1)
  t.equal(pick('cookie:sid', ['Cookie', 'a=1', 'cookie', 'sid=abc']), 1)
  t.equal(pick('cookie:sid', ['Cookie', 'xsid=abc']), 3)
  const cookies = Array.from({ length: 50 }, (_, i) => i)
  const balancer = new Balancer(options(peers, { balance: 'cookie:sid' }))
  const used = new Set(
    cookies.map((i) => balancer.pick({ clientAddress: '', clientHeaders: ['cookie', `sid=${i}`] }, 1e6).url),
  )
  t.equal(used.size, 3)
})

t.test('a backup is used only if every other origin is down, and full origins only if all are', async (t) => {
  const balancer = new Balancer(
    options([
      { url: 'a', connections: 1 },
      { url: 'b', connections: 1 },
      { url: 'c', backup: true },
    ]),
  )
  const [a, b] = balancer.peers
  a!.started()
  t.same(
    [1, 2, 3].map(() => balancer.pick(NOBODY, 1e6).url),
    ['b', 'b', 'b'],
  )
  b!.started()
  t.not(balancer.pick(NOBODY, 1e6).url, 'c', 'a full origin is not down')
  takeDown(a!, 1e6)
  t.equal(balancer.pick(NOBODY, 1e6).url, 'b')
  takeDown(b!, 1e6)
  t.equal(balancer.pick(NOBODY, 1e6).url, 'c')
  takeDown(balancer.peers[2]!, 1e6)
  t.not(balancer.pick(NOBODY, 1e6).url, 'c', 'all are down: the others are tried first')
})

t.test('three failures in a row take an origin down; after a while one request tests it', async (t) => {
  const one = peer()
  one.failed(0, true)
  one.failed(0, true)
  one.responded(500, 0)
  t.ok(one.isUp(0), 'a status is a response')
  one.failed(0, true)
  one.failed(0, false)
  t.equal(one.failed(0, true), undefined)
  t.equal(one.failed(0, true), 'down')
  t.notOk(one.isUp(9999))
  t.ok(one.isUp(10_000))
  one.started()
  t.notOk(one.isUp(10_000), 'one test at a time')
  t.equal(one.failed(10_000, true), undefined)
  one.ended()
  t.notOk(one.isUp(29_999), 'twice as long')
  t.ok(one.isUp(30_000))
  one.started()
  t.equal(one.responded(200, 30_000), 'up')
  one.ended()
  t.ok(one.isUp(30_000))
  const weights = [30_000, 35_000, 40_000].map((now) => one.weight(now))
  t.same(weights, [0.05, 0.5, 1], 'it gets its share gradually')
  takeDown(one, 50_000)
  t.ok(one.isUp(60_000), 'the time begins again')
})

t.test('active checks change the state after so many results in a row', async (t) => {
  const after = { healthy: 2, unhealthy: 3 }
  const one = peer()
  const results = [false, false, true, false, false, false, true, false, true, true]
  t.same(
    results.map((healthy) => one.checked(healthy ? undefined : 'responded with 500', 0, after) ?? '-'),
    ['-', '-', '-', '-', '-', 'down', '-', '-', '-', 'up'],
  )
})

t.test('what the last results say differs from what gets requests', async (t) => {
  const one = peer()
  t.match(one.report, { state: 'unknown', since: undefined, checkedAt: undefined, lastError: undefined })
  one.failed(1, false, 'the queue is full')
  t.match(one.report, { state: 'unknown' }, 'the origin was not asked')
  one.failed(2, true, 'refused')
  t.ok(one.isUp(2))
  t.match(one.report, { state: 'down', since: 2, checkedAt: 2, lastError: 'refused' }, 'it has never responded')
  for (let at = 3; at < 1000; at += 100) one.failed(at, true, 'x'.repeat(1000))
  t.ok(one.isUp(70_000), 'the next request tests it')
  t.match(one.report, { state: 'down', since: 2, checkedAt: 903 })
  t.equal(one.report.lastError?.length, 201)
  one.responded(503, 70_000)
  t.strictSame(one.report, { state: 'up', since: 70_000, checkedAt: 70_000, lastError: undefined })
  one.failed(70_001, true, 'reset')
  one.failed(70_002, true, 'reset')
  t.match(one.report, { state: 'up', since: 70_000, checkedAt: 70_002, lastError: 'reset' }, 'it responded before')
  one.failed(70_003, true, 'reset')
  t.match(one.report, { state: 'down', since: 70_003 })

  const checked = peer()
  const after = { healthy: 2, unhealthy: 3 }
  checked.checked('responded with 500', 1, after)
  t.match(checked.report, { state: 'down', since: 1, lastError: 'responded with 500' })
  checked.checked(undefined, 2, after)
  t.match(checked.report, { state: 'up', since: 2, lastError: undefined })
  checked.checked('slow', 3, after)
  t.match(checked.report, { state: 'up', checkedAt: 3, lastError: 'slow' })
  checked.checked('slow', 4, after)
  checked.checked('slow', 5, after)
  checked.checked(undefined, 6, after)
  t.match(checked.report, { state: 'down', since: 5, checkedAt: 6, lastError: 'slow' }, 'one good result is not enough')
  checked.responded(200, 7)
  t.match(checked.report, { state: 'down' }, 'requests that nobody else could take do not overrule the checks')
  checked.checked(undefined, 8, after)
  t.match(checked.report, { state: 'up', since: 8, lastError: undefined })
})

t.test('retries go to other origins, within the limit and a fifth of all requests', async (t) => {
  const balancer = new Balancer(options([{ url: 'a' }, { url: 'b' }, { url: 'c' }], { retries: 1 }))
  const [a, b] = balancer.peers
  t.not(balancer.pickAgain(NOBODY, [a!], 1e6), a)
  t.equal(balancer.pickAgain(NOBODY, [a!, b!], 1e6), undefined, 'one retry only')
  const two = new Balancer(options([{ url: 'a' }], { retries: 5 }))
  t.equal(two.pickAgain(NOBODY, [two.peers[0]!], 1e6), undefined, 'no other origin')

  let again = 0
  for (let i = 0; i < 1000; i++) {
    const first = balancer.pick(NOBODY, 1e6)
    if (balancer.pickAgain(NOBODY, [first], 1e6)) again++
  }
  t.ok(again >= 200 && again <= 210, `${again} of 1000`)
})

t.test('an origin retains its state through changes of the configuration', async (t) => {
  const balancers = new Balancers()
  const first = balancers.of('z', options([{ url: 'a' }, { url: 'b' }]))
  t.equal(balancers.of('z', options([{ url: 'a' }, { url: 'b' }])), first)
  takeDown(first.peers[0]!, 1e6)
  const second = balancers.of('z', options([{ url: 'c' }, { url: 'a', weight: 5 }]))
  t.not(second, first)
  t.equal(second.peers[1], first.peers[0])
  t.equal(second.peers[1]?.options.weight, 5)
  t.equal(second.pick(NOBODY, 1e6).url, 'c')
  balancers.retain(() => false)
  t.not(balancers.of('z', options([{ url: 'a' }])).peers[0], first.peers[0])
})

t.test('expected statuses are numbers and ranges', async (t) => {
  for (const [status, expected, wanted] of [
    [200, '200-399', true],
    [399, '200-399', true],
    [404, '200-399', false],
    [304, '200, 304', true],
    [201, '200, 304', false],
  ] as const)
    t.equal(isExpected(status, expected), wanted, `${status} in ${expected}`)
})
