import t from 'tap'
import { toFile } from 'cloudflare'
import Cloudflare from 'cloudflare'
import { WORKER_SCRIPTS, WORKER_VERSIONS, type StoredVersion } from '../../../src/core/model/worker.js'
import { BINDINGS } from '../../../src/workers/bindings/index.js'
import { ACCOUNT, ADMIN } from '../client.js'
import { ESM, metadataPart, modulePart, PLAIN, SCOPE, SCRIPTS, uploader } from './upload-helper.js'

t.test('a module Worker is uploaded, and all of the result is true of it', async (t) => {
  const api = await uploader(t)
  const code = `
    import { DurableObject, WorkerEntrypoint } from 'cloudflare:workers'
    export class Counter extends DurableObject { fetch() {} alarm() {} other() {} }
    export class Admin extends WorkerEntrypoint { fetch() {} }
    export default { fetch() {}, async scheduled() {}, helper() {} }
  `
  const metadata = {
    compatibility_date: '2026-11-01',
    compatibility_flags: ['nodejs_compat'],
    migrations: { new_tag: 'v1', new_sqlite_classes: ['Counter'] },
    tags: ['a', 'b'],
    logpush: true,
    tail_consumers: [{ service: 'tail' }],
    observability: { enabled: true, head_sampling_rate: 0.5 },
    placement: { mode: 'smart' },
    usage_model: 'standard',
    annotations: { 'workers/message': 'ä'.repeat(600), 'workers/tag': 'v1' },
    capnp_schema: 'kept',
  }
  const { status, body } = await api.upload('hello', metadata, code)
  t.equal(status, 200, JSON.stringify(body))
  t.match(body.result, {
    id: 'hello',
    entry_point: 'index.js',
    handlers: ['fetch', 'scheduled'],
    named_handlers: [
      { name: 'Counter', handlers: ['fetch', 'alarm'] },
      { name: 'Admin', handlers: ['fetch'] },
    ],
    compatibility_date: '2026-11-01',
    compatibility_flags: ['nodejs_compat'],
    has_assets: false,
    has_modules: true,
    migration_tag: 'v1',
    logpush: true,
    tags: ['a', 'b'],
    tail_consumers: [{ service: 'tail' }],
    observability: { enabled: true, head_sampling_rate: 0.5 },
    placement: { mode: 'smart' },
    placement_mode: 'smart',
    last_deployed_from: 'api',
    usage_model: 'standard',
    deployment_id: /^[0-9a-f]{32}$/,
    etag: /^[0-9a-f]{64}$/,
    tag: /^[0-9a-f]{32}$/,
    startup_time_ms: Number,
  })
  t.notOk('exports_reconciliation' in body.result, 'only where exports was sent')
  const [{ value: version } = { value: undefined }] = api.store.list(WORKER_VERSIONS, SCOPE)
  t.match(version, { number: 1, metadata: { capnp_schema: 'kept' } })
  t.equal(Buffer.byteLength(version?.annotations['workers/message'] ?? ''), 1000, 'a message is cut at 1000 bytes')

  const again = await api.upload('hello', { ...metadata, migrations: undefined }, code)
  t.equal(again.body.result.etag, body.result.etag, 'the same content has the same etag')
  t.equal(again.body.result.tag, body.result.tag)
  const changed = await api.upload('hello', {}, code.replace('helper', 'helped'))
  t.not(changed.body.result.etag, body.result.etag)
})

t.test('the SDK uploads in both of its forms', async (t) => {
  const api = await uploader(t)
  const cf = new Cloudflare({ apiToken: ADMIN, baseURL: api.url, maxRetries: 0 })
  const file = await toFile(Buffer.from(PLAIN), 'worker.js', { type: ESM })
  const flattened = await cf.workers.scripts.update('flat', {
    account_id: ACCOUNT,
    metadata: {
      main_module: 'worker.js',
      bindings: [
        { type: 'plain_text', name: 'A', text: '1' },
        { type: 'kv_namespace', name: 'B', namespace_id: 'x' },
        { type: 'ratelimit', name: 'C', namespace_id: '1', simple: { limit: 10, period: 60 } },
        { type: 'send_email', name: 'D', allowed_destination_addresses: ['a@example.com', 'b@example.com'] },
      ],
      observability: { enabled: true, head_sampling_rate: 0.25 },
      tags: ['x', 'y'],
      logpush: false,
    },
    files: [file, await toFile(Buffer.alloc(0), 'empty.txt', { type: 'text/plain' })],
  })
  t.match(flattened, {
    id: 'flat',
    handlers: ['fetch'],
    tags: ['x', 'y'],
    logpush: false,
    observability: { enabled: true, head_sampling_rate: 0.25 },
  })
  const [{ value } = { value: undefined }] = api.store.list(WORKER_VERSIONS, SCOPE)
  t.match(value?.bindings, [
    { type: 'plain_text', text: '1' },
    { type: 'kv_namespace' },
    { type: 'ratelimit', simple: { limit: 10, period: 60 } },
    { type: 'send_email', allowed_destination_addresses: ['a@example.com', 'b@example.com'] },
  ])
  t.match(value?.modules, [{ name: 'worker.js' }, { name: 'empty.txt', size: 0 }])

  const text = await cf.workers.scripts.update('text', {
    account_id: ACCOUNT,
    metadata: JSON.stringify({ main_module: 'worker.js' }) as never,
    'worker.js': file,
  } as never)
  t.match(text, { id: 'text', handlers: ['fetch'] })
})

