import { createHash } from 'node:crypto'
import vm from 'node:vm'
import t from 'tap'
import { Challenges, COOKIE } from '../../src/edge/challenge/challenges.js'
import { BoundedSet } from '../../src/edge/challenge/bounded-set.js'
import { PAGE_POLICY, SOLUTION_PATH } from '../../src/edge/challenge/page.js'
import { provesWork } from '../../src/edge/challenge/proof.js'
import { SOLVER } from '../../src/edge/challenge/solver.js'
import { startOrigin, startProxy, testZone } from '../helpers/proxy.js'
import { arrived } from './exchange-helper.js'

const KEY = Buffer.alloc(32, 7)
const OPTIONS = { difficulty: 8, clearance_lifetime: 1_800_000 }
const BROWSER = 'text/html,application/xhtml+xml,*/*;q=0.8'

function handClock() {
  let at = 1_700_000_000_000
  return {
    now: () => at,
    monotonic: () => at,
    sleep: async () => {},
    move: (seconds: number) => {
      at += seconds * 1000
    },
  }
}

interface Visitor {
  readonly host?: string
  readonly address?: string
  readonly agent?: string
  readonly accept?: string
  readonly method?: string
  readonly cookie?: string
  readonly scheme?: 'http' | 'https'
  readonly zone?: ReturnType<typeof testZone>
}

const ZONE = testZone('http://127.0.0.1:9')

function visit({ host = 'example.test', address = '192.0.2.1', agent = 'A', accept = BROWSER, ...more }: Visitor = {}) {
  const rawHeaders = ['User-Agent', agent, 'Accept', accept]
  if (more.cookie !== undefined) rawHeaders.push('Cookie', more.cookie)
  return arrived({
    clientAddress: address,
    scheme: more.scheme ?? 'http',
    served: { zone: more.zone ?? ZONE, host, custom: undefined },
    method: more.method ?? 'GET',
    target: '/page?x=1',
    rawHeaders,
  })
}

const ticketIn = (page: string): string => /name="ticket" value="([^"]+)"/.exec(page)?.[1] ?? ''

/** Returns the first nonce that proves the work. */
function solve(ticket: string, bits = OPTIONS.difficulty): string {
  const id = ticket.split('.')[2] ?? ''
  for (let nonce = 0; ; nonce++) if (provesWork(id, String(nonce), bits)) return String(nonce)
}

const taskFor = (challenges: Challenges, visitor?: Visitor): string =>
  ticketIn(challenges.page(visit(visitor))?.body.toString() ?? '')

/** Solves a task as that client. Returns the cookie. */
function pass(challenges: Challenges, visitor?: Visitor): string {
  const ticket = taskFor(challenges, visitor)
  const headers = challenges.solved(visit(visitor), { ticket, nonce: solve(ticket), to: '/' })
  return headers?.['set-cookie']?.split(';')[0] ?? ''
}

t.test('solving the task returns a cookie that clears the client', async (t) => {
  const challenges = new Challenges(() => [KEY], handClock(), OPTIONS)
  t.equal(challenges.clearance(visit()), undefined)
  const cookie = pass(challenges)
  t.match(cookie, /^cf_clearance=1\.\w+\.[\w-]{22}\.[\w-]{43}$/)
  t.ok(challenges.clearance(visit({ cookie: `a=b; ${cookie}; c=d` })))
  t.ok(new Challenges(() => [KEY], handClock(), OPTIONS).clearance(visit({ cookie })), 'on each machine with the key')
  t.ok(challenges.clearance(visit({ cookie: `${COOKIE}=stale; ${cookie}` })), 'also behind another of its name')
})

t.test('the cookie has only the necessary attributes, the response its location', async (t) => {
  const challenges = new Challenges(() => [KEY], handClock(), OPTIONS)
  for (const scheme of ['http', 'https'] as const) {
    const ticket = taskFor(challenges, { scheme })
    const headers = challenges.solved(visit({ scheme }), { ticket, nonce: solve(ticket), to: '/page?x=1#part' })
    const attributes = '; Path=/; Max-Age=1800; HttpOnly; SameSite=Lax'
    t.equal(headers?.['set-cookie']?.replace(/^[^;]*/, ''), `${attributes}${scheme === 'https' ? '; Secure' : ''}`)
    t.match(headers, { location: '/page?x=1#part', 'cache-control': 'no-store' })
  }
})

