/** A daemon whose every area has something to show: for screenshots. Needs a build and openssl. */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'

const ROOT = join(import.meta.dirname, '..')
export const TOKEN = 'token-of-the-screenshots-only'
export const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const SHOP = '9f1839b6152d298aca64c4e906b6d075'
const POSTURE = `/accounts/${ACCOUNT}/data-security/posture`
/** Deliveries that wait while the breaker of a webhook is open. */
const FINDINGS = 14

const AGENTS = [
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36',
  'Mozilla/5.0 (compatible; GPTBot/1.2; +https://openai.com/gptbot)',
  'Mozilla/5.0 (compatible; ClaudeBot/1.0; +claudebot@anthropic.com)',
  'CCBot/2.0 (https://commoncrawl.org/faq/)',
  'Mozilla/5.0 (compatible; PerplexityBot/1.0)',
  'curl/8.5.0',
]
const VISITS = [
  ['example.test', '/'],
  ['example.test', '/signals.html'],
  ['example.test', '/keeping.html'],
  ['example.test', '/ja/'],
  ['example.test', '/images/lighthouse.svg'],
  ['example.test', '/private/x'],
  ['example.test', '/none'],
  ['shop.test', '/'],
  ['shop.test', '/lamps?page=2'],
  ['shop.test', '/status/503'],
  ['hello.example.test', '/greeting'],
  ['hello.example.test', '/fall'],
]

