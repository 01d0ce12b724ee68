/**
 * Writes docs/screenshots: each page of the dashboard at two sizes, light and dark, over the demo site with some rules, jobs,
 * deliveries and requests. Needs a build, openssl and Chromium (CHROMIUM names another one).
 */
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'

const ROOT = join(import.meta.dirname, '..')
const TARGET = join(ROOT, 'docs/screenshots')
const MAX_BYTES = 2_500_000
const SIZES = { wide: { width: 1100, height: 720 }, narrow: { width: 390, height: 720 } }
const THEMES = ['light', 'dark']
const PAGES = [
  'Overview',
  'Try it',
  'Zone',
  'Rulesets',
  'Log push',
  'Pipelines',
  'Webhooks',
  'Workers',
  'Certificates',
  'Audit',
]
const TOKEN = 'token-of-the-screenshots-only'
const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
/** The plots have a point every 15 s. */
const TRAFFIC_MS = 65_000

const block = (description, expression) => ({ action: 'block', description, expression })

const finding = (instance) => ({
  id: 'public-bucket',
  finding_type_id: '5a7d9e2f-1b3c-4d5e-8f6a-7b8c9d0e1f2a',
  name: 'Storage bucket is public',
  description: 'Anyone may read it',
  severity: 'High',
  vendor: 'EXAMPLE',
  category: { observation: 'Issue', product: 'SaaS', type: 'Posture' },
  remediation: null,
  integration: { id: 'int-1', name: 'Storage', vendor: { name: 'EXAMPLE' } },
  instances: [
    {
      id: instance,
      affliction_date: '2026-11-21T10:00:00Z',
      asset: {
        id: 'asset-1',
        external_id: 'bucket-1',
        name: 'invoices',
        link: 'https://storage.example.com/invoices',
        category: { vendor: 'EXAMPLE', service: 'Storage', type: 'Bucket' },
        fields: [],
      },
    },
  ],
})

const folder = mkdtempSync(join(tmpdir(), 'edged-screenshots-'))
const daemon = await startDaemon()
try {
  await fill()
  await Promise.all([traffic(), sleep(TRAFFIC_MS)])
  await shoot()
} finally {
  daemon.child.kill()
  await once(daemon.child, 'exit')
  rmSync(folder, { recursive: true, force: true })
}

async function startDaemon() {
  const pem = ['-keyout', join(folder, 'site.key'), '-out', join(folder, 'site.crt')]
  const names = ['-subj', '/CN=example.test', '-addext', 'subjectAltName=DNS:example.test,DNS:*.example.test']
  const key = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '90']
  execFileSync('openssl', ['req', '-x509', ...key, ...pem, ...names], { stdio: 'ignore' })
  mkdirSync(join(folder, 'logs'))
  const listen = { listen: '127.0.0.1:0' }
  const config = {
    data: './data',
    proxy: { ...listen, tls: { ...listen, certificates: [{ cert_file: './site.crt', key_file: './site.key' }] } },
    control: listen,
    admin: listen,
    accounts: [{ id: ACCOUNT, name: 'Example' }],
    zones: [
      {
        id: ZONE,
        account: ACCOUNT,
        name: 'example.test',
        hostnames: ['example.test', '*.example.test', '127.0.0.1'],
        origin: 'demo',
        settings: { content_converter: 'on' },
      },
    ],
    tokens: [{ name: 'admin', token: TOKEN, permissions: ['*'] }],
    logpush: { destinations: { allow_file_under: ['./logs'] } },
    egress: { allow_cidrs: ['127.0.0.1/32:443'], resolver_overrides: { 'hooks.example.com': ['127.0.0.1'] } },
    pipelines: [
      {
        name: 'requests',
        source: { zone: ZONE },
        dataset: 'http_requests',
        destination_conf: 'file:./logs/all/{DATE}',
      },
    ],
  }
  writeFileSync(join(folder, 'edged.yaml'), JSON.stringify(config))
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

async function call(method, path, body, type = 'application/json') {
  const headers = { authorization: `Bearer ${TOKEN}`, ...(type !== undefined && { 'content-type': type }) }
  const sent = typeof body === 'object' && !(body instanceof FormData) ? JSON.stringify(body) : body
  const init = { method, headers, body: sent }
  const response = await fetch(daemon.control + path, init)
  if (!response.ok) throw new Error(`${method} ${path}: ${await response.text()}`)
  return (await response.json()).result
}