t.test('metadata alone comes as JSON by the name of a script, as the SDK sends it', async (t) => {
  const api = await uploader(t)
  const put = async (body: string, type = 'application/javascript') =>
    await api.call('PUT', `${SCRIPTS}/site`, body, { 'content-type': type })
  t.match(await put(JSON.stringify({ metadata: { assets: { jwt: 'a'.repeat(64) } }, files: [] })), {
    status: 200,
    body: { result: { has_assets: true, has_modules: false } },
  })
  const before = [...api.store.records()].length
  const REFUSED: readonly (readonly [what: string, body: string, status: number, code: number, pointer?: string])[] = [
    ['no JSON', '{', 400, 10026],
    ['no metadata', '{}', 400, 10026],
    ['files', '{"metadata":{},"files":["a"]}', 400, 10026],
    ['other members', '{"metadata":{},"a":1}', 400, 10026],
    ['a prototype', '{"metadata":{"__proto__":{}}}', 400, 10021, '/metadata/__proto__'],
    ['metadata that is no object', '{"metadata":[]}', 400, 10021, '/metadata'],
    ['metadata without a module', '{"metadata":{}}', 400, 10021, '/main_module'],
    ['a raw script', PLAIN, 415, 10415],
    ['too much of it', `{"a":"${'x'.repeat(10_000_000)}"}`, 413, 10413],
  ]
  for (const [what, body, status, code, pointer] of REFUSED) {
    const response = await put(body)
    const [{ source } = { source: undefined }] = response.body.errors as { source?: { pointer: string } }[]
    t.match(response, { status, body: { errors: [{ code }] } }, what)
    t.equal(source?.pointer, pointer, what)
  }
  t.equal((await put('{"metadata":{}}', 'text/plain')).status, 415)
  t.same([...api.store.records()].length, before, 'nothing was stored')
})

t.test('every kind of binding is taken as its example shows, and secrets are sealed', async (t) => {
  const api = await uploader(t)
  const kinds = [...BINDINGS.values()]
  t.equal(kinds.length, 43)
  const examples = kinds
    .filter(({ type, part }) => !part && type !== 'inherit' && type !== 'durable_object_namespace')
    .map(({ example, type }) => ({ ...example, name: `B_${type}` }))
  t.equal((await api.upload('all', { bindings: examples })).status, 200)
  const parts = kinds
    .filter(({ part }) => part)
    .map(({ example, type }) => ({ ...example, name: `B_${type}`, part: 'w.js' }))
  t.equal(
    (await api.upload('old', { body_part: 'w.js', bindings: parts }, 'addEventListener("fetch", () => {})')).status,
    200,
  )
  const stored = JSON.stringify([...api.store.records()])
  t.notMatch(stored, /hush|c2VjcmV0/, 'no secret stands in the store')
  t.match(stored, /"sealed"/)
})

