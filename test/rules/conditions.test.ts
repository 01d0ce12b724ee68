import t from 'tap'
import type { Rule } from '../../src/core/model/ruleset.js'
import { CredentialCheck } from '../../src/rules/limits/exposed-credentials.js'
import { compileKey } from '../../src/rules/limits/key.js'
import type { Exceeded } from '../../src/rules/limit.js'
import { Limiter } from '../../src/rules/limits/limiter.js'
import { RuleLimit } from '../../src/rules/limits/rule-limit.js'
import type { ExchangeObserver } from '../../src/rules/types.js'
import {
  BUDGET_EXCEEDED,
  contextOf,
  Getters,
  NO_LISTS,
  parseIp,
  REQUEST_STEPS,
  SCHEME,
  type Value,
} from '../../src/expr/index.js'
import { LIMIT } from './limits-helper.js'

const PLACE = { phase: 'http_ratelimit', lists: NO_LISTS } as const

function handClock() {
  // At the start of a window, so that the tables below can count in whole periods.
  let at = 1_000_000_000_000 - (1_000_000_000_000 % 3_600_000)
  return {
    now: () => at,
    monotonic: () => at,
    sleep: async () => {},
    move: (seconds: number) => {
      at += seconds * 1000
    },
  }
}

const headers = (fields: Record<string, string>): Value =>
  new Map(Object.entries(fields).map(([name, value]) => [name, [value]]))

function ruleWith(ratelimit: Partial<NonNullable<Rule['ratelimit']>>) {
  return {
    id: '0123456789abcdef0123456789abcdef',
    version: '1',
    last_updated: '2026-11-21T00:00:00Z',
    ref: 'r',
    action: 'block',
    expression: 'true',
    description: '',
    enabled: true,
    ratelimit: { ...LIMIT, ...ratelimit },
  } satisfies Rule
}

/** One request and its effects. */
interface Sent {
  readonly from?: string
  readonly matched?: boolean
  readonly fields?: Record<string, Value>
  /** The rule only logs: the request continues even if the rule acts on it. */
  readonly logs?: boolean
  /** Another rule ends the request before it reaches the origin. */
  readonly stopped?: boolean
  /** The zone has a cache; `hit`: it has the response. */
  readonly cache?: 'hit' | 'miss'
  readonly response?: { readonly code: number; readonly headers?: readonly string[] }
}

/** Creates a rule on its own machine. `send` returns the seconds of Retry-After if the rule acts, else undefined. */
function machine(ratelimit: Partial<NonNullable<Rule['ratelimit']>>) {
  const clock = handClock()
  const limiter = new Limiter({ clock })
  const rule = new RuleLimit(ruleWith(ratelimit), PLACE)
  const send = (sent: Sent = {}) => {
    const { from = '192.0.2.1', matched = true, fields, logs, stopped, cache, response = { code: 200 } } = sent
    const values: [string, Value][] = [['ip.src', parseIp(from)!], ...Object.entries(fields ?? {})]
    const followers: ExchangeObserver[] = []
    const gates: (() => Exceeded | undefined)[] = []
    const request = {
      context: contextOf(SCHEME, new Map(values)),
      mayBeCached: cache !== undefined,
      beforeOrigin: (check: () => Exceeded | undefined) => void gates.push(check),
      follow: (follower: ExchangeObserver) => void followers.push(follower),
    }
    let exceeded = rule.judge(limiter, request, matched)
    if (cache === 'miss' && !stopped) for (const gate of gates) exceeded ??= gate()
    const acted = exceeded !== undefined && !logs
    for (const follower of followers) {
      if (acted) follower.endedBy(rule.ruleId)
      else if (stopped) follower.endedBy('another')
      else if (cache === 'hit') continue
      else follower.toOrigin()
    }
    const code = acted ? 429 : stopped ? 403 : response.code
    const responded = contextOf(SCHEME, new Map<string, Value>([...values, ['http.response.code', code]]))
    const fromOrigin = acted || stopped || cache === 'hit' ? undefined : (response.headers ?? [])
    for (const follower of followers) follower.responded(responded, fromOrigin)
    return exceeded?.retryAfter
  }
  return { clock, limiter, rule, send, times: (n: number, sent?: Sent) => Array.from({ length: n }, () => send(sent)) }
}

