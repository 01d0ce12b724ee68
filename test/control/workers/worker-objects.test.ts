import t from 'tap'
import Cloudflare from 'cloudflare'
import { WORKER_NAMESPACES, WORKER_SCRIPTS, WORKER_VERSIONS } from '../../../src/core/model/worker.js'
import { all } from '../../helpers/all.js'
import { ACCOUNT, ADMIN, type TestResponse } from '../client.js'
import { ESM, PLAIN, SCOPE, SCRIPTS, uploader } from './upload-helper.js'

const WORKERS = `/accounts/${ACCOUNT}/workers/workers`
const inAccount = { account_id: ACCOUNT }
const ROOM = `import { DurableObject } from 'cloudflare:workers'\nexport class Room extends DurableObject {}\n${PLAIN}`
const room = { name: 'ROOM', type: 'durable_object_namespace', class_name: 'Room' }

const sdk = (url: string): Cloudflare => new Cloudflare({ apiToken: ADMIN, baseURL: url, maxRetries: 0 })
const base64 = (text: string): string => Buffer.from(text).toString('base64')
const module = (text: string, name = 'index.js', content_type = ESM) => ({
  name,
  content_type,
  content_base64: base64(text),
})
const code = (text = PLAIN) => ({ main_module: 'index.js', modules: [module(text)] })

const first = ({ status, body }: TestResponse) => {
  const [{ code, source }] = body.errors as [{ code: number; source?: { pointer: string } }]
  return [status, code, source?.pointer]
}

t.test('a Worker is made without code, changed, and deleted', async (t) => {
  const api = await uploader(t)
  const { workers } = sdk(api.url).workers.beta
  const made = await workers.create({
    ...inAccount,
    name: 'app',
    tags: ['a'],
    logpush: true,
    subdomain: { enabled: true },
    observability: { enabled: true, logs: { enabled: true, invocation_logs: false } },
    tail_consumers: [{ name: 'tail' }],
  })
  t.match(made, {
    id: /^[0-9a-f]{32}$/,
    name: 'app',
    deployed_on: null,
    tags: ['a'],
    logpush: true,
    subdomain: { enabled: true, previews_enabled: false },
    observability: { enabled: true },
    tail_consumers: [{ name: 'tail' }],
    references: { domains: [], workers: [], durable_objects: [] },
  })
  const edited = await workers.edit(made.id, {
    ...inAccount,
    name: 'app',
    logpush: false,
    tags: ['b'],
    tail_consumers: [],
    observability: { head_sampling_rate: 0.5 },
    subdomain: {},
  })
  t.match(edited, {
    id: made.id,
    logpush: false,
    tags: ['b'],
    subdomain: { enabled: true },
    observability: { enabled: true, head_sampling_rate: 0.5, logs: { enabled: true } },
  })
  const replaced = await workers.update('app', { ...inAccount, name: 'app', subdomain: { previews_enabled: true } })
  t.same(
    [replaced.tags, replaced.observability, replaced.subdomain],
    [[], {}, { enabled: false, previews_enabled: true }],
  )
  t.same(
    (await all(workers.list({ ...inAccount, per_page: 1 }))).map(({ name }) => name),
    ['app'],
  )

  const service = await api.call('GET', `/accounts/${ACCOUNT}/workers/services/app`)
  t.match(service.body.result.default_environment.script, { tag: made.id, tags: [], handlers: [] })
  t.same(
    (await api.call('GET', `${SCRIPTS}/app/settings`)).body.result.bindings,
    [],
    'wrangler reads them before it uploads',
  )
  t.match(await api.call('PUT', `${SCRIPTS}/app/secrets`, { name: 'A', type: 'secret_text', text: 'x' }), {
    status: 404,
    body: { errors: [{ code: 10222 }] },
  })
  t.equal((await api.upload('app', {})).body.result.tag, made.id, 'the first version keeps the id')
  await workers.delete(made.id, inAccount)
  t.equal(api.store.count(WORKER_SCRIPTS), 0)
})