t.test('bindings are inherited and kept by name and type', async (t) => {
  const api = await uploader(t)
  const bindings = (): readonly unknown[] => {
    const script = api.store.get(WORKER_SCRIPTS, SCOPE, 'w')?.value
    const version = script && api.engine.repository.readVersion(SCOPE, script, 'latest')
    return version ? api.engine.repository.openBindings(SCOPE, version) : []
  }
  const secret = { name: 'S', type: 'secret_text', text: 'one' }
  const plain = { name: 'P', type: 'plain_text', text: 'two' }
  await api.upload('w', { bindings: [secret, plain] })
  await api.upload('w', { keep_bindings: ['secret_text'] })
  t.same(bindings(), [secret])
  await api.upload('w', {
    bindings: [
      { name: 'NEW', type: 'inherit', old_name: 'S', version_id: 'latest' },
      { name: 'X', type: 'inherit' },
    ],
  })
  t.same(bindings(), [{ ...secret, name: 'NEW' }], 'what cannot be inherited is left out')
  await api.upload('w', { keep_bindings: ['secret_text'], bindings: [{ ...plain, name: 'NEW' }] })
  t.same(bindings(), [{ ...plain, name: 'NEW' }], 'an uploaded name wins')
  const strict = await api.upload(
    'w',
    {
      bindings: [
        { name: 'X', type: 'inherit' },
        { name: 'Y', type: 'inherit' },
      ],
    },
    PLAIN,
    { query: '?bindings_inherit=strict' },
  )
  t.match(strict, {
    status: 400,
    body: {
      errors: [
        { code: 10057, message: /^inherit binding 'X' is invalid/, source: { pointer: '/bindings/0' } },
        { code: 10057 },
      ],
    },
  })
  await api.upload('w', { bindings: [secret, plain] })
  await api.upload('w', {}, PLAIN, { headers: { 'user-agent': 'wrangler/4.86.0' } })
  t.same(bindings(), [secret], 'wrangler means secrets to stay where it sends no keep_bindings')
  await api.upload('w', {})
  t.same(bindings(), [], 'other uploads without keep_bindings drop secrets')
})

// Each upload kept those of the one before, beyond all bounds.
t.test('bindings that are kept count as well', async (t) => {
  const api = await uploader(t, { quotas: { bindings: 2 } })
  const bindings = (...names: string[]) => names.map((name) => ({ name, type: 'plain_text', text: name }))
  const keep_bindings = ['plain_text']
  await api.upload('w', { bindings: bindings('A', 'B') })
  t.match(await api.upload('w', { bindings: bindings('C'), keep_bindings }), {
    status: 400,
    body: { errors: [{ code: 10055, source: { pointer: '/bindings' } }] },
  })
  t.equal((await api.upload('w', { bindings: bindings('A', 'B'), keep_bindings })).status, 200)
})

t.test('a refused upload changes nothing', async (t) => {
  const api = await uploader(t)
  await api.upload('w', { tags: ['before'] })
  const before = JSON.stringify(api.store.list(WORKER_SCRIPTS, SCOPE))
  t.equal((await api.upload('w', { tags: ['after'], placement: {} })).status, 400)
  t.equal((await api.upload('w', { tags: ['after'] }, 'export default {')).status, 400)
  t.equal(JSON.stringify(api.store.list(WORKER_SCRIPTS, SCOPE)), before)
})

t.test('If-Match and If-None-Match are honoured, and uploads of one script are ordered', async (t) => {
  const api = await uploader(t)
  const { body } = await api.upload('w', {})
  t.equal((await api.upload('w', {}, PLAIN, { headers: { 'if-match': '"other"' } })).status, 412)
  t.equal((await api.upload('w', {}, PLAIN, { headers: { 'if-match': `"${body.result.etag}"` } })).status, 200)
  t.equal((await api.upload('new', {}, PLAIN, { headers: { 'if-match': '*' } })).status, 412)
  for (const tag of ['*', `"other", W/"${body.result.etag}"`])
    t.equal((await api.upload('w', {}, PLAIN, { headers: { 'if-none-match': tag } })).status, 412)
  t.equal((await api.upload('new', {}, PLAIN, { headers: { 'if-none-match': '*' } })).status, 200)
  const codes = Array.from({ length: 8 }, (_, i) => `export default { fetch() { return ${i} } }`)
  const responses = await Promise.all(codes.map(async (code) => await api.upload('w', {}, code)))
  t.ok(responses.every(({ status }) => status === 200))
  const script = api.store.get(WORKER_SCRIPTS, SCOPE, 'w')?.value
  t.equal(script?.number, 10)
  t.same(script?.versions.length, 10)
  const numbers = script?.versions.map((id) => api.store.get(WORKER_VERSIONS, SCOPE, id)?.value.number)
  t.same(numbers, [10, 9, 8, 7, 6, 5, 4, 3, 2, 1])
})

t.test('older versions go, those that serve requests stay', async (t) => {
  const api = await uploader(t, { retention: { versions: 2, deployments: 2 } })
  for (let i = 0; i < 5; i++) await api.upload('w', {})
  t.same(
    api.store
      .list(WORKER_VERSIONS, SCOPE)
      .map(({ value }: { value: StoredVersion }) => value.number)
      .sort((a, b) => a - b),
    [4, 5],
  )
})

