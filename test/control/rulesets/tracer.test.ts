import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { basicEndpoints } from '../../../control/index.js'
import { silentLog } from '../../../src/core/log.js'
import { openMetrics } from '../../../src/core/metrics/metrics.js'
import { Challenges } from '../../../src/edge/challenge/challenges.js'
import { Geo } from '../../../src/edge/exchange/geo.js'
import { conditions } from '../../../src/edge/rules/conditions.js'
import { Limiter } from '../../../src/rules/limits/limiter.js'
import { defaultRuleDeps } from '../../../src/rules/engine/default-deps.js'
import { RulesetCache } from '../../../src/rules/engine/ruleset-cache.js'
import { tracer } from '../../../src/edge/rules/trace.js'
import { ZoneRegistry } from '../../../src/daemon/zones/registry.js'
import { ACCOUNT, ADMIN, client, CONFIG, handClock, OTHER_ACCOUNT, ZONE } from '../client.js'

const AT = `/accounts/${ACCOUNT}/request-tracer/trace`
const GET = { method: 'GET', url: 'https://www.example.test/a?b=1' }

/** The API beside the rules of a proxy that has its zones from the same store. */
async function traced(t: Test) {
  const metrics = openMetrics()
  const clock = handClock()
  const log = silentLog
  const challenges = new Challenges(() => [Buffer.alloc(32, 1)], clock, {
    difficulty: 1,
    clearance_lifetime: 1_800_000,
  })
  const parts = {
    ...defaultRuleDeps,
    ...conditions({ limiter: new Limiter({ clock, maxKeys: 100 }), challenges, log }),
  }
  const api = await client(t, {
    areas(deps) {
      const rules = new RulesetCache({ store: deps.store, parts, metrics, log })
      const zones = new ZoneRegistry(deps.store, CONFIG, { rules })
      t.teardown(() => zones.close())
      const trace = tracer({ zones, fields: { clock, geo: new Geo() }, clock, bodyBytes: () => 1024 })
      return basicEndpoints({ ...deps, trace })
    },
  })
  const entry = async (phase: string, rules: object[], scope = `/zones/${ZONE}`) => {
    const { status, body } = await api.call('PUT', `${scope}/rulesets/phases/${phase}/entrypoint`, { rules })
    if (status !== 200) throw new Error(JSON.stringify(body))
    return body.result
  }
  return { ...api, entry, metrics }
}

const FIREWALL = 'http_request_firewall_custom'

