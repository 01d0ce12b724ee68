import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { ask, originServer, until } from '../helpers/web.js'
import { CLI, configuration, startDaemon, TOKEN, unbuilt, ZONE } from './daemon.js'

const EXAMPLES = resolve('config/plugins')
const NAMES = ['jsonl-sink', 'counter-source', 'shop-dataset', 'tenant-field', 'rot13-function', 'teapot-action']
const PLUGINS = NAMES.map((name) => join(EXAMPLES, `${name}.mjs`))

interface Ended {
  readonly code: number
  readonly out: string
  readonly error: string
}

/** Runs the built command. */
const edged = async (...args: string[]): Promise<Ended> =>
  await new Promise((done) => {
    execFile(process.execPath, [CLI, ...args], { env: { PATH: process.env['PATH'] } }, (failure, out, error) => {
      done({ code: failure === null ? 0 : Number(failure.code), out, error })
    })
  })

function folderOf(t: Test): string {
  const folder = mkdtempSync(join(tmpdir(), 'edged-plugins-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  return folder
}

async function fileOf(t: Test, content: object | string, name = 'pipeline.yaml'): Promise<string> {
  const file = join(folderOf(t), name)
  await writeFile(file, typeof content === 'string' ? content : stringify(content))
  return file
}

t.test(
  'a pipeline reads a source of a plug-in and writes to a destination of another',
  { skip: unbuilt },
  async (t) => {
    const target = join(folderOf(t), 'out.jsonl')
    const pipeline = {
      plugins: PLUGINS,
      source: { counter: { to: 2500 } },
      dataset: 'any',
      filter: { where: { key: 'number', operator: 'gt', value: 2498 } },
      destination_conf: `jsonl:${target}?fsync=true`,
      tests: [{ input: [{ number: 7 }, { number: 2499 }], output: '{"number":2499}\n' }],
    }
    const file = await fileOf(t, pipeline)
    t.match(await edged('check', file), { code: 0, out: /ok$/m })
    t.match(await edged('test', file), { code: 0, out: /^1 passed, 0 failed$/m })
    const ran = await edged('run', file)
    t.match(ran, { code: 0, error: /2500 of 2500 are safe on disk/ })
    t.equal(await readFile(target, 'utf8'), '{"number":2499}\n{"number":2500}\n')

    const several = await fileOf(t, { plugins: PLUGINS, pipelines: [{ ...pipeline, plugins: undefined }] })
    t.match(await edged('check', several), { code: 0 })
    const wrong = await fileOf(t, { ...pipeline, source: { counter: { to: 0 } } })
    t.match(await edged('check', wrong), { code: 2, error: /source\.counter\.to must be/ })
    const unknown = await fileOf(t, { ...pipeline, destination_conf: `jsonl:${target}?fsinc=true` })
    t.match(await edged('check', unknown), { code: 2, error: /did you mean fsync/ })
  },
)

t.test('expressions with fields and functions of plug-ins are checked and evaluated', { skip: unbuilt }, async (t) => {
  const file = await fileOf(t, { plugins: PLUGINS, source: 'stdin', dataset: 'any', destination_conf: 'stdout:' })
  const text = 'shop.tenant eq "acme" and rot13(http.request.uri.path) eq "/nqzva"'
  t.match(await edged('expr', 'check', text), { code: 2 })
  t.match(await edged('expr', 'check', text, '-c', file), { code: 0 })
  t.match(await edged('expr', 'check', 'rot13(ip.src) eq "a"', '-c', file), { code: 2, error: /Bytes/ })
  const request = await fileOf(t, '{"url":"http://acme.example.test/admin","shop.tenant":"acme"}', 'request.json')
  t.match(await edged('expr', 'eval', text, '--request', request, '-c', file), { code: 0, out: 'true\n' })
})

for (const processes of [1, 2])
  t.test(`a daemon with ${processes} processes uses every plug-in`, { skip: unbuilt, timeout: 180_000 }, async (t) => {
    const folder = folderOf(t)
    const target = join(folder, 'orders.jsonl')
    const origin = await originServer(t, (request, response) => response.end(request.headers['x-tea'] ?? ''))
    const [zone] = (configuration(origin) as { zones: object[] }).zones
    const zones = [{ ...zone, hostnames: ['example.test', '*.example.test', '127.0.0.1'] }]
    const logpush = { destinations: { allow_file_under: [folder] } }
    const config = configuration(origin, { plugins: PLUGINS, processes, zones, logpush })
    const daemon = await startDaemon(t, config, folder)
    const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' }
    const call = async (method: string, path: string, body: object) => {
      const response = await fetch(`${daemon.control}${path}`, { method, headers, body: JSON.stringify(body) })
      return { status: response.status, body: (await response.json()) as object }
    }

    const phase = `/zones/${ZONE}/rulesets/phases/http_request_firewall_custom/entrypoint`
    const rule = {
      action: 'teapot',
      action_parameters: { cup: 'blue' },
      expression: 'shop.tenant eq "acme" and rot13(http.request.uri.path) contains "nqzva"',
    }
    t.match(await call('PUT', phase, { rules: [{ ...rule, action_parameters: {} }] }), { status: 400 })
    t.match(await call('PUT', phase, { rules: [rule] }), { status: 200, body: { success: true } })
    const get = async (host: string, path: string, more: Record<string, string> = {}) => {
      const { status, body } = await ask(Number(new URL(daemon.proxy).port), path, { headers: { host, ...more } })
      return { status, text: body.toString() }
    }
    t.match(await get('acme.example.test', '/admin'), { status: 418, text: 'no cup\n' })
    t.match(await get('acme.example.test', '/other'), { status: 200, text: '' })
    t.match(await get('other.example.test', '/admin'), { status: 200, text: '' })
    t.match(await get('acme.example.test', '/admin', { 'x-cup': 'blue' }), { status: 200, text: 'served' })

    const job = {
      dataset: 'shop_orders',
      enabled: true,
      destination_conf: `jsonl:${target}`,
      max_upload_records: 1000,
      output_options: { field_names: ['OrderID', 'Cents'] },
    }
    const outside = { ...job, destination_conf: 'jsonl:/elsewhere/orders.jsonl' }
    t.match(await call('POST', `/zones/${ZONE}/logpush/jobs`, outside), { status: 400 })
    t.match(await call('POST', `/zones/${ZONE}/logpush/jobs`, job), { status: 200, body: { success: true } })
    const order = '{"OrderedAt":"2026-11-23T00:00:00Z","OrderID":"a","Country":"NO","Cents":990}\n'
    const records = await fetch(`${daemon.control}/zones/${ZONE}/edged/records/shop_orders`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/x-ndjson' },
      body: order.repeat(1000),
    })
    t.equal(records.status, 202)
    const written = async () => await readFile(target, 'utf8').catch(() => '')
    await until(async () => (await written()).length > 0)
    t.equal(await written(), '{"OrderID":"a","Cents":990}\n'.repeat(1000))

    // Long enough to be read in a thread.
    const long = {
      ...config,
      lists: [{ name: 'l', kind: 'hostname', items: Array.from({ length: 2000 }, (_, i) => `h${i}.test`) }],
    }
    await daemon.reload(long)
    await daemon.reload({ ...long, plugins: PLUGINS.slice(1) })
    t.ok(daemon.lines.some((line) => line.includes('"restart_needed","section":"plugins"')))
    t.match(await get('acme.example.test', '/admin'), { status: 418 }, 'the plug-ins of the start remain')
    daemon.signal('SIGTERM')
    t.equal(await daemon.ended, 0)
  })

const FAULTS: readonly (readonly [why: string, code: string, message: RegExp])[] = [
  ['throws', "throw new Error('no licence')", /no licence/],
  ['has no default export', 'export const a = 1', /default export must be a function/],
  ['throws in its function', "export default () => { throw new Error('no key') }", /no key/],
  ['rejects', "export default async () => { throw new Error('no answer') }", /no answer/],
  [
    'names what exists',
    "export default (e) => e.function({ name: 'lower', params: [], returns: 'Int', call() {} })",
    /lower exists/,
  ],
  [
    'names a scheme that exists',
    "export default (e) => e.sink({ scheme: 's3', form: 'a', summary: 'b', open() {} })",
    /s3 exists/,
  ],
  [
    'names a field that exists',
    "export default (e) => e.field({ name: 'http.host', type: 'Bytes', description: 'a', get() {} })",
    /http\.host exists/,
  ],
  [
    'names a dataset that exists',
    "export default (e) => e.dataset({ name: 'http_requests', scopes: ['zone'], clock: 'A', fields: { A: 'int' } })",
    /http_requests exists/,
  ],
  [
    'names an action that exists',
    "export default (e) => e.action({ name: 'block', summary: 'a', phases: [], prepare() {} })",
    /block exists/,
  ],
  [
    'names a source that exists',
    "export default (e) => e.source({ name: 'kafka', description: 'a', schema: {}, open() {} })",
    /kafka exists/,
  ],
  ['gives no object', 'export default (e) => e.sink(1)', /expects an object/],
  [
    'misses a member',
    "export default (e) => e.sink({ scheme: 'x', form: 'a', summary: 'b' })",
    /open must be of type function/,
  ],
  ['has a wrong name', "export default (e) => e.field({ name: 'tenant' })", /name must be a name such as acme\.tenant/],
  [
    'has an unknown type',
    "export default (e) => e.function({ name: 'f', params: ['Text'], returns: 'Int', call() {} })",
    /no type is called Text/,
  ],
  [
    'has an unknown phase',
    "export default (e) => e.action({ name: 'x', summary: 'a', phases: ['p'], prepare() {} })",
    /p is not a phase/,
  ],
  [
    'has an unknown field type',
    "export default (e) => e.dataset({ name: 'x', scopes: ['zone'], clock: 'A', fields: { A: 'text' } })",
    /type of A must be/,
  ],
]

t.test('a plug-in that cannot be used ends the start', { skip: unbuilt }, async (t) => {
  for (const [why, code, message] of FAULTS) {
    const file = await fileOf(t, { ...configuration('demo'), plugins: ['./bad.mjs'] }, 'edged.yaml')
    await writeFile(join(file, '../bad.mjs'), code)
    const ended = await edged('check', file)
    t.equal(ended.code, 2, why)
    t.match(
      ended.error,
      /^.*edged\.yaml:\d+:\d+: plugins\.0 .*bad\.mjs cannot be used: .+; see docs\/plugins\.md\n$/,
      why,
    )
    t.match(ended.error, message, why)
  }
  const missing = await fileOf(t, { ...configuration('demo'), plugins: ['./none.mjs'] }, 'edged.yaml')
  for (const command of [
    ['check', missing],
    ['serve', '-c', missing],
    ['expr', 'check', 'ssl', '-c', missing],
  ])
    t.match(await edged(...command), { code: 2, error: /none\.mjs cannot be used: / }, command.join(' '))
  t.match(await edged('doctor', '-c', missing), { code: 1, out: /FAIL\s+plugins .*none\.mjs/ })
})

t.test('the example of docs/plugins.md can be used', { skip: unbuilt }, async (t) => {
  const page = await readFile('docs/plugins.md', 'utf8')
  const [code = '', yaml = ''] = ['js', 'yaml'].map((kind) => page.split(`\`\`\`${kind}\n`)[1]?.split('```')[0])
  const pipeline = stringify({ source: 'stdin', dataset: 'any', destination_conf: 'stdout:' })
  const file = await fileOf(t, `${yaml}${pipeline}`)
  await mkdir(join(file, '../plugins'))
  await writeFile(join(file, '../plugins/tenant.mjs'), code)
  t.match(await edged('check', file), { code: 0 })
  t.match(await edged('expr', 'check', 'shop.tenant eq "acme"', '-c', file), { code: 0, out: 'ok\n' })
})

t.test('pipelines of a list have no plug-ins of their own', { skip: unbuilt }, async (t) => {
  const pipeline = { plugins: PLUGINS, source: 'stdin', dataset: 'any', destination_conf: 'stdout:' }
  t.match(await edged('check', await fileOf(t, { pipelines: [pipeline] })), { code: 2, error: /plugins/ })
  const { plugins, ...rest } = pipeline
  t.match(await edged('check', await fileOf(t, { plugins, pipelines: [rest] })), { code: 0 })
})
