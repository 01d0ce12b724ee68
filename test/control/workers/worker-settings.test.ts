import t from 'tap'
import Cloudflare, { toFile } from 'cloudflare'
import { WORKER_NAMESPACES, WORKER_VERSIONS, type StoredVersion } from '../../../src/core/model/worker.js'
import { ACCOUNT, ADMIN, type TestResponse } from '../client.js'
import {
  ESM,
  metadataPart,
  modulePart,
  PLAIN,
  SCOPE,
  SCRIPTS,
  uploader,
  type Part,
  type Uploader,
} from './upload-helper.js'

const asContent = { below: '/content' }
const asSettings = { method: 'PATCH', below: '/settings' }
const SERVICE = 'addEventListener("fetch", () => {})'
const ROOM = `import { DurableObject } from 'cloudflare:workers'\nexport class Room extends DurableObject {}\n${PLAIN}`

const sdk = (api: Uploader): Cloudflare => new Cloudflare({ apiToken: ADMIN, baseURL: api.url, maxRetries: 0 })

const settingsPart = (settings: unknown): Part => ({
  name: 'settings',
  body: typeof settings === 'string' ? settings : JSON.stringify(settings),
})

const patch = async (api: Uploader, settings: unknown): Promise<TestResponse> =>
  await api.send('app', [settingsPart(settings)], asSettings)

function latest({ engine: { repository } }: Uploader): StoredVersion {
  const { value } = repository.script(SCOPE, 'app')!
  return repository.readVersion(SCOPE, value, 'latest')!
}

const bindingsOf = (api: Uploader) => api.engine.repository.openBindings(SCOPE, latest(api))

const first = ({ status, body }: TestResponse) => {
  const [{ code, source }] = body.errors as [{ code: number; source?: { pointer: string } }]
  return [status, code, source?.pointer]
}

t.test('new code takes the place of the old, and all else stays', async (t) => {
  const api = await uploader(t)
  const metadata = {
    compatibility_date: '2026-11-01',
    bindings: [{ name: 'HUSH', type: 'secret_text', text: 'open sesame' }],
    placement: { mode: 'smart' },
    tags: ['a'],
    capnp_schema: 'kept',
  }
  const before = (await api.upload('app', metadata)).body.result
  const next = modulePart('next.js', 'export default { fetch() {}, queue() {} }')
  const response = await api.send('app', [metadataPart({ main_module: 'next.js', tags: ['b'] }), next], asContent)
  t.match(response, {
    status: 200,
    body: {
      result: {
        id: 'app',
        entry_point: 'next.js',
        handlers: ['fetch', 'queue'],
        tags: ['a'],
        placement: { mode: 'smart' },
      },
      messages: [{ message: /^tags of the metadata has no effect/ }],
    },
  })
  t.not(response.body.result.etag, before.etag)
  t.match(latest(api), {
    compatibility_date: '2026-11-01',
    metadata: { capnp_schema: 'kept' },
    modules: [{ name: 'next.js' }],
  })
  t.match(bindingsOf(api), [{ name: 'HUSH', text: 'open sesame' }])
  const code = await fetch(`${api.url}${SCRIPTS}/app/content/v2`, { headers: { authorization: `Bearer ${ADMIN}` } })
  t.equal(code.headers.get('cf-entrypoint'), 'next.js')

  const named = { ...asContent, headers: { 'CF-WORKER-BODY-PART': 'old.js' } }
  t.match(await api.send('app', [modulePart('old.js', SERVICE, 'text/javascript')], named), {
    status: 200,
    body: { result: { has_modules: false, handlers: ['fetch'] } },
  })
  const raw = await fetch(`${api.url}${SCRIPTS}/app`, { headers: { authorization: `Bearer ${ADMIN}` } })
  t.match(raw.headers.get('content-type'), /^application\/javascript/)
  t.equal(await raw.text(), SERVICE, 'a service-worker script is read as it is')

  const updated = await sdk(api).workers.scripts.content.update('app', {
    account_id: ACCOUNT,
    metadata: { main_module: 'sdk.js' },
    files: [await toFile(Buffer.from(PLAIN), 'sdk.js', { type: ESM })],
  })
  t.match(updated, { id: 'app', handlers: ['fetch'], has_modules: true })
  const etag = { ...asContent, headers: { 'if-match': '"none"' } }
  t.same(first(await api.send('app', [modulePart('a.js', PLAIN)], etag)), [412, 10035, undefined])
})

