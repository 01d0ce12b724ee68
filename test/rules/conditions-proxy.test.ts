import { pino } from 'pino'
import t, { type Test } from 'tap'
import { systemClock } from '../../src/core/clock.js'
import { Challenges } from '../../src/edge/challenge/challenges.js'
import { SOLUTION_PATH } from '../../src/edge/challenge/page.js'
import { provesWork } from '../../src/edge/challenge/proof.js'
import { conditions } from '../../src/edge/rules/conditions.js'
import { Limiter } from '../../src/rules/limits/limiter.js'
import { startOrigin, startProxy } from '../helpers/proxy.js'
import { ruledZone, type TestRuleset } from '../helpers/rules.js'
import { LIMIT } from './limits-helper.js'

t.test('limits and checks in the proxy', async (t) => {
  const { url: origin } = await startOrigin(t, (_request, response) => response.end('origin'))
  const limiter = new Limiter({ clock: systemClock })
  const challenges = new Challenges(() => [Buffer.alloc(32, 7)], systemClock, {
    difficulty: 8,
    clearance_lifetime: 60_000,
  })
  const lines: Record<string, unknown>[] = []
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line) as object as never) })
  const parts = conditions({ limiter, challenges, log })

  const proxyWith = async (t: Test, rulesets: readonly TestRuleset[]) => {
    const zone = ruledZone(origin, rulesets, { parts, members: "hostnames: ['127.0.0.1']" })
    const { url } = await startProxy(t, [zone], { challenges })
    return async (path = '/', headers: Record<string, string> = {}, init: RequestInit = {}) =>
      await fetch(`${url}${path}`, { redirect: 'manual', ...init, headers: { 'user-agent': 'A', ...headers } })
  }
  const limited = (action: string, more: object = {}, ratelimit: object = {}): TestRuleset => ({
    phase: 'http_ratelimit',
    rules: [{ action, ratelimit: { ...LIMIT, requests_per_period: 2, period: 3600, ...ratelimit }, ...more }],
  })
  const html = { accept: 'text/html' }

  const FORMS = ['text/html', 'text/markdown', 'application/json', 'application/problem+json']
  t.test('the request beyond the limit gets 429 with error 1015, in the accepted form', async (t) => {
    const get = await proxyWith(t, [limited('block')])
    for (let i = 0; i < 2; i++) t.equal((await get()).status, 200)
    for (const accept of FORMS) {
      const result = await get('/', { accept })
      t.equal(result.status, 429)
      t.match(result.headers.get('content-type'), accept)
      const seconds = Number(result.headers.get('retry-after'))
      t.ok(seconds > 0 && seconds <= 4500, `${seconds} s`)
      t.match(await result.text(), '1015')
    }
  })

  t.test('a response of the rule is unchanged, with Retry-After', async (t) => {
    const response = { status_code: 418, content_type: 'application/json', content: '{"slow":"down"}' }
    const get = await proxyWith(t, [limited('block', { action_parameters: { response } }, { mitigation_timeout: 30 })])
    for (let i = 0; i < 2; i++) await get()
    const result = await get()
    t.equal(result.status, 418)
    t.equal(result.headers.get('content-type'), 'application/json')
    t.match(result.headers.get('retry-after'), /^(?:30|29)$/)
    t.equal(await result.text(), '{"slow":"down"}')
  })

  t.test('a limit with action log does not end the request', async (t) => {
    const get = await proxyWith(t, [limited('log')])
    for (let i = 0; i < 5; i++) t.equal((await get()).status, 200)
  })

  t.test('scores of the origin and limits beside firewall rules', async (t) => {
    const rule = { ...LIMIT, requests_per_period: 1, counting_expression: '' }
    const get = await proxyWith(t, [
      { phase: 'http_request_firewall_custom', rules: [{ action: 'block', ratelimit: rule }] },
    ])
    t.equal((await get()).status, 200)
    t.equal((await get()).status, 429)
  })

  /** Solves the challenge of a response. Returns the cookie. */
  const solve = async (get: Awaited<ReturnType<typeof proxyWith>>, result: Response): Promise<string> => {
    const [, ticket = ''] = /name="ticket" value="([^"]+)"/.exec(await result.text()) ?? []
    let nonce = 0
    while (!provesWork(ticket.split('.')[2] ?? '', String(nonce), 8)) nonce++
    const body = new URLSearchParams({ ticket, nonce: String(nonce), to: '/after' })
    const solved = await get(SOLUTION_PATH, html, { method: 'POST', body })
    t.equal(solved.status, 303)
    return solved.headers.get('set-cookie')?.split(';')[0] ?? ''
  }

  for (const action of ['challenge', 'js_challenge', 'managed_challenge']) {
    t.test(`${action}: a page for browsers, an error for others, the origin for clients that passed`, async (t) => {
      const get = await proxyWith(t, [
        {
          phase: 'http_request_firewall_custom',
          rules: [{ action }, { action: 'block', expression: 'http.request.uri.path eq "/no"' }],
        },
      ])
      const page = await get('/', html)
      t.equal(page.status, 403)
      t.equal(page.headers.get('cf-mitigated'), 'challenge')
      const program = await get('/', { accept: 'application/json' })
      t.equal(program.headers.get('cf-mitigated'), 'challenge')
      t.match(await program.json(), { error_name: 'challenge_required', http_status: 403 })
      t.equal((await get('/', html, { method: 'HEAD' })).status, 403)
      const cookie = await solve(get, page)
      t.equal(await (await get('/', { ...html, cookie })).text(), 'origin')
      t.equal((await get('/', { cookie, 'user-agent': 'B' })).status, 403)
      t.match(await (await get('/no', { cookie, accept: 'application/json' })).json(), { error_code: 1020 })
    })
  }

  t.test('security_level off or essentially_off switches managed challenges and challenges by score off', async (t) => {
    const CASES: [level: string, rule: object, status: number][] = [
      ['off', { action: 'managed_challenge' }, 200],
      ['essentially_off', { action: 'managed_challenge' }, 200],
      ['low', { action: 'managed_challenge' }, 403],
      ['off', { action: 'challenge', expression: 'cf.threat_score ge 0' }, 200],
      ['essentially_off', { action: 'js_challenge', expression: 'not cf.waf.score gt 5' }, 200],
      ['high', { action: 'challenge', expression: 'cf.threat_score ge 0' }, 403],
      ['off', { action: 'challenge' }, 403],
      ['off', { action: 'js_challenge', expression: 'http.host ne ""' }, 403],
      ['off', { action: 'block', expression: 'cf.threat_score ge 0' }, 403],
    ]
    for (const [security_level, rule, status] of CASES) {
      const get = await proxyWith(t, [
        { phase: 'http_config_settings', rules: [{ action: 'set_config', action_parameters: { security_level } }] },
        { phase: 'http_request_firewall_custom', rules: [rule as { action: string }] },
      ])
      t.equal((await get('/', html)).status, status, `${security_level} ${JSON.stringify(rule)}`)
    }
  })

  t.test('a client that passes the challenge of a limit is reset, once for each challenge passed', async (t) => {
    const get = await proxyWith(t, [limited('managed_challenge')])
    for (let i = 0; i < 2; i++) t.equal((await get('/', html)).status, 200)
    const page = await get('/', html)
    t.equal(page.status, 403)
    const cookie = await solve(get, page)
    const statuses: number[] = []
    for (let i = 0; i < 5; i++) statuses.push((await get('/', { ...html, cookie })).status)
    t.strictSame(statuses, [200, 200, 200, 403, 403])
  })

  t.test('a check for exposed credentials is logged, without them, and stops no request', async (t) => {
    const get = await proxyWith(t, [
      {
        phase: 'http_request_firewall_custom',
        rules: [
          {
            action: 'block',
            exposed_credential_check: {
              username_expression: 'http.request.headers["x-user"][0]',
              password_expression: 'http.request.headers["x-pass"][0]',
            },
          },
        ],
      },
    ])
    t.equal((await get('/', { 'x-user': 'ann-marie', 'x-pass': 'correct horse' })).status, 200)
    t.equal((await get('/', { 'x-user': 'ann-marie' })).status, 200)
    const reported = lines.filter(({ event }) => event === 'credentials_submitted')
    t.equal(reported.length, 1)
    t.match(reported[0], { exposed: 'unknown', client: '127.0.0.1', rule: String })
    t.notMatch(JSON.stringify(lines), /ann-marie|correct horse/)
  })
})