const OTHERS: [what: string, visitor: Visitor][] = [
  ['another address', { address: '192.0.2.2' }],
  ['another browser', { agent: 'B' }],
  ['another zone', { zone: { ...ZONE, id: 'f'.repeat(32) } }],
]
for (const [what, visitor] of OTHERS) {
  t.test(`a cookie is not valid for ${what}`, async (t) => {
    const challenges = new Challenges(() => [KEY], handClock(), OPTIONS)
    t.equal(challenges.clearance(visit({ ...visitor, cookie: pass(challenges) })), undefined)
  })
}
for (const [what, visitor] of [
  ...OTHERS.slice(0, 2),
  ['another host', { host: 'www.example.test' }],
] as typeof OTHERS) {
  t.test(`a task is not valid for ${what}`, async (t) => {
    const challenges = new Challenges(() => [KEY], handClock(), OPTIONS)
    const ticket = taskFor(challenges)
    t.equal(challenges.solved(visit(visitor), { ticket, nonce: solve(ticket), to: '/' }), undefined)
  })
}

t.test('a cookie expires after the time configured when it was issued', async (t) => {
  const clock = handClock()
  const challenges = new Challenges(() => [KEY], clock, OPTIONS)
  const cookie = pass(challenges)
  clock.move(1799)
  t.ok(challenges.clearance(visit({ cookie })))
  clock.move(2)
  t.equal(challenges.clearance(visit({ cookie })), undefined)
})

t.test('changed and made-up cookies clear no client', async (t) => {
  const challenges = new Challenges(() => [KEY], handClock(), OPTIONS)
  const cookie = pass(challenges)
  const [name = '', value = ''] = cookie.split('=')
  const [version = '', expiry = '', id = '', signature = ''] = value.split('.')
  const other = pass(new Challenges(() => [Buffer.alloc(32, 8)], handClock(), OPTIONS))
  const forged = [
    [version, 'zzzzzzzzz', id, signature],
    [version, expiry, id.replace(/^./, (c) => (c === 'A' ? 'B' : 'A')), signature],
    [version, expiry, id, signature.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))],
    [version, expiry, id, ''],
    [version, expiry, id],
    ['2', expiry, id, signature],
  ].map((parts) => `${name}=${parts.join('.')}`)
  // A task is signed for another purpose.
  for (const text of [...forged, `${name}=${taskFor(challenges)}`, other, `${name}=`, `${name}=${'1.'.repeat(5000)}`])
    t.equal(challenges.clearance(visit({ cookie: text })), undefined, text.slice(0, 80))
  t.equal(
    challenges.clearance(visit({ cookie: `${`${name}=x; `.repeat(1000)}${cookie}` })),
    undefined,
    'of many cookies of one name the first few are looked at',
  )
})

t.test('solutions that are wrong, late, changed or already used are rejected', async (t) => {
  const clock = handClock()
  const challenges = new Challenges(() => [KEY], clock, OPTIONS)
  const ticket = taskFor(challenges)
  const nonce = solve(ticket)
  const tried = (more: object) => challenges.solved(visit(), { ticket, nonce, to: '/', ...more })
  let wrong = 0
  while (provesWork(ticket.split('.')[2] ?? '', String(wrong), OPTIONS.difficulty)) wrong++
  for (const more of [
    { nonce: String(wrong) },
    { nonce: '' },
    { nonce: `${nonce} ` },
    { nonce: `-${nonce}` },
    { nonce: `${nonce}e0` },
    { nonce: '1'.repeat(17) },
    { ticket: '' },
    { ticket: `${ticket}a` },
    { ticket: pass(challenges).split('=')[1] },
    { ticket: 'x'.repeat(30_000) },
  ])
    t.equal(tried(more), undefined, JSON.stringify(more).slice(0, 80))
  t.ok(tried({}), 'the first time it is good')
  t.equal(tried({}), undefined, 'and not again')

  const old = taskFor(challenges)
  clock.move(601)
  t.equal(challenges.solved(visit(), { ticket: old, nonce: solve(old), to: '/' }), undefined)

  const easy = taskFor(challenges)
  challenges.options = { ...OPTIONS, difficulty: 12 }
  t.equal(challenges.solved(visit(), { ticket: easy, nonce: solve(easy), to: '/' }), undefined, 'a task from before')
})

