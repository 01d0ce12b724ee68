import { join } from 'node:path'
import t, { type Test } from 'tap'
import { BadConfig, readConfig } from '../../src/config/load.js'
import { silentLog } from '../../src/core/log.js'
import { startDaemon } from '../../src/daemon/index.js'
import { testFolder } from '../helpers/folder.js'
import { sendRaw } from '../helpers/proxy.js'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const TOKEN = 'admin-token-0123456789-abcdefghijklmnop'

interface Rules {
  readonly zone?: object
  readonly account?: object
}

const configOf = (folder: string, { zone, account }: Rules, more = '') =>
  readConfig(
    `data: ./data
log: { level: error }
proxy: { listen: "127.0.0.1:0" }
control: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
tokens: [{ name: admin, token: ${TOKEN}, permissions: ["*"] }]
${more}
accounts: [{ id: ${ACCOUNT}, name: Example, rules: ${JSON.stringify(account ?? {})} }]
zones:
  - id: ${ZONE}
    account: ${ACCOUNT}
    name: one.test
    origin: demo
    rules: ${JSON.stringify(zone ?? {})}
`,
    join(folder, 'edged.yaml'),
    {},
  )

interface Answer {
  readonly status: number
  readonly result: { id: string; rules: { id: string; expression: string; edged_source?: object }[] }
  readonly errors: { message: string }[]
}

async function running(t: Test, rules: Rules, more = '') {
  const folder = testFolder(t)
  const daemon = await startDaemon(configOf(folder, rules, more), { log: silentLog })
  t.teardown(() => daemon.close())
  return {
    get: async (path: string): Promise<number> => {
      const { status } = await sendRaw(
        Number(new URL(daemon.proxy).port),
        `GET ${path} HTTP/1.1\r\nHost: one.test\r\nConnection: close\r\n\r\n`,
      )
      return status
    },
    reload: async (next: Rules) => await daemon.reload(configOf(folder, next, more)),
    api: async (method: string, path: string, body?: object): Promise<Answer> => {
      const response = await fetch(`${daemon.control}/zones/${ZONE}/rulesets${path}`, {
        method,
        headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
        ...(body && { body: JSON.stringify(body) }),
      })
      const text = await response.text()
      return { ...(JSON.parse(text || '{}') as Answer), status: response.status }
    },
    file: join(folder, 'edged.yaml'),
  }
}

const PHASE = 'http_request_firewall_custom'
const ENTRY = `/phases/${PHASE}/entrypoint`
const block = (path: string) => ({ expression: `http.request.uri.path eq "${path}"`, action: 'block' })

t.test('rules of the file act, are shown with their places, and cannot be changed by the API', async (t) => {
  const { get, api, reload, file } = await running(t, { zone: { [PHASE]: [block('/a')] } })
  t.same([await get('/a'), await get('/')], [403, 200])
  const { result } = await api('GET', ENTRY)
  t.match(result.rules[0], { expression: block('/a').expression, edged_source: { file, line: 14 } })
  const [{ id } = { id: '' }] = result.rules
  for (const [method, path, body] of [
    ['PUT', ENTRY, { rules: [] }],
    ['PUT', `/${result.id}`, { rules: [] }],
    ['POST', '', { name: 'x', kind: 'zone', phase: PHASE, rules: [] }],
    ['POST', `/${result.id}/rules`, block('/c')],
    ['PATCH', `/${result.id}/rules/${id}`, { enabled: false }],
    ['DELETE', `/${result.id}/rules/${id}`],
    ['DELETE', `/${result.id}`],
  ] as const) {
    const { status, errors } = await api(method, path, body)
    t.equal(status, 409, `${method} ${path}`)
    t.match(errors[0]?.message, `${file}:14`)
  }
  await reload({ zone: { [PHASE]: [block('/b'), block('/a')] } })
  t.same([await get('/a'), await get('/b')], [403, 403])
  const after = await api('GET', ENTRY)
  t.equal(after.result.id, result.id)
  t.equal(after.result.rules[1]?.id, id, 'a rule has the same id at another place')
  const listed = (await api('GET', '')) as unknown as { result: { phase: string }[] }
  t.same(
    listed.result.map(({ phase }) => phase),
    [PHASE],
  )
})

t.test('rules of the API are kept while the file has their phase, and are in force again without it', async (t) => {
  const { get, api, reload } = await running(t, {})
  t.equal((await api('PUT', ENTRY, { rules: [block('/api')] })).status, 200)
  t.equal(await get('/api'), 403)
  const { keptRules } = await reload({ zone: { [PHASE]: [] } })
  t.match(keptRules, [{ scope: { id: ZONE }, phase: PHASE, rules: 1 }])
  t.equal(await get('/api'), 404, 'an empty list owns the phase')
  t.same((await api('GET', ENTRY)).result.rules, [])
  t.equal((await reload({})).keptRules, undefined)
  t.equal(await get('/api'), 403)
  t.equal((await api('GET', ENTRY)).result.rules.length, 1)
})