t.test('each rule up to the one that ends the request is returned, and nothing is counted', async (t) => {
  const { entry, url, metrics } = await traced(t)
  const own = await entry(FIREWALL, [
    { expression: 'http.request.method eq "PUT"', action: 'log', description: 'other method' },
    { expression: 'http.cookie contains "k=v" and http.request.headers["x-a"][0] eq "1"', action: 'log' },
    { expression: 'ip.src.country eq "GB" and http.request.uri.path eq "/a"', action: 'block', description: 'ends' },
    { expression: 'true', action: 'log', description: 'not asked' },
  ])
  const all = await entry(FIREWALL, [{ expression: 'true', action: 'log' }], `/accounts/${ACCOUNT}`)
  const sdk = new Cloudflare({ apiToken: ADMIN, baseURL: url })
  const input = { account_id: ACCOUNT, ...GET, cookies: { k: 'v' }, headers: { 'x-a': '1' } }
  const { status_code, trace } = await sdk.requestTracers.traces.create({
    ...input,
    context: { geoloc: { iso_code: 'GB' } },
  })
  t.equal(status_code, 403)
  t.match(trace, [
    {
      type: 'phase',
      step_name: FIREWALL,
      matched: true,
      trace: [
        { type: 'ruleset', step_name: all.id, kind: 'root', matched: true },
        { type: 'ruleset', step_name: own.id, kind: 'zone', matched: true },
      ],
    },
  ])
  const rules = trace?.[0]?.trace?.[1]?.trace ?? []
  t.same(
    rules.map(({ matched, action }) => [matched, action]),
    [
      [false, 'log'],
      [true, 'log'],
      [true, 'block'],
    ],
  )
  t.match(rules[2], { type: 'rule', step_name: own.rules[2].id, description: 'ends', expression: /^ip\.src\.country/ })
  const elsewhere = await sdk.requestTracers.traces.create(input)
  t.equal(elsewhere.status_code, 200)
  t.equal(elsewhere.trace?.[0]?.trace?.[1]?.trace?.length, 4, 'no rule ended it')
  t.notMatch(await metrics.metrics(), /edged_rule_matches_total\{/)
})

t.test(
  'changes of a rule are visible in the next phase, and executed rulesets are nested below their rule',
  async (t) => {
    const { entry, call } = await traced(t)
    const made = await call('POST', `/zones/${ZONE}/rulesets`, {
      name: 'inner',
      kind: 'custom',
      phase: FIREWALL,
      rules: [{ expression: 'http.request.uri.path eq "/new"', action: 'managed_challenge' }],
    })
    await entry('http_request_transform', [
      { expression: 'true', action: 'rewrite', action_parameters: { uri: { path: { value: '/new' } } } },
    ])
    await entry(FIREWALL, [{ expression: 'true', action: 'execute', action_parameters: { id: made.body.result.id } }])
    const { body } = await call('POST', AT, GET)
    t.equal(body.result.status_code, 403)
    const [transform, firewall] = body.result.trace
    t.equal(transform.step_name, 'http_request_transform')
    t.match(firewall.trace[0].trace[0], {
      action: 'execute',
      matched: true,
      trace: [{ type: 'ruleset', name: 'inner', trace: [{ action: 'managed_challenge', matched: true }] }],
    })
    const passed = await call('POST', AT, { ...GET, context: { skip_challenge: true } })
    t.equal(passed.body.result.status_code, 200)
  },
)

t.test('a rate limit is not counted, and bodies are read', async (t) => {
  const { entry, call } = await traced(t)
  const ratelimit = { characteristics: ['cf.colo.id', 'ip.src'], period: 60, requests_per_period: 1 }
  await entry('http_ratelimit', [
    { expression: 'true', action: 'block', ratelimit: { ...ratelimit, mitigation_timeout: 60 } },
  ])
  for (let i = 0; i < 4; i++) t.equal((await call('POST', AT, GET)).body.result.status_code, 200)
  await entry(FIREWALL, [{ expression: 'http.request.body.raw contains "bad"', action: 'block' }])
  for (const body of [{ plain_text: 'so bad' }, { base64: 'YmFk' }, { json: { is: 'bad' } }])
    t.equal((await call('POST', AT, { ...GET, method: 'POST', body })).body.result.status_code, 403)
  t.equal((await call('POST', AT, { ...GET, body: { plain_text: 'good' } })).body.result.status_code, 200)
})

t.test('what does not fit is refused with its place', async (t) => {
  const { call } = await traced(t)
  const cases: [object, string][] = [
    [{ ...GET, url: 'https://nowhere.test/' }, '/url'],
    [{ ...GET, url: 'https://other.test/' }, '/url'],
    [{ ...GET, url: 'ftp://example.test/' }, '/url'],
    [{ ...GET, url: 'no url' }, '/url'],
    [{ ...GET, headers: { Host: 'a' } }, '/headers/Host'],
    [{ ...GET, headers: { a: 'b\r\nc: d' } }, '/headers/a'],
    [{ ...GET, cookies: { a: 'b; c=d' } }, '/cookies/a'],
    [{ ...GET, context: { bot_score: 101 } }, '/context/bot_score'],
    [{ ...GET, protocol: 'HTTP/3' }, '/protocol'],
    [{ url: GET.url }, '/method'],
    [{ ...GET, method: 'FROBNICATE' }, '/method'],
    [{ ...GET, method: 'CONNECT' }, '/method'],
  ]
  for (const [input, pointer] of cases) {
    const { status, body } = await call('POST', AT, input)
    t.equal(status, 400, JSON.stringify(input))
    t.match(body.errors, [{ source: { pointer } }], pointer)
  }
  const many = Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`h${i}`, '']))
  t.equal((await call('POST', AT, { ...GET, headers: many })).status, 400)
  t.equal((await call('POST', AT.replace(ACCOUNT, OTHER_ACCOUNT), GET)).status, 400, 'a zone of another account')
})