const acted = (results: readonly (number | undefined)[]) => results.map((result) => result !== undefined)

t.test('the first request acted on is the one that makes the count one more than the threshold', async (t) => {
  const { times, send } = machine({})
  t.strictSame(acted(times(5)), [false, false, false, true, true])
  t.equal(send({ from: '192.0.2.2' }), undefined, 'another key has a count of its own')
  t.equal(send({ matched: false }), undefined, 'what does not match is neither counted nor acted on')
})

const ENDS: [mitigation: number, period: number, stillAfter: number, freeAfter: number][] = [
  [0, 60, 10, 60],
  [0, 10, 1, 10],
  [10, 60, 9, 61],
  [600, 60, 599, 601],
  [86_400, 60, 86_399, 86_401],
]
for (const [mitigation_timeout, period, stillAfter, freeAfter] of ENDS) {
  t.test(
    `over in ${period} s with a mitigation of ${mitigation_timeout} s: acted on after ${stillAfter} s`,
    async (t) => {
      const { times, send, clock } = machine({ mitigation_timeout, period })
      times(4)
      clock.move(stillAfter)
      t.type(send({ logs: true }), 'number')
      clock.move(freeAfter - stillAfter)
      if (mitigation_timeout < period) clock.move(period)
      t.equal(send(), undefined, `free after ${freeAfter} s`)
    },
  )
}

t.test('with a mitigation time the action lasts that long for all matching requests, counted or not', async (t) => {
  const { times, send, clock } = machine({ mitigation_timeout: 120, counting_expression: 'http.host eq "a.test"' })
  times(4, { fields: { 'http.host': 'a.test' } })
  clock.move(119)
  t.equal(send({ fields: { 'http.host': 'b.test' } }), 1, 'and Retry-After is what is left of it')
  clock.move(2)
  t.equal(send({ fields: { 'http.host': 'b.test' } }), undefined)
})

t.test('Retry-After without a mitigation time is when one more request passes', async (t) => {
  const { times, send, clock } = machine({})
  const wait = times(4).at(-1) ?? 0
  t.ok(wait > 0 && wait <= 75, `${wait} s`)
  clock.move(wait)
  t.equal(send(), undefined)
})

t.test('requests that the rule stops count, so that a client that continues remains stopped', async (t) => {
  const { send, clock, times } = machine({ period: 10 })
  times(4)
  for (let second = 0; second < 60; second++) {
    clock.move(1)
    t.type(send(), 'number')
  }
})

t.test('two responses with 400 count, and the next request is acted on', async (t) => {
  const { send } = machine({
    requests_per_period: 1,
    mitigation_timeout: 600,
    counting_expression: 'http.request.uri.path eq "/form" and http.response.code eq 400',
  })
  const form = (code: number): Sent => ({ fields: { 'http.request.uri.path': '/form' }, response: { code } })
  t.strictSame(acted([send(form(400)), send(form(200)), send(form(400)), send(form(200))]), [false, false, false, true])
})

t.test("a limit on responses is not kept exceeded by the rule's own", async (t) => {
  const { times, send, clock } = machine({ requests_per_period: 1, counting_expression: 'http.response.code ge 400' })
  times(2, { response: { code: 404 } })
  t.type(send(), 'number')
  clock.move(40)
  times(5)
  clock.move(35)
  t.equal(send(), undefined)
})

t.test('responses of other rules count for a limit on responses, unless only the origin counts', async (t) => {
  const any = machine({ requests_per_period: 1, counting_expression: 'http.response.code eq 403' })
  any.times(2, { stopped: true })
  t.type(any.send(), 'number')
  const origin = machine({
    requests_per_period: 1,
    counting_expression: 'http.response.code eq 403',
    requests_to_origin: true,
  })
  origin.times(2, { stopped: true })
  t.equal(origin.send(), undefined)
  origin.times(2, { response: { code: 403 } })
  t.type(origin.send(), 'number')
})