t.test('rules of an account run before those of its zones; lists and rate limits work', async (t) => {
  const lists = 'lists: [{ name: local, kind: ip, items: ["127.0.0.0/8"] }]'
  const limit = {
    expression: 'http.request.uri.path eq "/limited"',
    action: 'block',
    ratelimit: {
      characteristics: ['ip.src', 'cf.colo.id'],
      period: 60,
      requests_per_period: 2,
      mitigation_timeout: 60,
    },
  }
  const redirect = {
    expression: 'true',
    action: 'redirect',
    action_parameters: { from_value: { status_code: 302, target_url: { value: 'http://one.test/' } } },
  }
  const { get, reload } = await running(
    t,
    {
      account: { [PHASE]: [{ expression: 'ip.src in $local and http.request.uri.path eq "/x"', action: 'block' }] },
      zone: { [PHASE]: [{ ...block('/x'), action: 'log' }], http_ratelimit: [limit] },
    },
    lists,
  )
  t.equal(await get('/x'), 403)
  const statuses = [await get('/limited'), await get('/limited'), await get('/limited')]
  t.same(statuses, [404, 404, 429])
  await reload({ zone: { http_request_dynamic_redirect: [redirect], http_ratelimit: [limit] } })
  t.same([await get('/x'), await get('/limited')], [302, 302])
  await reload({ zone: { http_ratelimit: [limit] } })
  t.equal(await get('/limited'), 429, 'a rule that stays keeps its counts')
})

t.test('a reload with a list that nobody has changes nothing', async (t) => {
  const { get, reload } = await running(t, { zone: { [PHASE]: [block('/a')] } })
  await t.rejects(reload({ zone: { [PHASE]: [{ expression: 'ip.src in $nobody', action: 'block' }] } }), {
    message: /edged\.yaml:14:1: http_request_firewall_custom, rule 1: list \$nobody not found/,
  })
  t.equal(await get('/a'), 403)
})

t.test('faults of rules have their place in the file, those of expressions inside of the text', async (t) => {
  const faults = (rules: string): readonly string[] => {
    const text = `accounts: [{ id: ${ACCOUNT}, name: A }]
zones:
  - id: ${ZONE}
    account: ${ACCOUNT}
    name: a.test
    origin: http://127.0.0.1:1
    rules:
${rules}`
    try {
      readConfig(text, 'f.yaml', {})
      return []
    } catch (error) {
      if (error instanceof BadConfig) return error.message.split('\n')
      throw error
    }
  }
  const at = `      ${PHASE}:\n`
  const wrong = 'zones.0.rules.http_request_firewall_custom.0.expression unknown identifier'
  const cases: [rules: string, fault: string | undefined][] = [
    [`${at}        - { action: block, expression: http.pth eq "/" }`, `f.yaml:9:40: ${wrong}`],
    [
      `${at}        - { action: block, expression: 'http.host eq "it''s" or http.pth eq "/"' }`,
      `f.yaml:9:65: ${wrong}`,
    ],
    [
      `${at}        - { action: block, expression: "http.host eq \\"ä\\" or http.pth eq \\"/\\"" }`,
      `f.yaml:9:63: ${wrong}`,
    ],
    [
      `${at}        - action: block\n          expression: |\n            http.host eq "ä" or\n            http.pth eq "/"`,
      `f.yaml:12:13: ${wrong}`,
    ],
    [
      `${at}        - action: block\n          expression: >-\n            http.host eq "a" or\n            http.pth eq "/"`,
      `f.yaml:12:13: ${wrong}`,
    ],
    [
      `${at}        - { action: blok, expression: 'true' }`,
      'f.yaml:9:13: zones.0.rules.http_request_firewall_custom.0.action must be one of',
    ],
    [
      '      http_request_firewal_custom: []',
      'f.yaml:8:7: zones.0.rules.http_request_firewal_custom is not a phase, did you mean http_request_firewall_custom',
    ],
    ['      http_request_redirect: []', 'f.yaml:8:7: zones.0.rules.http_request_redirect has no rulesets of zones'],
    [`${at}        - { action: block, expression: ip.src in $of_the_api }`, undefined],
    [`${at}        []`, undefined],
  ]
  for (const [rules, fault] of cases) {
    const found = faults(rules)
    if (fault === undefined) t.same(found, [])
    else t.ok(found[0]?.startsWith(fault), `${found[0]} begins with ${fault}`)
  }
})
