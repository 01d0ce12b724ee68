import t from 'tap'
import { WORKER_NAMESPACES, WORKER_SCRIPTS, WORKER_VERSIONS } from '../../../src/core/model/worker.js'
import type { TestResponse } from '../client.js'
import { metadataPart, modulePart, PLAIN, SCOPE, SCRIPTS, uploader, type Uploader } from './upload-helper.js'

const ROOM = `import { DurableObject } from 'cloudflare:workers'\nexport class Room extends DurableObject {}\n${PLAIN}`
const exports = { Room: { type: 'durable-object', storage: 'sqlite' } }
const binding = { name: 'ROOM', type: 'durable_object_namespace', class_name: 'Room' }
const asVersion = { method: 'POST', below: '/versions' }

const version = async (api: Uploader, name: string, metadata: object = {}, code = PLAIN): Promise<TestResponse> =>
  await api.upload(name, metadata, code, asVersion)

const deploy = async (api: Uploader, name: string, shares: Readonly<Record<string, number>>): Promise<TestResponse> =>
  await api.call('POST', `${SCRIPTS}/${name}/deployments`, {
    strategy: 'percentage',
    versions: Object.entries(shares).map(([version_id, percentage]) => ({ version_id, percentage })),
  })

const errorsOf = ({ body }: TestResponse) =>
  (body.errors as { code: number; source?: { pointer: string } }[]).map(({ code, source }) => [code, source?.pointer])

const handlersOf = async (api: Uploader, name: string): Promise<unknown> =>
  (await api.call('GET', `/accounts/${SCOPE.id}/workers/services/${name}`)).body.result.default_environment.script
    .handlers

t.test('a version is uploaded, serves nothing until it is deployed, and shares requests with another', async (t) => {
  const api = await uploader(t)
  const first = (await api.upload('app', { tags: ['a'] })).body.result
  const scheduled = 'export default { fetch() {}, scheduled() {} }'
  const metadata = {
    compatibility_date: '2026-11-01',
    bindings: [
      { name: 'VAR', type: 'plain_text', text: 'x' },
      { name: 'HUSH', type: 'secret_text', text: 'open sesame' },
      { name: 'KV', type: 'kv_namespace', namespace_id: 'none' },
    ],
    annotations: { 'workers/message': 'try', 'workers/tag': 'v2' },
  }
  const made = await version(api, 'app', metadata, scheduled)
  t.match(made, {
    status: 200,
    body: {
      result: {
        id: /^[0-9a-f]{8}-/,
        number: 2,
        annotations: metadata.annotations,
        metadata: { source: 'api', has_preview: false },
        startup_time_ms: Number,
        resources: {
          bindings: [{ text: 'x' }, { name: 'HUSH', type: 'secret_text', text: undefined }, { name: 'KV' }],
          script: { etag: /^[0-9a-f]{64}$/, handlers: ['fetch', 'scheduled'] },
          script_runtime: { compatibility_date: '2026-11-01', usage_model: 'standard' },
        },
      },
      messages: [{ message: /KV namespace none, which does not exist/ }],
    },
  })
  t.notOk('exports_reconciliation' in made.body.result, 'only where exports was sent')
  t.notMatch(JSON.stringify(made.body), /open sesame/)
  const { id } = made.body.result
  t.same((await api.call('GET', `${SCRIPTS}/app/versions/${id}`)).body.result, made.body.result)
  t.same(await handlersOf(api, 'app'), ['fetch'], 'the first version still serves')
  const uuid = first.deployment_id.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, '$1-$2-$3-$4-$5')
  t.match(await deploy(api, 'app', { [uuid]: 90, [id]: 10 }), { status: 200 })
  t.same(await handlersOf(api, 'app'), ['fetch'])
  t.match(await deploy(api, 'app', { [id]: 100 }), { status: 200 })
  t.same(await handlersOf(api, 'app'), ['fetch', 'scheduled'])
  t.same(
    (await api.call('GET', `${SCRIPTS}/app/script-settings`)).body.result.tags,
    ['a'],
    'what versions share is as it was',
  )
})