t.test('a Worker that does not fit is refused', async (t) => {
  const api = await uploader(t, { quotas: { scripts: 2 } })
  await api.call('POST', WORKERS, { name: 'app' })
  const REFUSED: readonly (readonly [
    what: string,
    method: string,
    path: string,
    body: object,
    reported: readonly [status: number, code: number, pointer?: string | undefined],
  ])[] = [
    ['no name', 'POST', '', {}, [400, 20446, '/name']],
    ['a wrong name', 'POST', '', { name: 'No Name' }, [400, 10016, '/name']],
    ['a name that is taken', 'POST', '', { name: 'app' }, [409, 20447, '/name']],
    ['an unknown member', 'POST', '', { name: 'b', colour: 'red' }, [400, 20446, '/colour']],
    ['a wrong tag', 'POST', '', { name: 'b', tags: ['a,b'] }, [400, 20446, '/tags/0']],
    [
      'a wrong share',
      'POST',
      '',
      { name: 'b', observability: { head_sampling_rate: 2 } },
      [400, 20446, '/observability/head_sampling_rate'],
    ],
    ['a wrong switch', 'POST', '', { name: 'b', subdomain: { enabled: 1 } }, [400, 20446, '/subdomain/enabled']],
    [
      'a wrong consumer',
      'POST',
      '',
      { name: 'b', tail_consumers: [{ service: 'a' }] },
      [400, 20446, '/tail_consumers/0/name'],
    ],
    ['another name', 'PATCH', '/app', { name: 'b' }, [400, 20446, '/name']],
    ['a replacement without a name', 'PUT', '/app', {}, [400, 20446, '/name']],
    ['a change of none', 'PATCH', '/none', {}, [404, 10007, undefined]],
    ['a replacement of none', 'PUT', '/none', { name: 'none' }, [404, 10007, undefined]],
  ]
  for (const [what, method, path, body, reported] of REFUSED) {
    const response = await api.call(method, WORKERS + path, body)
    t.ok((response.body.errors as { code: number }[]).length > 0, what)
    t.same(first(response), reported, what)
  }
  t.equal(api.store.count(WORKER_SCRIPTS), 1)
  t.equal((await api.call('POST', WORKERS, { name: 'b' })).status, 200)
  t.same(first(await api.call('POST', WORKERS, { name: 'c' })), [403, 10037, undefined])
})