t.test('new code that does not fit is refused, and nothing is stored', async (t) => {
  const api = await uploader(t, { upload: { module_bytes: 1000 } })
  const bindings = [{ name: 'ROOM', type: 'durable_object_namespace', class_name: 'Room' }]
  await api.upload('app', { migrations: { new_tag: 'v1', new_sqlite_classes: ['Room'] }, bindings }, ROOM)
  await api.upload('old', { body_part: 'w.js', bindings: [{ name: 'T', type: 'text_blob', part: 'w.js' }] }, SERVICE)
  const before = [...api.store.records()].length
  const main = modulePart('w.js', ROOM)
  const REFUSED: readonly (readonly [
    what: string,
    parts: readonly Part[],
    reported: readonly [status: number, code: number, pointer?: string | undefined],
    name?: string,
  ])[] = [
    ['no module', [metadataPart({})], [400, 10021, '/main_module']],
    ['code without a class that has objects', [modulePart('w.js', PLAIN)], [400, 10064, undefined]],
    ['a main module that is no part', [metadataPart({ main_module: 'x.js' }), main], [400, 10021, '/main_module']],
    ['metadata that is no JSON', [metadataPart('{'), main], [400, 10021, '/metadata']],
    ['metadata that does not fit', [metadataPart({ main_module: 1 }), main], [400, 10021, '/main_module']],
    ['metadata with a prototype', [metadataPart('{"__proto__":{}}'), main], [400, 10021, '/__proto__']],
    ['wrong syntax', [modulePart('w.js', 'export')], [400, 10021, '/modules/w.js']],
    ['too much code', [modulePart('w.js', `//${'x'.repeat(1000)}`)], [413, 10027, undefined]],
    [
      'a script without the part of a binding',
      [modulePart('v.js', SERVICE, 'text/javascript')],
      [400, 10021, undefined],
      'old',
    ],
    ['modules, with a binding to a part', [modulePart('w.js', PLAIN)], [400, 10021, undefined], 'old'],
    ['no such script', [main], [404, 10007, undefined], 'none'],
  ]
  for (const [what, parts, reported, name = 'app'] of REFUSED)
    t.same(first(await api.send(name, parts, asContent)), reported, what)
  t.same([...api.store.records()].length, before, 'nothing was stored')
})