t.test('a version of a script that there is not yet makes it, without anything in force', async (t) => {
  const api = await uploader(t)
  const { id } = (await version(api, 'new')).body.result
  t.same((await api.call('GET', `${SCRIPTS}/new/deployments`)).body.result.deployments, [])
  t.equal((await deploy(api, 'new', { [id]: 100 })).status, 200)
  t.equal((await api.call('GET', `${SCRIPTS}/new/deployments`)).body.result.deployments.length, 1)
})

t.test('uploads of versions that do not fit are refused, and nothing is stored', async (t) => {
  const api = await uploader(t)
  await api.upload('app', {})
  const before = [...api.store.records()].length
  const REFUSED: readonly (readonly [
    what: string,
    metadata: object,
    code: string | undefined,
    errors: readonly (readonly [code: number, pointer: string | undefined])[],
    query?: string,
  ])[] = [
    ['a migration', { migrations: { new_tag: 'v1', new_sqlite_classes: ['Room'] } }, ROOM, [[10211, '/migrations']]],
    ['a class that a migration is still to make', { bindings: [binding] }, ROOM, [[10123, '/bindings/0/class_name']]],
    ['a class of exports alone', { exports, bindings: [binding] }, ROOM, [[100406, '/bindings/0/class_name']]],
    [
      'a class of another script that has none',
      { bindings: [{ ...binding, script_name: 'other' }] },
      undefined,
      [[10061, '/bindings/0/class_name']],
    ],
    ['exports that the code lacks', { exports }, undefined, [[100402, '/exports/Room']]],
    ['exports and migrations', { exports, migrations: { new_tag: 'v1' } }, ROOM, [[10021, '/migrations']]],
    [
      'another version to inherit from',
      { bindings: [{ name: 'A', type: 'inherit', version_id: 'x' }] },
      undefined,
      [[10057, '/bindings/0/version_id']],
    ],
    [
      'a binding to inherit that there is not',
      { bindings: [{ name: 'A', type: 'inherit' }] },
      undefined,
      [[10057, '/bindings/0']],
      '?bindings_inherit=strict',
    ],
    ['wrong syntax', {}, 'export default {', [[10021, '/modules/index.js']]],
    ['a main module that is no part', { main_module: 'x.js' }, undefined, [[10021, '/main_module']]],
    ['a token that is none', { assets: { jwt: 'none' } }, undefined, [[10021, '/assets/jwt']]],
    [
      'an unknown kind of binding',
      { bindings: [{ name: 'A', type: 'none' }] },
      undefined,
      [[10021, '/bindings/0/type']],
    ],
    [
      'a name of a binding that is no text',
      { bindings: [{ name: 5, type: 'ai' }] },
      undefined,
      [[10021, '/bindings/0/name']],
    ],
    ['a query that means nothing', {}, undefined, [[10002, '/bindings_inherit']], '?bindings_inherit=lax'],
  ]
  for (const [what, metadata, code = PLAIN, errors, query = ''] of REFUSED) {
    const response = await api.send(
      'app',
      [metadataPart({ main_module: 'index.js', ...metadata }), modulePart('index.js', code)],
      { ...asVersion, query },
    )
    t.equal(response.status, 400, what)
    t.same(errorsOf(response), errors, what)
  }
  t.equal((await version(api, 'No_Name')).body.errors[0].code, 10016)
  t.same([...api.store.records()].length, before, 'nothing was stored')
})

t.test('a version inherits bindings from the one that it names', async (t) => {
  const api = await uploader(t)
  const bindings = (text: string) => ({ bindings: [{ name: 'A', type: 'secret_text', text }] })
  const { id } = (await version(api, 'app', bindings('old'))).body.result
  await version(api, 'app', bindings('new'))
  const inherit = [
    { name: 'A', type: 'inherit', version_id: id },
    { name: 'B', type: 'inherit', old_name: 'A', version_id: 'latest' },
  ]
  t.equal((await version(api, 'app', { bindings: inherit })).status, 200)
  const { repository } = api.engine
  const latest = repository.readVersion(SCOPE, repository.script(SCOPE, 'app')!.value, 'latest')!
  t.match(repository.openBindings(SCOPE, latest), [
    { name: 'A', text: 'old' },
    { name: 'B', text: 'new' },
  ])
  t.same(errorsOf(await api.upload('app', { bindings: inherit })), [[10057, '/bindings/0/version_id']])
})