t.test('versions of a Worker are sent and returned as JSON', async (t) => {
  const api = await uploader(t)
  const { workers } = sdk(api.url).workers.beta
  await workers.create({ ...inAccount, name: 'app', tags: ['a'], logpush: true })
  const made = await workers.versions.create('app', {
    ...inAccount,
    main_module: 'index.js',
    modules: [module(ROOM), module('text', 'a.txt', 'text/plain')],
    bindings: [
      { name: 'HUSH', type: 'secret_text', text: 'open sesame' },
      { name: 'KV', type: 'kv_namespace', namespace_id: 'none' },
    ],
    compatibility_date: '2026-11-01',
    limits: { cpu_ms: 50 },
    annotations: { 'workers/message': 'first' },
    package_dependencies: [{ name: 'a', packageJsonVersion: '^1', installedVersion: '1.0.0' }],
  })
  t.match(made, {
    number: 1,
    source: 'api',
    urls: [],
    main_module: 'index.js',
    bindings: [{ name: 'HUSH', text: undefined }, { name: 'KV' }],
    compatibility_date: '2026-11-01',
    limits: { cpu_ms: 50 },
    annotations: { 'workers/message': 'first' },
    package_dependencies: [{ name: 'a' }],
    usage_model: 'standard',
  })
  t.notOk(made.modules)
  t.equal((await workers.get('app', inAccount)).deployed_on, null)
  const whole = await workers.versions.get(made.id, { ...inAccount, worker_id: 'app', include: 'modules' })
  t.same(whole.modules, [module(ROOM), module('text', 'a.txt', 'text/plain')])

  const deployed = await api.call('POST', `${WORKERS}/app/versions?deploy=true`, {
    ...code(ROOM),
    bindings: [room],
    migrations: { new_tag: 'v1', new_sqlite_classes: ['Room'] },
  })
  t.match(deployed.body.result, { number: 2, migration_tag: 'v1' })
  t.match(await workers.get('app', inAccount), { deployed_on: String, tags: ['a'], logpush: true }, 'its settings stay')
  t.match(api.store.list(WORKER_NAMESPACES, SCOPE), [{ value: { class: 'Room' } }])
  t.same(
    (await all(workers.versions.list('app', { ...inAccount, per_page: 1 }))).map(({ number }) => number),
    [2, 1],
  )
  const { id } = deployed.body.result
  t.same(first(await api.call('DELETE', `${WORKERS}/app/versions/${id}`)), [409, 20448, undefined])
  await workers.versions.delete(made.id, { ...inAccount, worker_id: 'app' })
  t.equal(api.store.count(WORKER_VERSIONS), 1)
  t.same(first(await api.call('DELETE', `${WORKERS}/app/versions/${made.id}`)), [404, 10222, undefined])

  const headers = { 'content-type': 'application/merge-patch+json' }
  const env = { ROOM: null, A: { type: 'plain_text', text: 'x' }, B: { type: 'secret_text', text: 'hush' } }
  const worker = (await workers.get('app', inAccount)).id
  const latest = await api.call('PATCH', `${WORKERS}/${worker}/versions/latest`, { env }, headers)
  t.same(latest.body.result.resources.bindings, [
    { name: 'A', type: 'plain_text', text: 'x' },
    { name: 'B', type: 'secret_text' },
  ])
  const again = { env: { C: { type: 'inherit', old_name: 'B' }, D: { type: 'inherit' } } }
  t.same(first(await api.call('PATCH', `${WORKERS}/app/versions/latest`, again, headers)), [400, 10057, '/env/D'])
  const wrong = { env: { 'a/b': { type: 'secret_text' } } }
  t.same(first(await api.call('PATCH', `${WORKERS}/app/versions/latest`, wrong, headers)), [
    400,
    10021,
    '/env/a~1b/text',
  ])
})

t.test('static assets of a version have their rules from modules', async (t) => {
  const api = await uploader(t)
  await api.call('POST', WORKERS, { name: 'site' })
  const assets = { jwt: 'a'.repeat(64), config: { html_handling: 'none' } }
  const modules = [module('/a\n  X-A: b\n', '_headers', 'text/plain'), module('/a /b\n', '_redirects', 'text/plain')]
  const made = await api.call('POST', `${WORKERS}/site/versions`, { assets, modules })
  t.same(made.body.result.assets, {
    config: { html_handling: 'none', _headers: '/a\n  X-A: b\n', _redirects: '/a /b\n' },
  })
  t.same(api.store.list(WORKER_VERSIONS, SCOPE)[0]?.value.modules, [])
})

// They waited for their turn to be read in any number.
t.test('code that comes as JSON counts among the uploads under way', async (t) => {
  const api = await uploader(t, { upload: { memory: PLAIN.length } })
  await api.call('POST', WORKERS, { name: 'app' })
  for (let made = 0; made < 2; made++) t.equal((await api.call('POST', `${WORKERS}/app/versions`, code())).status, 200)
  t.match(await api.call('POST', `${WORKERS}/app/versions`, code(`${PLAIN}//`)), {
    status: 503,
    body: { errors: [{ code: 20431 }] },
  })
  t.equal(api.engine.uploads.used, 0)
})