t.test('settings change with a new version of the same code', async (t) => {
  const api = await uploader(t)
  const secret = { name: 'HUSH', type: 'secret_text', text: 'open sesame' }
  const made = (await api.upload('app', { bindings: [secret], tags: ['a'], compatibility_date: '2026-01-01' }, ROOM))
    .body.result
  const changed = await patch(api, {
    bindings: [
      { name: 'HUSH', type: 'inherit' },
      { name: 'VAR', type: 'plain_text', text: 'x' },
      { name: 'KV', type: 'kv_namespace', namespace_id: 'none' },
    ],
    compatibility_date: '2026-11-01',
    compatibility_flags: ['nodejs_compat'],
    limits: { cpu_ms: 100 },
    logpush: true,
    placement: { mode: 'smart' },
    observability: { enabled: true },
    annotations: { 'workers/message': 'more' },
  })
  t.match(changed, {
    status: 200,
    body: {
      result: {
        bindings: [{ name: 'HUSH', type: 'secret_text' }, { name: 'VAR', text: 'x' }, {}],
        compatibility_date: '2026-11-01',
        limits: { cpu_ms: 100 },
        logpush: true,
        placement: { mode: 'smart' },
        observability: { enabled: true },
        tags: ['a'],
        annotations: { 'workers/triggered_by': 'settings', 'workers/message': 'more' },
      },
      messages: [
        ...['limits', 'placement'].map((name) => ({ source: { pointer: `/${name}` } })),
        { message: /KV namespace none/ },
      ],
    },
  })
  t.notMatch(JSON.stringify(changed.body), /open sesame/)
  t.same((await api.call('GET', `${SCRIPTS}/app/settings`)).body.result, changed.body.result)
  t.match(bindingsOf(api), [secret, { name: 'VAR' }, {}], 'an inherited secret is what it was')
  t.match(latest(api), { number: 2, etag: made.etag, modules: [{ name: 'index.js' }] })
  t.match(await patch(api, {}), { status: 200 })
  t.match(bindingsOf(api), [secret, { name: 'VAR' }, {}], 'what is left out stays')

  t.match(
    await patch(api, {
      bindings: [
        { name: 'HUSH', type: 'secret_text' },
        { name: 'VAR', type: 'plain_text' },
        { name: 'NEW', type: 'secret_text', text: 'two' },
        { name: 'KV', type: 'kv_namespace' },
      ],
    }),
    { status: 200 },
  )
  t.same(
    bindingsOf(api),
    [
      secret,
      { name: 'VAR', type: 'plain_text', text: 'x' },
      { name: 'NEW', type: 'secret_text', text: 'two' },
      { name: 'KV', type: 'kv_namespace', namespace_id: 'none' },
    ],
    'wrangler names those that are to stay by name and type',
  )
  t.same(
    first(await patch(api, { bindings: [{ name: 'KV', type: 'plain_text' }] })),
    [400, 10021, '/bindings/0/text'],
    'not by another type',
  )

  const edited = await sdk(api).workers.scripts.scriptAndVersionSettings.edit('app', {
    account_id: ACCOUNT,
    settings: {
      bindings: [
        { name: 'C', type: 'ratelimit', namespace_id: '1', simple: { limit: 10, period: 60 } },
        { name: 'HUSH', type: 'inherit' },
      ],
      logpush: false,
      observability: { enabled: true, head_sampling_rate: 0.25 },
    },
  })
  t.match(edited, {
    logpush: false,
    observability: { head_sampling_rate: 0.25 },
    bindings: [{ simple: { limit: 10, period: 60 } }, { name: 'HUSH' }],
  })
  t.match(bindingsOf(api), [{}, secret])

  const tagged = { migrations: { new_tag: 'v1', new_sqlite_classes: ['Room'] } }
  const room = [{ name: 'ROOM', type: 'durable_object_namespace', class_name: 'Room' }]
  t.match((await patch(api, { ...tagged, bindings: room })).body.result, { migration_tag: 'v1' })
  t.match(api.store.list(WORKER_NAMESPACES, SCOPE), [{ value: { class: 'Room', script: 'app' } }])
})

// Parts go by names of their own, which were forgotten: from then on no setting could be changed.
t.test('a part that a binding names keeps its name', async (t) => {
  const api = await uploader(t)
  const metadata = { body_part: 'worker.js', bindings: [{ name: 'ADD', type: 'wasm_module', part: 'ADD' }] }
  const script = modulePart('worker.js', SERVICE, 'application/javascript')
  const wasm = { name: 'ADD', filename: './1f-add.wasm', type: 'application/wasm', body: 'wasm' }
  t.equal((await api.send('app', [metadataPart(metadata), script, wasm])).status, 200)
  t.match(await patch(api, { tags: ['a'] }), { status: 200 })
  t.match(latest(api), { number: 2, bindings: metadata.bindings, modules: [{}, { name: '1f-add.wasm', part: 'ADD' }] })
  const response = await fetch(`${api.url}${SCRIPTS}/app`, { headers: { authorization: `Bearer ${ADMIN}` } })
  t.match(await response.text(), 'name="ADD"; filename="1f-add.wasm"')
  const other = { ...wasm, filename: './2e-add.wasm' }
  t.equal(
    (await api.send('app', [script, other], { ...asContent, headers: { 'cf-worker-body-part': 'worker.js' } })).status,
    200,
  )
  t.match(await patch(api, { tags: [] }), { status: 200 })
  t.match(latest(api), { modules: [{ name: 'worker.js' }, { name: '2e-add.wasm' }] })
})