const WAYS: [to: string, location: string][] = [
  ['/', '/'],
  ['/a/b?c=d&e=%2F%2Fevil.test#f', '/a/b?c=d&e=%2F%2Fevil.test#f'],
  ['//evil.test/', '/'],
  ['/\\evil.test', '/'],
  ['/\t/evil.test', '/'],
  ['/\n/evil.test', '/'],
  ['\\\\evil.test', '/'],
  ['https://evil.test/', '/'],
  ['javascript:alert(1)', '/'],
  ['', '/'],
  ['evil.test', '/'],
  [' //evil.test', '/'],
  ['/a\r\nSet-Cookie: x=y', '/'],
  ['/caf\u00e9', '/'],
  [`/${'a'.repeat(9000)}`, '/'],
]
for (const [to, location] of WAYS) {
  t.test(`a client that asks for ${JSON.stringify(to).slice(0, 40)} is redirected to ${location}`, async (t) => {
    const challenges = new Challenges(() => [KEY], handClock(), OPTIONS)
    const ticket = taskFor(challenges)
    t.equal(challenges.solved(visit(), { ticket, nonce: solve(ticket), to })?.location, location)
  })
}

const PROGRAMS: Visitor[] = [
  { accept: '*/*' },
  { accept: 'application/json' },
  { accept: 'text/*' },
  { accept: 'text/html;q=0, */*' },
  { accept: `text/html${','.repeat(2000)}` },
  { method: 'POST' },
  { method: 'HEAD' },
]
for (const visitor of PROGRAMS) {
  t.test(`${JSON.stringify(visitor).slice(0, 50)} is not a browser navigation`, async (t) => {
    t.equal(new Challenges(() => [KEY], handClock(), OPTIONS).page(visit(visitor)), undefined)
  })
}