t.test('the counting expression decides what counts, even if the rule does not match', async (t) => {
  const { times, send } = machine({ counting_expression: 'http.request.uri.path eq "/login"' })
  times(4, { matched: false, fields: { 'http.request.uri.path': '/login' } })
  t.type(send({ fields: { 'http.request.uri.path': '/' } }), 'number')
  const empty = machine({ counting_expression: '' })
  t.strictSame(acted(empty.times(4)), [false, false, false, true], 'an empty one is the expression of the rule')
})

t.test('requests to the origin: a request that does not reach it does not count', async (t) => {
  const { times, send } = machine({ requests_to_origin: true })
  t.strictSame(acted(times(9, { stopped: true })), Array(9).fill(false))
  t.strictSame(acted(times(5)), [false, false, false, true, true])
  t.type(send({ stopped: true }), 'number')
})

t.test('requests to the origin: cached responses neither count nor are limited by the next request', async (t) => {
  const { times, send } = machine({ requests_to_origin: true, mitigation_timeout: 60 })
  t.strictSame(acted(times(3, { cache: 'miss' })), [false, false, false])
  t.strictSame(acted(times(9, { cache: 'hit' })), Array(9).fill(false), 'at the threshold, but not over it')
  t.type(send({ cache: 'miss' }), 'number', 'the request that would reach the origin is the first acted on')
  t.type(send({ cache: 'hit' }), 'number', 'then all requests, for the time of the mitigation')
})

t.test('requests to the origin without mitigation: as many as the threshold reach it in each period', async (t) => {
  const { send, clock } = machine({ requests_to_origin: true, period: 10 })
  let passed = 0
  for (let second = 0; second < 100; second++) {
    clock.move(1)
    for (let i = 0; i < 5; i++) if (send() === undefined) passed++
  }
  t.ok(passed >= 25 && passed <= 33, `${passed} of 500 in ten periods of 3`)
})

const SCORES: [header: readonly string[] | undefined, counted: number][] = [
  [undefined, 0],
  [['X-Score', '1'], 1],
  [['x-score', ' 40 '], 40],
  [['x-score', '1000000'], 1_000_000],
  [['x-score', '1000001'], 0],
  [['x-score', '0'], 0],
  [['x-score', '-5'], 0],
  [['x-score', '1.5'], 0],
  [['x-score', '0x10'], 0],
  [['x-score', '12 34'], 0],
  [['x-score', ''], 0],
  [['x-score', '9'.repeat(100_000)], 0],
]
for (const [fields, counted] of SCORES) {
  t.test(`the score ${JSON.stringify(fields?.join(': ').slice(0, 30))} adds ${counted}`, async (t) => {
    const scored = (threshold: number) => {
      const { requests_per_period: _requests, ...base } = LIMIT
      const rule = {
        ...ruleWith({}),
        ratelimit: { ...base, score_per_period: threshold, score_response_header_name: 'X-Score' },
      }
      const limiter = new Limiter({ clock: handClock() })
      const limit = new RuleLimit(rule, PLACE)
      const followers: ExchangeObserver[] = []
      const context = contextOf(SCHEME, new Map([['ip.src', 1]]))
      const request = { context, mayBeCached: false, beforeOrigin: () => undefined }
      limit.judge(limiter, { ...request, follow: (follower) => void followers.push(follower) }, true)
      for (const follower of followers) follower.responded(context, fields)
      return limit.judge(limiter, { ...request, follow: () => undefined }, true) !== undefined
    }
    if (counted > 0) t.equal(scored(counted), false, 'not over at the sum')
    t.equal(scored(Math.max(1, counted - 1)), counted > 1, 'over just below it')
  })
}

t.test('a rule can limit requests and scores, each with its own count', async (t) => {
  const { times } = machine({ score_per_period: 100, score_response_header_name: 'x-score' })
  t.strictSame(acted(times(3, { response: { code: 200, headers: ['x-score', '60'] } })), [false, false, true])
})