// wrangler sends the path in `wasm_modules` as the file name, and the upload was rejected.
t.test('a part of a binding may come from a file outside the folder of the script', async (t) => {
  const api = await uploader(t)
  const bindings = [{ name: 'ADD', type: 'wasm_module', part: 'ADD' }]
  const script = modulePart('worker.js', SERVICE, 'application/javascript')
  const wasm = { name: 'ADD', filename: '../add.wasm', type: 'application/wasm', body: 'wasm' }
  const metadata = metadataPart({ body_part: 'worker.js', bindings })
  t.equal((await api.send('app', [metadata, script, wasm])).status, 200)
  t.match(latest(api), { bindings, modules: [{ name: 'worker.js' }, { name: 'ADD' }] })

  const outside = { ...wasm, name: '../add.wasm' }
  const refused = await api.send('app', [metadata, script, outside])
  t.match(refused, { status: 400, body: { errors: [{ source: { pointer: '/modules/..~1add.wasm' } }] } })
  t.match(await api.send('app', [metadata, script, wasm, { ...wasm, filename: '../b.wasm' }]), { status: 400 })
})

t.test(
  'a Durable Object binding shows the id of its namespace, and an absent tail consumer is a warning',
  async (t) => {
    const api = await uploader(t)
    const bindings = [{ name: 'ROOM', type: 'durable_object_namespace', class_name: 'Room' }]
    const migrations = { new_tag: 'v1', new_sqlite_classes: ['Room'] }
    const tail_consumers = [{ service: 'absent' }, { service: 'app' }]
    const uploaded = await api.upload('app', { migrations, bindings, tail_consumers }, ROOM)
    const warning = { code: 10000, message: 'the tail consumer absent does not exist' }
    t.match(uploaded.body.messages, [warning, { code: 10901 }])
    const [namespace] = api.store.list(WORKER_NAMESPACES, SCOPE)
    const shown = [{ ...bindings[0], namespace_id: namespace?.id }]
    t.same((await api.call('GET', `${SCRIPTS}/app/settings`)).body.result.bindings, shown)
    const version = `${SCRIPTS}/app/versions/${latest(api)?.id}`
    t.same((await api.call('GET', version)).body.result.resources.bindings, shown)
    t.match((await patch(api, { tail_consumers })).body.messages, [warning, { code: 10901 }])
    t.same((await api.call('PATCH', `${SCRIPTS}/app/script-settings`, { tail_consumers })).body.messages, [warning])
    t.same((await api.call('PATCH', `${SCRIPTS}/app/script-settings`, { tags: ['a'] })).body.messages, [])
    const inert = (name: string) => ({ code: 10900, source: { pointer: `/${name}` } })
    const own = { logpush: true, observability: { enabled: true } }
    t.match((await api.call('PATCH', `${SCRIPTS}/app/script-settings`, own)).body.messages, [])
    t.match((await patch(api, { placement: { mode: 'smart' } })).body.messages[0], inert('placement'))
  },
)

t.test('exports without Durable Object classes list the classes of the code that lack one', async (t) => {
  const api = await uploader(t)
  const exports = { default: { type: 'worker' } }
  const { body } = await api.upload('app', { exports }, ROOM)
  t.match(body.result.exports_reconciliation, { info: [{ class: 'Room', scenario: 'code_class_not_in_exports' }] })
  t.same(api.store.list(WORKER_NAMESPACES, SCOPE), [])
})

t.test('exports among settings are reconciled', async (t) => {
  const api = await uploader(t)
  await api.upload('app', {}, ROOM)
  const worker = { type: 'worker', cache: { enabled: false } }
  const exports = { Room: { type: 'durable-object', storage: 'sqlite' }, default: worker }
  const shown = { Room: { ...exports.Room, state: 'created' }, default: { ...worker, state: 'created' } }
  const { result } = (await patch(api, { exports })).body
  t.match(result.exports_reconciliation, { created: ['Room'] })
  t.same(result.exports, shown, 'the default state is written out')
  t.match((await patch(api, { logpush: true })).body.result, { exports: shown, exports_reconciliation: undefined })
  t.equal((await patch(api, { exports: shown })).status, 200, 'what is shown can be sent')
  t.same(first(await patch(api, { exports: {} })), [400, 100402, undefined])
})