t.test('exports of a version are reconciled when it is deployed', async (t) => {
  const api = await uploader(t)
  const classes = () => api.store.list(WORKER_NAMESPACES, SCOPE).map(({ value }) => `${value.script}/${value.class}`)
  const declarative = () => api.store.get(WORKER_SCRIPTS, SCOPE, 'app')?.value.declarative
  const plain = (await version(api, 'app')).body.result.id
  const made = await version(api, 'app', { exports }, ROOM)
  t.match(made.body.result, {
    resources: { script_runtime: { exports } },
    exports_reconciliation: { created: ['Room'], warnings: [] },
  })
  const room = made.body.result.id
  t.same([classes(), declarative()], [[], false], 'nothing was made so far')
  t.same(errorsOf(await deploy(api, 'app', { [plain]: 50, [room]: 50 })), [[100405, '/versions']])
  t.equal((await deploy(api, 'app', { [room]: 100 })).status, 200)
  t.same([classes(), declarative()], [['app/Room'], true])
  const bound = await version(api, 'app', { exports, bindings: [binding] }, ROOM)
  t.equal(bound.status, 200, 'now that the class is there, a version can have a binding to it')
  t.equal((await deploy(api, 'app', { [room]: 50, [bound.body.result.id]: 50 })).status, 200)
  t.same(classes(), ['app/Room'], 'the same class stays the same')

  const refused = await deploy(api, 'app', { [plain]: 100 })
  t.match(refused, {
    status: 400,
    body: {
      errors: [{ code: 100402, meta: { details: [{ class: 'Room', scenario: 'orphaned_provisioned_namespace' }] } }],
    },
  })
  t.same(errorsOf(refused), [[100402, '/versions/0/version_id']])
  const gone = await version(api, 'app', {
    exports: { Room: { type: 'durable-object', state: 'deleted' } },
  })
  t.match(gone.body.result, {
    resources: { script_runtime: { exports: {} } },
    exports_reconciliation: { deleted: ['Room'] },
  })
  t.same(Object.keys(gone.body.result.resources.script_runtime.exports), [], 'tombstones are left out')
  t.same(classes(), ['app/Room'])
  t.equal((await deploy(api, 'app', { [gone.body.result.id]: 100 })).status, 200)
  t.same(classes(), [])
})

t.test('a version is not deployed where its code lacks a class that a migration made since', async (t) => {
  const api = await uploader(t)
  const plain = (await version(api, 'app')).body.result.id
  await api.upload('app', { migrations: { new_tag: 'v1', new_sqlite_classes: ['Room'] } }, ROOM)
  t.same(errorsOf(await deploy(api, 'app', { [plain]: 100 })), [[10064, '/versions/0/version_id']])
  const next = (await version(api, 'app', { bindings: [binding] }, ROOM)).body.result.id
  t.equal((await deploy(api, 'app', { [next]: 100 })).status, 200)
  await api.upload('app', { migrations: { old_tag: 'v1', new_tag: 'v2', deleted_classes: ['Room'] } })
  t.same(errorsOf(await deploy(api, 'app', { [next]: 100 })), [[10061, '/versions/0/version_id']])
  t.equal(api.store.list(WORKER_VERSIONS, SCOPE).length, 4)
})

t.test('versions that share requests serve their assets at one path', async (t) => {
  const api = await uploader(t)
  const assets = (base_path: string | null) => ({ assets: { jwt: 'a'.repeat(64), config: { base_path } } })
  const ids: Record<string, string> = {}
  for (const [name, base] of [
    ['root', '/'],
    ['null', null],
    ['app', '/app'],
  ] as const)
    ids[name] = (await version(api, 'site', assets(base))).body.result.id
  const none = (await version(api, 'site')).body.result.id
  const pair = async (a = '', b = '') => errorsOf(await deploy(api, 'site', { [a]: 1, [b]: 99 }))
  t.same(await pair(ids['root'], ids['app']), [[20442, '/versions']])
  t.same(await pair(ids['root'], ids['null']), [])
  t.same(await pair(none, ids['app']), [])
})