t.test('assets alone, with a module, and kept', async (t) => {
  const api = await uploader(t)
  const jwt = 'a'.repeat(64)
  const alone = await api.send('site', [metadataPart({ assets: { jwt, config: { html_handling: 'none' } } })])
  t.match(alone, { status: 200, body: { result: { has_assets: true, has_modules: false, handlers: [] } } })
  const kept = await api.upload('site', { keep_assets: true })
  t.match(kept, { status: 200, body: { result: { has_assets: true, has_modules: true } } })
  t.match((await api.upload('site', {})).body.result, { has_assets: false })
  const bad = await api.upload('site', { assets: { jwt: 'nonsense' } })
  t.match(bad, { status: 400, body: { errors: [{ code: 10021, source: { pointer: '/assets/jwt' } }] } })
})

t.test('modules import one another, and each is found by its path', async (t) => {
  const api = await uploader(t)
  const main = `import { Room } from './lib/room.js'\nimport data from './data.txt'\nexport { Room }\nexport * from './more.js'\nexport default class extends Base {}\nclass Base { fetch() {} }`
  const parts = [
    metadataPart({ main_module: './index.js' }),
    modulePart('./index.js', main),
    modulePart(
      'lib/room.js',
      `import * as cf from 'cloudflare:workers'\nvar R = class extends cf.DurableObject {}\nexport { R as Room }`,
    ),
    modulePart('more.js', `export const helper = 1; export class Flow extends (await import('x')).y {}`),
    modulePart('data.txt', 'text', 'text/plain'),
    modulePart('index.js.map', '{}', 'application/source-map'),
  ]
  const { status, body } = await api.send('many', parts)
  t.equal(status, 200, JSON.stringify(body))
  t.match(body.result, {
    entry_point: 'index.js',
    handlers: ['fetch'],
    named_handlers: [{ name: 'Room' }, { name: 'helper' }, { name: 'Flow' }],
  })
  const missing = await api.send(
    'many',
    parts.filter(({ name }) => name !== 'data.txt'),
  )
  t.match(missing, {
    status: 400,
    body: { errors: [{ code: 10021, message: 'No such module "./data.txt" imported from "index.js"' }] },
  })
})

t.test('the handlers of Python and service-worker scripts are listed', async (t) => {
  const api = await uploader(t)
  const python =
    'from workers import WorkerEntrypoint, DurableObject\nclass Default(WorkerEntrypoint):\n  async def fetch(self, request):\n    pass\nclass Room(DurableObject):\n  def alarm(self): pass\n'
  const response = await api.send('py', [
    metadataPart({ main_module: 'w.py' }),
    modulePart('w.py', python, 'text/x-python'),
  ])
  t.match(response, {
    status: 200,
    body: { result: { handlers: ['fetch'], named_handlers: [{ name: 'Room', handlers: ['alarm'] }] } },
  })
  const code = 'self.addEventListener("scheduled", f); addEventListener("fetch", (e) => {}); function f() {}'
  t.match((await api.upload('old', { body_part: 'script' }, code)).body.result, {
    handlers: ['scheduled', 'fetch'],
    has_modules: false,
  })
})

t.test('metadata {} takes the only module', async (t) => {
  const api = await uploader(t)
  t.match((await api.send('one', [metadataPart({}), modulePart('w.js', PLAIN)])).body.result, { entry_point: 'w.js' })
  t.equal((await api.send('two', [metadataPart({}), modulePart('w.js', ''), modulePart('v.js', '')])).status, 400)
  t.equal((await api.send('empty', [metadataPart({}), modulePart('w.js', '')])).status, 200, 'an empty module is one')
})

t.test('bindings to missing resources are reported', async (t) => {
  const api = await uploader(t)
  const { status, body } = await api.upload('w', {
    bindings: [
      { name: 'KV', type: 'kv_namespace', namespace_id: 'gone' },
      { name: 'QUEUE', type: 'queue', queue_name: 'gone' },
      { name: 'DATABASE', type: 'hyperdrive', id: 'gone' },
      { name: 'SECRET', type: 'secrets_store_secret', store_id: 'gone', secret_name: 'key' },
    ],
  })
  t.equal(status, 200)
  t.match(body.messages, [
    { message: /KV namespace gone, which does not exist/ },
    { message: /queue gone, which does not exist/ },
    { message: /Hyperdrive configuration gone, which does not exist/ },
    { message: /secret key of the store gone, which does not exist/ },
  ])
})
