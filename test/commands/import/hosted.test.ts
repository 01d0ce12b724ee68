import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { parse } from 'yaml'
import { importHosted } from '../../../src/commands/import/hosted/index.js'
import { printed } from '../../../src/commands/import/site/print.js'
import { Report } from '../../../src/commands/import/site/report.js'
import { readConfig } from '../../../src/config/load.js'

const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const TOKEN = 'token-that-reads-the-zone'

const RULES: Readonly<Record<string, object>> = {
  a1: {
    id: 'a1',
    kind: 'zone',
    phase: 'http_request_firewall_custom',
    rules: [
      {
        id: 'r1',
        ref: 'r1',
        version: '3',
        last_updated: '2026-01-01T00:00:00Z',
        action: 'block',
        expression: 'ip.src in $office',
        description: 'office',
        enabled: true,
      },
      { id: 'r2', ref: 'mine', action: 'block', expression: 'ip.src in $missing', enabled: false },
    ],
  },
  b2: {
    id: 'b2',
    kind: 'zone',
    phase: 'http_request_firewall_managed',
    rules: [
      {
        id: 'r3',
        action: 'execute',
        expression: 'true',
        action_parameters: { id: 'efb7b8c949ac4650a09736fc376e9aee' },
      },
    ],
  },
}

/** Lists of more than one page. */
const RECORDS = Array.from({ length: 130 }, (_, index) => ({
  type: index < 2 ? 'A' : 'TXT',
  name: index === 1 ? 'www.example.com' : 'example.com',
  content: index < 2 ? '192.0.2.1' : 'text',
  proxied: index < 2,
}))
const ITEMS = Array.from({ length: 5 }, (_, index) => ({ id: `${index}`, ip: `192.0.2.${index}` }))

function reply({ url = '', headers }: IncomingMessage): [number, object] {
  const { pathname, searchParams } = new URL(url, 'http://api.test')
  if (headers.authorization !== `Bearer ${TOKEN}`)
    return [401, { success: false, errors: [{ code: 10000, message: 'Authentication error' }] }]
  const path = pathname.replace('/client/v4', '')
  const all = (items: readonly unknown[]) => {
    const [page, size] = [Number(searchParams.get('page') ?? 1), Number(searchParams.get('per_page') ?? 20)]
    return [
      200,
      {
        success: true,
        result: items.slice((page - 1) * size, page * size),
        result_info: { total_pages: Math.ceil(items.length / size) },
      },
    ] as [number, object]
  }
  if (path === '/zones')
    return all(
      [{ id: ZONE, name: 'example.com', account: { id: ACCOUNT, name: 'Me' } }].filter(
        ({ name }) => name === searchParams.get('name'),
      ),
    )
  if (path === `/zones/${ZONE}/dns_records`) return all(RECORDS)
  if (path === `/zones/${ZONE}/settings`)
    return [
      200,
      {
        success: true,
        result: [
          { id: 'always_use_https', value: 'on' },
          { id: 'brotli', value: 'on' },
          { id: 'ssl', value: 'strict' },
          { id: 'min_tls_version', value: 'nonsense' },
        ],
      },
    ]
  if (path === `/zones/${ZONE}/rulesets`)
    return all([
      ...Object.values(RULES),
      { id: 'c3', kind: 'managed', phase: 'http_request_firewall_managed', name: 'Managed' },
    ])
  const ruleset = RULES[path.split('/').at(-1) ?? '']
  if (ruleset) return [200, { success: true, result: ruleset }]
  if (path === `/accounts/${ACCOUNT}/rules/lists`) return all([{ id: 'l1', name: 'office', kind: 'ip' }])
  if (path.endsWith('/items')) {
    // Items come with cursors.
    const at = Number(searchParams.get('cursor') ?? 0)
    return [
      200,
      {
        success: true,
        result: ITEMS.slice(at, at + 2),
        result_info: { cursors: at + 2 < ITEMS.length ? { after: String(at + 2) } : {} },
      },
    ]
  }
  if (path.endsWith('/custom_hostnames')) return all([{ id: 'h1' }])
  return [403, { success: false, errors: [{ code: 10001, message: 'Forbidden' }] }]
}

async function startApi(t: Test, answer: (request: IncomingMessage) => [number, object | string]): Promise<string> {
  const server = createServer((request, response) => {
    const [status, body] = answer(request)
    response
      .writeHead(status, { 'content-type': 'application/json' })
      .end(typeof body === 'string' ? body : JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/client/v4`
}

t.test('a hosted zone becomes a valid configuration, page by page', async (t) => {
  const apiUrl = await startApi(t, reply)
  const report = new Report()
  const yaml = printed(await importHosted({ zone: 'example.com', token: TOKEN, apiUrl }, report))
  t.doesNotThrow(() => readConfig(yaml, 'edged.yaml'))
  t.notMatch(yaml, TOKEN, 'the token is not in the file')
  t.match(parse(yaml), {
    accounts: [{ id: ACCOUNT, name: 'Me' }],
    lists: [{ name: 'office', kind: 'ip', items: ITEMS.map(({ ip }) => ip) }],
    zones: [
      {
        id: ZONE,
        name: 'example.com',
        hostnames: ['example.com', 'www.example.com'],
        origin: 'https://192.0.2.1',
        settings: { always_use_https: 'on', ssl: 'strict' },
        rules: { http_request_firewall_custom: [{ expression: 'ip.src in $office', action: 'block' }] },
      },
    ],
  })
  const lines = report.lines.join('\n')
  for (const part of [
    '128 are not proxied',
    'brotli',
    'min_tls_version',
    'of http_request_firewall_managed',
    '$missing',
    'custom hostnames: 1 left out',
    'log push jobs: the token cannot read them',
  ])
    t.match(lines, part)
})

t.test('a wrong token, an unknown zone and a server without the API are errors', async (t) => {
  const apiUrl = await startApi(t, reply)
  const call = (options: object) =>
    importHosted({ zone: 'example.com', token: TOKEN, apiUrl, ...options }, new Report())
  await t.rejects(call({ token: 'other' }), { code: 2, message: /rejects the token: Authentication error \(10000\)/ })
  await t.rejects(call({ zone: 'nowhere.com' }), { code: 2, message: /no zone nowhere.com/ })
  await t.rejects(call({ apiUrl: 'http://127.0.0.1:1/client/v4' }), { code: 2, message: /no answer/ })
  const other = await startApi(t, () => [200, '<html>'])
  await t.rejects(call({ apiUrl: other }), { code: 2, message: /no JSON/ })
})