/** Starts everything, sends requests for `trafficMs`, and returns the daemon with what stops it. */
export async function lively({ trafficMs }) {
  const folder = mkdtempSync(join(tmpdir(), 'edged-lively-'))
  certificate(folder)
  const state = { refuses: false }
  const receiver = await listening(receiverOf(folder, state))
  const shop = await listening(createServer((asked, response) => void shopPage(asked, response)))
  const daemon = await startDaemon(folder, { receiver: receiver.address().port, shop: shop.address().port })
  const stop = async () => {
    daemon.child.kill()
    await once(daemon.child, 'exit')
    for (const server of [receiver, shop]) server.close()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    await fill(daemon, { folder, port: receiver.address().port, state })
    await traffic(daemon, trafficMs)
    return { ...daemon, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

function certificate(folder) {
  const names = ['example.test', '*.example.test', 'hooks.example.com', 'logs.example.com']
  const alternatives = `subjectAltName=${names.map((name) => `DNS:${name}`).join(',')}`
  const files = ['-keyout', join(folder, 'site.key'), '-out', join(folder, 'site.crt')]
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '20']
  const subject = ['-subj', '/CN=example.test', '-addext', alternatives]
  execFileSync('openssl', ['req', '-x509', ...key, ...files, ...subject], { stdio: 'ignore' })
}

/** Of the receiver, by path. */
const ANSWERS = { '/logs': [403, 'this key has expired'], '/tickets': [500, 'no free worker'] }

async function listening(server) {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return server
}

/** Takes deliveries and logs. Later it refuses logs with 403, and fails with 500 for one webhook, whose breaker then opens. */
function receiverOf(folder, state) {
  const read = (name) => readFileSync(join(folder, name))
  return createSecureServer({ key: read('site.key'), cert: read('site.crt') }, (asked, response) => {
    asked.resume()
    const [status, text] = (state.refuses && ANSWERS[asked.url.split('?')[0]]) || [200, 'ok']
    response.writeHead(status).end(text)
  })
}

async function shopPage(asked, response) {
  await sleep(5 + 60 * Math.random())
  response.statusCode = Number(/^\/status\/(\d+)/.exec(asked.url)?.[1] ?? 200)
  response.setHeader('content-type', 'text/html')
  const text = 'A lamp for the tower. '.repeat(40)
  response.end(`<title>Shop</title><main><h1>Shop</h1><p>${text}</p></main>`)
}

async function startDaemon(folder, { receiver, shop }) {
  mkdirSync(join(folder, 'logs'))
  const listen = { listen: '127.0.0.1:0' }
  const config = {
    data: './data',
    proxy: { ...listen, tls: { ...listen, certificates: [{ cert_file: './site.crt', key_file: './site.key' }] } },
    control: listen,
    admin: listen,
    accounts: [{ id: ACCOUNT, name: 'Kestrel' }],
    zones: [
      {
        id: ZONE,
        account: ACCOUNT,
        name: 'example.test',
        hostnames: ['example.test', '*.example.test', '127.0.0.1'],
        origin: 'demo',
        settings: { content_converter: 'on' },
        agents: { access: [{ who: { name: 'CCBot' }, do: 'block' }] },
      },
      {
        id: SHOP,
        account: ACCOUNT,
        name: 'shop.test',
        hostnames: ['shop.test', 'www.shop.test'],
        origin: `http://127.0.0.1:${shop}`,
        settings: { content_converter: 'on' },
      },
    ],
    tokens: [{ name: 'admin', token: TOKEN, permissions: ['*'] }],
    logpush: { destinations: { allow_file_under: ['./logs'] } },
    webhooks: {
      retry_schedule: ['1s', '1s', '1s', '1s', '1s', '1h'],
      circuit_breaker: { failures: 5, open_for: '15m' },
    },
    egress: {
      allow_cidrs: [`127.0.0.1/32:${receiver}`],
      ca_file: './site.crt',
      resolver_overrides: { 'hooks.example.com': ['127.0.0.1'], 'logs.example.com': ['127.0.0.1'] },
    },
    pipelines: [
      {
        name: 'requests',
        source: { zone: ZONE },
        dataset: 'http_requests',
        destination_conf: 'file:./logs/all/{DATE}',
      },
    ],
  }
  writeFileSync(join(folder, 'edged.yaml'), JSON.stringify(config, undefined, 2))
  const child = spawn(process.execPath, [join(ROOT, 'dist/src/cli.js'), 'serve', '-c', 'edged.yaml'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  for await (const line of createInterface(child.stdout)) {
    const { event, proxy, control } = JSON.parse(line)
    if (event !== 'ready') continue
    child.stdout.resume()
    return { child, proxy, control, ui: `${new URL(control).origin}/ui/` }
  }
  throw new Error('the daemon did not start; run npm run build first')
}

async function fill(daemon, { folder, port, state }) {
  const call = callOf(daemon)
  await rules(call)
  await jobs(call, { folder, port })
  await worker(call)
  await call('POST', `/zones/${ZONE}/custom_hostnames`, { hostname: 'docs.customer.test' })
  await tokens(call)
  // From here on one job and one webhook fail.
  state.refuses = true
  await webhooks(call, port)
}

const callOf =
  ({ control }) =>
  async (method, path, body, type = 'application/json') => {
    const headers = { authorization: `Bearer ${TOKEN}`, ...(type !== undefined && { 'content-type': type }) }
    const sent = typeof body === 'object' && !(body instanceof FormData) ? JSON.stringify(body) : body
    const init = { method, headers, body: sent }
    const response = await fetch(control + path, init)
    if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
    return (await response.json()).result
  }

const block = (description, expression, enabled = true) => ({ action: 'block', description, expression, enabled })

async function rules(call) {
  const list = await call('POST', `/accounts/${ACCOUNT}/rules/lists`, {
    name: 'office',
    kind: 'ip',
    description: 'Addresses of the office',
  })
  await call('POST', `/accounts/${ACCOUNT}/rules/lists/${list.id}/items`, [
    { ip: '10.0.0.0/24', comment: 'Second floor' },
    { ip: '192.0.2.7', comment: 'Lighthouse' },
  ])
  const put = async (phase, list) =>
    await call('PUT', `/zones/${ZONE}/rulesets/phases/${phase}/entrypoint`, { rules: list })
  await put('http_request_firewall_custom', [
    block('No entry', 'starts_with(http.request.uri.path, "/private") and not ip.src in $office'),
    block('Old scanners', 'http.user_agent contains "nikto" or http.request.uri.path contains "/.git"'),
    {
      action: 'log',
      description: 'Agents that ask for Markdown',
      expression: 'any(http.request.headers["accept"][*] contains "text/markdown")',
    },
    block('Maintenance', 'http.host eq "example.test"', false),
  ])
  await put('http_ratelimit', [
    {
      ...block('At most 100 a minute', 'http.request.uri.path eq "/search"'),
      ratelimit: { characteristics: ['ip.src'], period: 60, requests_per_period: 100, mitigation_timeout: 60 },
    },
  ])
  await put('http_request_cache_settings', [
    {
      action: 'set_cache_settings',
      description: 'Keep pages for an hour',
      expression: 'ends_with(http.request.uri.path, ".html")',
      action_parameters: { cache: true, edge_ttl: { mode: 'override_origin', default: 3600 } },
    },
  ])
}

async function jobs(call, { folder, port }) {
  const job = { dataset: 'http_requests', enabled: true }
  await call('POST', `/zones/${ZONE}/logpush/jobs`, {
    ...job,
    name: 'errors',
    destination_conf: `file://${folder}/logs/errors`,
    filter: '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":400}}',
  })
  await call('POST', `/zones/${ZONE}/logpush/jobs`, {
    ...job,
    name: 'siem-all',
    destination_conf: `https://logs.example.com:${port}/logs?header_Authorization=secret`,
    max_upload_interval_seconds: 30,
  })
}

async function worker(call) {
  const form = new FormData()
  form.set('metadata', JSON.stringify({ main_module: 'hello.js', compatibility_date: '2026-04-01' }))
  const source = `export default {
  fetch(request) {
    if (request.url.endsWith('/fall')) throw new Error('database is gone')
    console.log('greeting', request.url)
    return new Response('hello')
  },
}
`
  form.set('hello.js', new Blob([source], { type: 'application/javascript+module' }), 'hello.js')
  await call('PUT', `/accounts/${ACCOUNT}/workers/scripts/hello`, form, undefined)
  await call('PUT', `/accounts/${ACCOUNT}/workers/domains`, { hostname: 'hello.example.test', service: 'hello' })
}

async function tokens(call) {
  const groups = await call('GET', '/user/tokens/permission_groups')
  const group = (name) => ({ id: groups.find((one) => one.name === name).id })
  const make = async (name, groupName, resource) =>
    await call('POST', '/user/tokens', {
      name,
      policies: [{ effect: 'allow', permission_groups: [group(groupName)], resources: { [resource]: '*' } }],
    })
  await make('ci-logs', 'Logs Write', `com.cloudflare.api.account.zone.${ZONE}`)
  await make('workers-ci', 'Workers Scripts Write', `com.cloudflare.api.account.${ACCOUNT}`)
}

const instanceId = (number) => `00000000-0000-4000-8000-${String(number).padStart(12, '0')}`

const finding = () => ({
  id: 'public-bucket',
  finding_type_id: '5a7d9e2f-1b3c-4d5e-8f6a-7b8c9d0e1f2a',
  name: 'Storage bucket is public',
  description: 'Anyone may read it',
  severity: 'High',
  vendor: 'EXAMPLE',
  category: { observation: 'Issue', product: 'SaaS', type: 'Posture' },
  remediation: null,
  integration: { id: 'int-1', name: 'Storage', vendor: { name: 'EXAMPLE' } },
  instances: Array.from({ length: FINDINGS }, (_, at) => ({
    id: instanceId(at + 1),
    affliction_date: '2026-11-21T10:00:00Z',
    asset: {
      id: `asset-${at + 1}`,
      external_id: `bucket-${at + 1}`,
      name: `invoices-${2012 + at}`,
      link: 'https://storage.example.com/invoices',
      category: { vendor: 'EXAMPLE', service: 'Storage', type: 'Bucket' },
      fields: [],
    },
  })),
})

async function webhooks(call, port) {
  const make = async (label, path) =>
    await call('POST', `${POSTURE}/webhooks`, {
      label,
      destination_url: `https://hooks.example.com:${port}${path}`,
      authentication_type: 'HMAC-Signing',
      signing_secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
    })
  const well = await make('On call', '/edged')
  await call('POST', `/accounts/${ACCOUNT}/edged/findings`, JSON.stringify(finding()), 'application/x-ndjson')
  const send = async (webhook, count) => {
    for (let at = 1; at <= count; at += 1)
      await call('POST', `${POSTURE}/webhooks/jobs`, {
        finding_instance_ids: [instanceId(at)],
        webhook_ids: [webhook.id],
      })
  }
  await send(well, 3)
  const failing = await make('Ticket system', '/tickets')
  await send(failing, FINDINGS)
}

/** Requests of browsers and agents. */
async function traffic({ proxy }, ms) {
  const port = new URL(proxy).port
  const until = Date.now() + ms
  for (let at = 0; Date.now() < until; at += 1) {
    const [host, path] = VISITS[(at * 5) % VISITS.length]
    const accept = at % 3 === 0 ? 'text/markdown' : 'text/html'
    await visit(port, path, { host, accept, 'user-agent': AGENTS[(at + Math.floor(at / 12)) % AGENTS.length] })
    await sleep(40 + 80 * Math.abs(Math.sin(at / 60)))
  }
}

async function visit(port, path, headers) {
  const asked = request({ host: '127.0.0.1', port, path, headers }).end()
  const [response] = await once(asked, 'response')
  response.resume()
  await once(response, 'end')
}