t.test('the page loads nothing, and may run only its own script', async (t) => {
  const page = new Challenges(() => [KEY], handClock(), OPTIONS).page(visit())
  const html = page?.body.toString() ?? ''
  t.match(page?.headers, { 'content-security-policy': PAGE_POLICY, 'cache-control': 'no-store' })
  const [script = ''] = /(?<=<script>)[^]*?(?=<\/script>)/.exec(html) ?? []
  const [style = ''] = /(?<=<style>)[^]*?(?=<\/style>)/.exec(html) ?? []
  for (const text of [script, style])
    t.ok(PAGE_POLICY.includes(`'sha256-${createHash('sha256').update(text).digest('base64')}'`))
  t.notMatch(html, /https?:|src=|href=|@import|url\(/)
  t.match(html, /<html lang="en">/)
  t.match(html, /role="status"/)
  t.match(html, /<noscript>/)
})

/** Runs the script of the page as a browser would, until it posts its form or shows why it cannot. */
async function runPage(html: string, cookieEnabled = true): Promise<{ values: Record<string, string>; said: string }> {
  const values: Record<string, string> = {}
  const elements: Record<string, { value: string }> = {}
  for (const [, name = '', value = ''] of html.matchAll(/name="(\w+)" value="([^"]*)"/g)) elements[name] = { value }
  const status = { textContent: '' }
  return await new Promise((resolve) => {
    const form = {
      hidden: true,
      elements,
      getAttribute: () => /data-bits="(\d+)"/.exec(html)?.[1],
      querySelector: () => ({}),
      submit() {
        for (const [name, { value }] of Object.entries(elements)) values[name] = value
        resolve({ values, said: status.textContent })
      },
    }
    vm.runInNewContext(SOLVER, {
      document: { forms: [form], getElementById: () => status },
      navigator: { cookieEnabled },
      location: { pathname: '/page', search: '?x=1', hash: '#part' },
      window: { addEventListener: () => undefined },
      setTimeout,
    })
    if (status.textContent) resolve({ values, said: status.textContent })
  })
}

t.test("the page's own script solves its task", async (t) => {
  for (const difficulty of [8, 11, 14]) {
    const challenges = new Challenges(() => [KEY], handClock(), { ...OPTIONS, difficulty })
    const { values } = await runPage(challenges.page(visit())?.body.toString() ?? '')
    const { ticket = '', nonce = '', to = '' } = values
    t.match(challenges.solved(visit(), { ticket, nonce, to }), { location: '/page?x=1#part' })
  }
})

t.test('if cookies are blocked the page says so, and does no work', async (t) => {
  const html = new Challenges(() => [KEY], handClock(), OPTIONS).page(visit())?.body.toString() ?? ''
  const { said, values } = await runPage(html, false)
  t.match(said, /Allow cookies/)
  t.strictSame(values, {})
})

t.test('a clearance is exchanged for one reset of each limit', async (t) => {
  const challenges = new Challenges(() => [KEY], handClock(), OPTIONS)
  const clearance = challenges.clearance(visit({ cookie: pass(challenges) }))!
  t.strictSame(
    ['a', 'a', 'b', 'a'].map((thing) => challenges.redeem(clearance, thing)),
    [true, false, true, false],
  )
})

t.test('the memory of used entries is bounded, the oldest is dropped first', async (t) => {
  const set = new BoundedSet(3)
  t.strictSame(
    ['a', 'b', 'c', 'a', 'd', 'b', 'a'].map((text) => set.add(text)),
    [true, true, true, false, true, false, true],
  )
  t.equal(set.size, 3)
})

t.test('the proxy accepts posted solutions, and nothing else below that path', async (t) => {
  const seen: string[] = []
  const { url: origin } = await startOrigin(t, (request, response) => {
    seen.push(`${request.method} ${request.url}`)
    response.end('origin')
  })
  const challenges = new Challenges(() => [KEY], { ...handClock(), now: () => Date.now() }, OPTIONS)
  const { url } = await startProxy(t, [testZone(origin, "hostnames: ['127.0.0.1']")], { challenges })
  const headers = { 'user-agent': 'A', accept: 'text/html' }
  const post = async (body: string | URLSearchParams, path = SOLUTION_PATH) =>
    await fetch(`${url}${path}`, { method: 'POST', body, headers, redirect: 'manual' })

  const ticket = taskFor(challenges, { address: '127.0.0.1', host: '127.0.0.1' })
  const solution = { ticket, nonce: solve(ticket), to: '/after' }
  const wrong = await post(new URLSearchParams({ ...solution, nonce: '' }))
  t.equal(wrong.status, 403)
  t.equal(wrong.headers.get('cf-mitigated'), 'challenge')
  const right = await post(new URLSearchParams(solution))
  t.equal(right.status, 303)
  t.equal(right.headers.get('location'), '/after')
  const cookie = right.headers.get('set-cookie')?.split(';')[0] ?? ''
  t.ok(challenges.clearance(visit({ address: '127.0.0.1', cookie })))
  t.equal((await post(new URLSearchParams(solution))).status, 403, 'a second time')
  t.equal((await post('x'.repeat(33_000))).status, 413)
  t.equal((await post('')).status, 403)
  t.strictSame(seen, [])

  t.equal((await post('', `${SOLUTION_PATH}?x`)).status, 200)
  t.equal((await fetch(`${url}${SOLUTION_PATH}`, { headers })).status, 200)
  t.strictSame(seen, [`POST ${SOLUTION_PATH}?x`, `GET ${SOLUTION_PATH}`])
})