const KEYS: [what: string, characteristics: string[], one: Record<string, Value>, other: Record<string, Value>][] = [
  [
    'a missing header and an empty one',
    ['http.request.headers["x-key"][0]'],
    {},
    { 'http.request.headers': headers({ 'x-key': '' }) },
  ],
  [
    'where one value ends and the next begins',
    ['http.host', 'http.request.uri.path'],
    { 'http.host': 'a', 'http.request.uri.path': 's1:b' },
    { 'http.host': 'as1:b', 'http.request.uri.path': '' },
  ],
  [
    'which value is missing',
    ['http.host', 'http.request.uri.path'],
    { 'http.host': '-' },
    { 'http.request.uri.path': '-' },
  ],
  [
    'addresses of both versions',
    ['ip.src'],
    { 'ip.src': parseIp('1.2.3.4')! },
    { 'ip.src': parseIp('::ffff:1.2.3.5')! },
  ],
  [
    'lists of other shapes',
    ['http.request.headers.names'],
    { 'http.request.headers.names': ['a', 'b'] },
    { 'http.request.headers.names': ['as1:b'] },
  ],
  [
    'long values that differ at the end',
    ['http.host'],
    { 'http.host': `${'x'.repeat(1_000_000)}a` },
    { 'http.host': `${'x'.repeat(1_000_000)}b` },
  ],
]
for (const [what, characteristics, one, other] of KEYS) {
  t.test(`keys distinguish ${what}`, async (t) => {
    const { keyOf } = compileKey(characteristics, PLACE)
    const key = (values: Record<string, Value>) => keyOf(contextOf(SCHEME, new Map(Object.entries(values))))
    t.not(key(one), key(other))
    t.equal(key(one), key({ ...one }))
    for (const values of [one, other]) t.ok(key(values).length <= 64)
  })
}

t.test('characteristics are any values: calls, lookups, and those that are not fields', async (t) => {
  const context = contextOf(
    SCHEME,
    new Map<string, Value>([
      ['http.host', 'A.Test'],
      ['ip.src', 7],
    ]),
  )
  const key = (...characteristics: string[]) => compileKey(characteristics, PLACE).keyOf(context)
  t.equal(key('lower(http.host)'), key('lower(http.host)', 'cf.colo.id'), 'one site tells nothing apart')
  t.equal(key(' ip.src '), key('cf.unique_visitor_id'))
  t.not(key('http.host'), key('lower(http.host)'))
  for (const wrong of ['http.response.code', 'no.such.field', 'http.host eq "a"', ''])
    t.throws(() => key(wrong), { name: 'ExprError' }, wrong)
})

t.test('the values of a key are charged to the budget of the request', async (t) => {
  const { keyOf } = compileKey(['http.request.body.raw'], PLACE)
  const getters = new Getters(SCHEME, { 'http.request.body.raw': () => 'a'.repeat(100_000) })
  const context = getters.context(undefined, REQUEST_STEPS)
  t.throws(() => {
    for (let rule = 0; rule < 100; rule++) keyOf(context)
  }, BUDGET_EXCEEDED)
})

t.test('a million hostile keys remain short and within the cap', async (t) => {
  const clock = handClock()
  const limiter = new Limiter({ clock, maxKeys: 1000 })
  const rule = new RuleLimit(ruleWith({ characteristics: ['http.host'] }), PLACE)
  const long = 'y'.repeat(10_000)
  for (let i = 0; i < 20_000; i++)
    rule.judge(
      limiter,
      {
        context: contextOf(SCHEME, new Map([['http.host', long + i]])),
        mayBeCached: false,
        follow: () => undefined,
        beforeOrigin: () => undefined,
      },
      true,
    )
  t.equal(limiter.keys, 1000)
})

t.test('credentials are detected if both are present, and are not stored', async (t) => {
  const check = new CredentialCheck(
    {
      username_expression: 'http.request.headers["x-user"][0]',
      password_expression: 'http.request.headers["x-pass"][0]',
    },
    PLACE,
  )
  const found = (fields: Record<string, string>) =>
    check.found(contextOf(SCHEME, new Map([['http.request.headers', headers(fields)]])))
  t.equal(found({ 'x-user': 'ann', 'x-pass': 'secret' }), true)
  t.equal(found({ 'x-user': 'ann' }), false)
  t.equal(found({ 'x-user': 'ann', 'x-pass': '' }), false)
  t.equal(check.found(contextOf(SCHEME, new Map())), false)
  t.throws(() => new CredentialCheck({ username_expression: 'nonsense(', password_expression: 'http.host' }, PLACE))
})