t.test('a version that does not fit is refused, and nothing is stored', async (t) => {
  const api = await uploader(t)
  await api.call('POST', WORKERS, { name: 'app' })
  const before = [...api.store.records()].length
  const exports = { Room: { type: 'durable-object', storage: 'sqlite' } }
  const REFUSED: readonly (readonly [what: string, body: object, code: number, pointer?: string, query?: string])[] = [
    ['no module', {}, 10021, '/main_module'],
    ['an unknown member', { ...code(), keep_bindings: [] }, 10021, '/keep_bindings'],
    ['a main module that is none', { ...code(), main_module: 'x.js' }, 10021, '/main_module'],
    ['a module without content', { modules: [{ name: 'a', content_type: ESM }] }, 10021, '/modules/0/content_base64'],
    [
      'content that is no base64',
      { modules: [{ ...module(''), content_base64: 'a' }] },
      10021,
      '/modules/0/content_base64',
    ],
    ['an unknown content type', { modules: [module('', 'a', 'text/html')] }, 10021, '/modules/0/content_type'],
    ['a module outside', { ...code(), modules: [module(PLAIN, '../a.js')] }, 10021, '/modules/0'],
    // The code could not be read afterwards: no header can say half a character.
    [
      'half a character in a name',
      { main_module: '\ud800.js', modules: [module(PLAIN, '\ud800.js')] },
      10021,
      '/modules/0',
    ],
    ['a module twice', { ...code(), modules: [module(PLAIN), module(PLAIN)] }, 10021, '/modules/1'],
    ['wrong syntax', code('export'), 10021, '/modules/0'],
    ['a binding without a name', { ...code(), bindings: [{ type: 'ai' }] }, 10052, '/bindings/0/name'],
    ['nothing to inherit', { ...code(), bindings: [{ name: 'A', type: 'inherit' }] }, 10057, '/bindings/0'],
    [
      'a migration without a deployment',
      { ...code(ROOM), migrations: { new_tag: 'v1', new_sqlite_classes: ['Room'] } },
      10211,
      '/migrations',
    ],
    ['a class that a migration is still to make', { ...code(ROOM), bindings: [room] }, 10123, '/bindings/0/class_name'],
    ['a class of exports alone', { ...code(ROOM), exports, bindings: [room] }, 100406, '/bindings/0/class_name'],
    ['exports that the code lacks', { ...code(), exports }, 100402, '/exports/Room', '?deploy=true'],
    ['a token that is none', { assets: { jwt: 'none' } }, 10021, '/assets/jwt'],
  ]
  for (const [what, body, code, pointer, query = ''] of REFUSED)
    t.same(first(await api.call('POST', `${WORKERS}/app/versions${query}`, body)), [400, code, pointer], what)
  t.same(first(await api.call('POST', `${WORKERS}/none/versions`, code())), [404, 10007, undefined])
  t.same([...api.store.records()].length, before, 'nothing was stored')
})

t.test('every way to write a Worker reports members without effect', async (t) => {
  const api = await uploader(t)
  const pointers = ({ body }: TestResponse): unknown[] =>
    (body.messages as { code: number; source?: { pointer: string } }[])
      .filter(({ code }) => code === 10900)
      .map(({ source }) => source?.pointer)
  const observability = { enabled: true, traces: { enabled: true } }
  const traces = ['/observability/traces']
  const exports = { default: { type: 'worker', cache: { enabled: true } } }
  const bindings = [{ name: 'S', type: 'service', service: 'app', environment: 'staging' }]
  const made = await api.call('POST', WORKERS, { name: 'app', observability })
  t.same(pointers(made), traces)
  t.same(pointers(await api.call('PATCH', `${WORKERS}/app`, { observability })), traces)
  t.same(pointers(await api.call('PATCH', `${WORKERS}/app`, { tags: [] })), [])
  const version = { ...code(), bindings, exports }
  t.same(pointers(await api.call('POST', `${WORKERS}/app/versions`, version)), [
    '/bindings/0/environment',
    '/exports/default/cache',
  ])
  const env = { 'a/b': { type: 'service', service: 'app', environment: 'staging' }, AI: { type: 'ai' }, S: null }
  t.same(pointers(await api.call('PATCH', `${WORKERS}/app/versions/latest`, { env })), [
    '/env/a~1b/environment',
    '/env/AI',
  ])
  t.same(pointers(await api.upload('app', { observability, bindings })), [
    '/observability/traces',
    '/bindings/0/environment',
  ])
  t.same(pointers(await api.call('PATCH', `${SCRIPTS}/app/script-settings`, { observability })), traces)
})