async function fill() {
  const phase = (name) => `/zones/${ZONE}/rulesets/phases/${name}/entrypoint`
  await call('PUT', phase('http_request_firewall_custom'), {
    rules: [
      block('No entry', 'starts_with(http.request.uri.path, "/private")'),
      block('Old scanners', 'http.user_agent contains "nikto" or http.request.uri.path contains "/.git"'),
      {
        action: 'log',
        description: 'Agents',
        expression: 'any(http.request.headers["accept"][*] contains "text/markdown")',
      },
    ],
  })
  await call('POST', `/zones/${ZONE}/logpush/jobs`, {
    name: 'errors',
    dataset: 'http_requests',
    enabled: true,
    destination_conf: `file://${folder}/logs/errors`,
    filter: '{"where":{"key":"EdgeResponseStatus","operator":"geq","value":400}}',
  })
  await call('POST', `/zones/${ZONE}/custom_hostnames`, { hostname: 'docs.customer.test' })
  const posture = `/accounts/${ACCOUNT}/data-security/posture`
  const { id: webhook } = await call('POST', `${posture}/webhooks`, {
    label: 'On call',
    destination_url: 'https://hooks.example.com/edged',
    authentication_type: 'HMAC-Signing',
    signing_secret: `whsec_${Buffer.alloc(32, 7).toString('base64')}`,
  })
  const instance = '00000000-0000-4000-8000-000000000001'
  await call('POST', `/accounts/${ACCOUNT}/edged/findings`, JSON.stringify(finding(instance)), 'application/x-ndjson')
  await call('POST', `${posture}/webhooks/jobs`, { finding_instance_ids: [instance], webhook_ids: [webhook] })
  const form = new FormData()
  form.set('metadata', JSON.stringify({ main_module: 'hello.js', compatibility_date: '2026-04-01' }))
  const code = new Blob(['export default { fetch: () => new Response("hello") }'], {
    type: 'application/javascript+module',
  })
  form.set('hello.js', code, 'hello.js')
  await call('PUT', `/accounts/${ACCOUNT}/workers/scripts/hello`, form, undefined)
  await call('PUT', `/accounts/${ACCOUNT}/workers/domains`, { hostname: 'hello.example.test', service: 'hello' })
}

/** Requests of browsers and agents, until the plots have some points. */
async function traffic() {
  const paths = ['/', '/signals.html', '/keeping.html', '/ja/', '/images/lighthouse.svg', '/private/x', '/none']
  const until = Date.now() + TRAFFIC_MS
  for (let at = 0; Date.now() < until; at++) {
    const accept = at % 3 === 0 ? 'text/markdown' : 'text/html'
    await (await fetch(daemon.proxy + paths[at % paths.length], { headers: { accept } })).arrayBuffer()
    await sleep(20 + 30 * Math.abs(Math.sin(at / 400)))
  }
}

async function shoot() {
  rmSync(TARGET, { recursive: true, force: true })
  mkdirSync(TARGET, { recursive: true })
  const browser = await chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: ['--no-sandbox'],
  })
  try {
    for (const [size, viewport] of Object.entries(SIZES))
      for (const colorScheme of THEMES) {
        const page = await browser.newPage({ viewport, colorScheme, reducedMotion: 'reduce' })
        await page.goto(daemon.ui)
        await page.getByLabel('API token').fill(TOKEN)
        await page.keyboard.press('Enter')
        await page.getByRole('navigation').waitFor()
        for (const name of PAGES) await shot(page, name, `${size}-${colorScheme}`)
        await page.close()
      }
  } finally {
    await browser.close()
  }
  const files = readdirSync(TARGET)
  const bytes = files.reduce((sum, file) => sum + statSync(join(TARGET, file)).size, 0)
  console.log(`${files.length} files, ${bytes} bytes in ${TARGET}`)
  if (bytes > MAX_BYTES) throw new Error(`more than ${MAX_BYTES} bytes`)
}

async function shot(page, name, suffix) {
  await page.getByRole('navigation').getByRole('link', { name, exact: true }).click()
  await page.getByRole('heading', { name, level: 1 }).waitFor()
  await page.getByText('Loading…').first().waitFor({ state: 'detached' })
  if (name === 'Try it') {
    await page.getByRole('button', { name: 'Try', exact: true }).click()
    await page.getByLabel('Markdown', { exact: true }).waitFor()
  }
  if (name === 'Workers') {
    await page.getByRole('button', { name: 'Details of hello' }).click()
    await page.getByRole('region', { name: 'Deployments' }).waitFor()
  }
  await page.waitForTimeout(300)
  await page.screenshot({ path: join(TARGET, `${name.toLowerCase().replaceAll(' ', '-')}-${suffix}.png`) })
}