t.test('settings that do not fit are refused, and nothing is stored', async (t) => {
  const api = await uploader(t, { quotas: { value_bytes: 1000 } })
  await api.upload('app', { bindings: [{ name: 'A', type: 'plain_text', text: 'x' }] })
  const versions = api.store.count(WORKER_VERSIONS)
  const text = { name: 'A', type: 'plain_text', text: '' }
  const REFUSED: readonly (readonly [what: string, settings: unknown, code: number, pointer?: string])[] = [
    ['no JSON', '{', 10021, '/settings'],
    ['no object', [], 10021, '/settings'],
    ['an unknown member', { main_module: 'x' }, 10021, '/main_module'],
    ['a prototype', '{"constructor":{}}', 10021, '/constructor'],
    ['wrong bindings', { bindings: {} }, 10021, '/bindings'],
    ['a binding without a name', { bindings: [{ type: 'ai' }] }, 10052, '/bindings/0/name'],
    ['a binding twice', { bindings: [text, text] }, 10021, '/bindings/1/name'],
    ['a value that is too large', { bindings: [{ ...text, text: 'x'.repeat(1001) }] }, 10054, '/bindings/0/text'],
    ['a part that is none', { bindings: [{ name: 'W', type: 'wasm_module', part: 'x' }] }, 10021, '/bindings/0/type'],
    ['nothing to inherit', { bindings: [{ name: 'B', type: 'inherit' }] }, 10057, '/bindings/0'],
    [
      'a class that there is not',
      { bindings: [{ name: 'R', type: 'durable_object_namespace', class_name: 'Room' }] },
      10061,
      '/bindings/0/class_name',
    ],
    ['a wrong date', { compatibility_date: 'today' }, 10021, '/compatibility_date'],
    ['wrong limits', { limits: { cpu_ms: 0 } }, 10021, '/limits/cpu_ms'],
    ['a wrong placement', { placement: { mode: 'clever' } }, 10021, '/placement/mode'],
    [
      'a wrong share',
      { observability: { enabled: true, head_sampling_rate: 2 } },
      10021,
      '/observability/head_sampling_rate',
    ],
    ['a wrong tag', { tags: ['a,b'] }, 10021, '/tags/0'],
    ['a wrong consumer', { tail_consumers: [{}] }, 10021, '/tail_consumers/0/service'],
    ['a wrong model', { usage_model: 'free' }, 10021, '/usage_model'],
    [
      'a class to delete that there is not',
      { migrations: { new_tag: 'v1', deleted_classes: ['A'] } },
      10074,
      '/migrations/deleted_classes/0',
    ],
    [
      'a tag that is not the current one',
      { migrations: { old_tag: 'v1', new_tag: 'v2' } },
      10079,
      '/migrations/old_tag',
    ],
    ['exports and migrations', { exports: {}, migrations: { new_tag: 'v1' } }, 10021, '/migrations'],
    [
      'a class that the code lacks',
      { exports: { A: { type: 'durable-object', storage: 'sqlite' } } },
      100402,
      '/exports/A',
    ],
  ]
  for (const [what, settings, code, pointer] of REFUSED)
    t.same(first(await patch(api, settings)), [400, code, pointer], what)
  t.same(first(await api.send('app', [settingsPart({}), settingsPart({})], asSettings)), [400, 10021, '/settings'])
  t.equal(
    (await api.send('app', [settingsPart({}), modulePart('w.js', PLAIN)], asSettings)).status,
    400,
    'no code here',
  )
  t.equal((await api.call('PATCH', `${SCRIPTS}/app/settings`, {})).status, 415)
  t.same(first(await api.send('none', [settingsPart({})], asSettings)), [404, 10007, undefined])
  t.equal(api.store.count(WORKER_VERSIONS), versions, 'nothing was stored')

  await api.upload('app', {}, PLAIN, { method: 'POST', below: '/versions' })
  t.same(first(await patch(api, {})), [400, 10215, undefined], 'the latest version is not the one that serves')
  t.same(first(await api.send('app', [modulePart('w.js', PLAIN)], asContent)), [400, 10215, undefined])
})
