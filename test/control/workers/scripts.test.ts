import t from 'tap'
import { WORKER_NAMESPACES, WORKER_SCRIPTS, WORKER_VERSIONS } from '../../../src/core/model/worker.js'
import { WORKER_DOMAINS, WORKER_ROUTES } from '../../../src/core/model/worker-routing.js'
import { account } from '../../../src/core/scope.js'
import { all } from '../../helpers/all.js'
import { ACCOUNT, ADMIN, ZONE } from '../client.js'
import { workersClient } from './helper.js'

const WORKERS = `/accounts/${ACCOUNT}/workers`
const SCRIPT = `${WORKERS}/scripts/app`
const inAccount = { account_id: ACCOUNT }
const ofApp = { ...inAccount, script_name: 'app' }

t.test('parameters without effect are ignored and named', async (t) => {
  const { url } = await workersClient(t)
  const list = async (query: string) =>
    await fetch(`${url}${WORKERS}/scripts?${query}`, { headers: { authorization: `Bearer ${ADMIN}` } })
  const listed = await list('order=id&env=production')
  t.equal(listed.status, 200)
  const messages = ['/order', '/env'].map((pointer) => ({ code: 10904, source: { pointer } }))
  t.match(await listed.json(), { messages })
})

t.test('the official client lists, searches, reads and deletes scripts', async (t) => {
  const { cf, url, script, store } = await workersClient(t)
  await script('app')
  await script('other')
  const { scripts, domains, routes } = cf.workers
  t.match(await all(scripts.list(inAccount)), [
    { id: 'app', handlers: ['fetch'], has_modules: true, has_assets: false },
    { id: 'other', etag: /^e+$/ },
  ])
  t.match(await all(scripts.list({ ...inAccount, tags: 'x:no' })), [{}, {}])
  t.match(await scripts.search({ ...inAccount, name: 'oth' }), [{ script_name: 'other' }])
  t.match(await scripts.get('app', inAccount), /^--[0-9a-f]{64}\r\n[^]*fetch\(\)[^]*--\r\n$/)
  const read = await fetch(`${url}${SCRIPT}/content/v2`, { headers: { authorization: `Bearer ${ADMIN}` } })
  t.equal(read.headers.get('cf-entrypoint'), 'index.js')
  t.match((await read.formData()).get('index.js'), { name: 'index.js' })
  await domains.update({ ...inAccount, hostname: 'a.example.test', service: 'app' })
  await routes.create({ zone_id: ZONE, pattern: 'example.test/*', script: 'app' })
  await scripts.delete('app', inAccount)
  await t.rejects(scripts.get('app', inAccount), { status: 404, errors: [{ code: 10007 }] })
  t.same([store.count(WORKER_SCRIPTS), store.count(WORKER_VERSIONS)], [1, 1])
  t.same([store.count(WORKER_DOMAINS), store.count(WORKER_ROUTES)], [0, 0], 'it is reached nowhere any more')
})

t.test('a script that others use is deleted by force alone', async (t) => {
  const { call, script, store } = await workersClient(t)
  await script('app')
  const namespace = { id: 'a'.repeat(32), script: 'app', class: 'Counter', use_sqlite: true }
  await store.batch([{ kind: WORKER_NAMESPACES, scope: account(ACCOUNT), id: namespace.id, value: namespace }])
  await script('caller', {
    bindings: [
      { name: 'APP', type: 'service', service: 'app' },
      { name: 'DO', type: 'durable_object_namespace', script_name: 'app', class_name: 'Counter' },
    ],
  })
  t.match((await call('GET', `${SCRIPT}/references`)).body.result, {
    services: { incoming: [{ service: 'caller' }] },
    durable_objects: [{ service: 'caller', durable_object_namespace_id: namespace.id }],
  })
  t.match((await call('GET', `${WORKERS}/workers/app`)).body.result.references, {
    workers: [{ name: 'caller' }],
    durable_objects: [{ worker_name: 'caller', namespace_id: namespace.id }],
  })
  t.match((await call('GET', `${WORKERS}/durable_objects/namespaces?per_page=1000`)).body.result, [
    { id: namespace.id, name: 'app_Counter', script: 'app', class: 'Counter', use_sqlite: true },
  ])
  const objects = `${WORKERS}/durable_objects/namespaces/${namespace.id}/objects`
  t.match(await call('GET', objects), { status: 200, body: { result: [], result_info: { count: 0, cursors: {} } } })
  t.match(await call('GET', `${WORKERS}/durable_objects/namespaces/none/objects`), { status: 404 })
  t.match(await call('DELETE', `${WORKERS}/services/app?force=false`), {
    status: 409,
    body: { errors: [{ code: 20445 }] },
  })
  t.equal((await call('DELETE', `${WORKERS}/services/app?force=true`)).status, 200)
  t.equal(store.count(WORKER_NAMESPACES), 0)
  t.match(await call('DELETE', `${WORKERS}/services/app`), { status: 404, body: { errors: [{ code: 10090 }] } })
})

t.test('services and Workers describe the script', async (t) => {
  const { cf, call, script } = await workersClient(t)
  t.match(await call('GET', `${WORKERS}/services/app`), { status: 404, body: { errors: [{ code: 10090 }] } })
  await script('app')
  t.match((await call('GET', `${WORKERS}/services/app`)).body.result, {
    id: 'app',
    default_environment: {
      environment: 'production',
      script: { tag: /^[0-9a-f]{32}$/, etag: /^e+$/, handlers: ['fetch'] },
    },
  })
  t.equal((await call('GET', `${WORKERS}/services/app/environments/production`)).status, 200)
  t.equal((await call('GET', `${WORKERS}/services/app/environments/staging`)).status, 404)
  const { workers } = cf.workers.beta
  const found = await all(workers.list({ ...inAccount, per_page: 1 }))
  t.match(found, [{ name: 'app', subdomain: { enabled: false } }])
  t.match(await workers.get(found[0]!.id, inAccount), { name: 'app' })
  t.match(await workers.get('app', inAccount), { id: found[0]!.id })
})

t.test('versions are listed page by page, and deployed with shares that make 100', async (t) => {
  const { cf, call, script } = await workersClient(t)
  const first = await script('app')
  const second = await script('app', {}, false)
  const { versions, deployments } = cf.workers.scripts
  const listed = await all(versions.list('app', { ...inAccount, per_page: 1 }))
  t.match(listed, [
    { id: second.id, number: 2 },
    { id: first.id, number: 1 },
  ])
  t.match(await versions.get(first.id, ofApp), { number: 1, resources: { script: { handlers: ['fetch'] } } })
  const path = `${SCRIPT}/deployments`
  const shares = [
    { version_id: first.id, percentage: 90 },
    { version_id: second.id, percentage: 10 },
  ]
  const made = await deployments.create('app', { ...inAccount, strategy: 'percentage', versions: shares })
  t.match(made, { strategy: 'percentage', versions: shares, source: 'api' })
  t.match((await call('GET', path)).body.result.deployments, [{ id: made.id }, { versions: [{ percentage: 100 }] }])
  t.match(await deployments.get(made.id, ofApp), { id: made.id })
  const REFUSED: [what: string, versions: unknown, code: number, pointer: string][] = [
    ['too little', [{ version_id: first.id, percentage: 99 }], 20442, '/versions'],
    ['too much', [shares[0], { version_id: second.id, percentage: 11 }], 20442, '/versions'],
    ['nothing', [], 20442, '/versions'],
    ['less than nothing', [{ version_id: first.id, percentage: -1 }], 20442, '/versions/0/percentage'],
    ['no version', [{ version_id: 'none', percentage: 100 }], 10222, '/versions/0/version_id'],
    ['one twice', [shares[0], { ...shares[1], version_id: first.id }], 20442, '/versions/1/version_id'],
  ]
  for (const [what, versions, code, pointer] of REFUSED)
    t.match(
      (await call('POST', path, { strategy: 'percentage', versions })).body,
      { errors: [{ code, source: { pointer } }] },
      what,
    )
  t.match(await call('DELETE', `${path}/${made.id}`), { status: 400 }, 'what is in force stays')
})

t.test('a secret makes a version, and is never returned', async (t) => {
  const { cf, call, script, repository, store } = await workersClient(t)
  await script('app', { bindings: [{ name: 'VAR', type: 'plain_text', text: 'x' }] })
  const { secrets } = cf.workers.scripts
  const hush = { ...inAccount, name: 'HUSH', type: 'secret_text' as const, text: 'open sesame' }
  t.same(await secrets.update('app', hush), { name: 'HUSH', type: 'secret_text' })
  t.same(await all(secrets.list('app', inAccount)), [{ name: 'HUSH', type: 'secret_text' }])
  t.same(await secrets.get('HUSH', ofApp), { name: 'HUSH', type: 'secret_text' })
  const latest = () => {
    const { value } = repository.script(account(ACCOUNT), 'app')!
    return repository.readVersion(account(ACCOUNT), value, 'latest')!
  }
  t.match(repository.openBindings(account(ACCOUNT), latest()), [{ name: 'VAR' }, { name: 'HUSH', text: 'open sesame' }])
  t.notMatch(JSON.stringify([...store.records()]), /open sesame/)
  const bulk = { A: { name: 'A', type: 'secret_text', text: '1' }, HUSH: null }
  const merged = { 'content-type': 'application/merge-patch+json' }
  t.match(await call('PATCH', `${SCRIPT}/secrets-bulk`, { secrets: bulk }, merged), {
    status: 200,
    body: { result: { A: {} } },
  })
  t.equal(latest().number, 3)
  const patch = { env: { B: { type: 'secret_text', text: '2' } }, annotations: { 'workers/message': 'b' } }
  t.match((await call('PATCH', `${WORKERS}/workers/app/versions/latest`, patch, merged)).body.result, {
    number: 4,
    annotations: { 'workers/message': 'b' },
  })
  t.match(await call('PUT', `${SCRIPT}/secrets`, { name: 'C', type: 'secret_text', text: '3' }), {
    status: 400,
    body: { errors: [{ code: 10215 }] },
  })
  await cf.workers.scripts.deployments.create('app', {
    ...inAccount,
    strategy: 'percentage',
    versions: [{ version_id: latest().id, percentage: 100 }],
  })
  await secrets.delete('A', ofApp)
  await t.rejects(secrets.delete('A', ofApp), { status: 404, errors: [{ code: 10056 }] })
  t.match((await call('PUT', `${SCRIPT}/secrets`, { name: 'C', type: 'secret_text' })).body, {
    errors: [{ source: { pointer: '/text' } }],
  })
  const [, oldest] = (await all(cf.workers.scripts.versions.list('app', inAccount))).slice(-2)
  const back = { strategy: 'percentage', versions: [{ version_id: oldest?.id, percentage: 100 }] }
  t.match((await call('POST', `${SCRIPT}/deployments`, back)).body, { errors: [{ code: 10220 }] })
  t.equal((await call('POST', `${SCRIPT}/deployments?force=true`, back)).status, 200)
})

// A member that is not known was stored, and returned in the clear.
t.test('a secret has no members but those of its type', async (t) => {
  const { call, script } = await workersClient(t)
  await script('app', {})
  const secret = { type: 'secret_text', text: 'x', value: 'open sesame' }
  const refused = { status: 400, body: { errors: [{ code: 20443 }] } }
  const one = await call('PUT', `${SCRIPT}/secrets`, { name: 'HUSH', ...secret })
  t.match(one, refused)
  t.match(one.body, { errors: [{ source: { pointer: '/value' } }] })
  const merged = { 'content-type': 'application/merge-patch+json' }
  const several = await call('PATCH', `${SCRIPT}/secrets-bulk`, { secrets: { HUSH: secret } }, merged)
  t.match(several, refused)
  t.match(several.body, { errors: [{ source: { pointer: '/secrets/HUSH/value' } }] })
  t.same((await call('GET', `${SCRIPT}/secrets`)).body.result, [])
})

// wrangler versions secret list --latest-version reads the bindings in the list.
t.test('the list of versions has the names of their secrets', async (t) => {
  const { call, script } = await workersClient(t)
  await script('app', { bindings: [{ name: 'HUSH', type: 'secret_text', text: 'open sesame' }] })
  const { body } = await call('GET', `${SCRIPT}/versions`)
  t.match(body.result.items, [{ number: 1, resources: { bindings: [{ name: 'HUSH', type: 'secret_text' }] } }])
  t.notMatch(JSON.stringify(body), /open sesame/)
})

// Of two older versions, only the first was looked at.
t.test('each version that is deployed again has the secrets of today', async (t) => {
  const { call, script } = await workersClient(t)
  const secret = (text: string) => ({ bindings: [{ name: 'HUSH', type: 'secret_text', text }] })
  const [same, other] = [await script('app', secret('1')), await script('app', secret('2'))]
  await script('app', secret('1'))
  const versions = [same, other].map(({ id }) => ({ version_id: id, percentage: 50 }))
  t.match(await call('POST', `${SCRIPT}/deployments`, { strategy: 'percentage', versions }), {
    status: 400,
    body: { errors: [{ code: 10220, source: { pointer: '/versions/1/version_id' } }] },
  })
})

// A variable, or a namespace, was lost to a secret of its name.
t.test('secrets leave other bindings alone', async (t) => {
  const { call, script, repository } = await workersClient(t)
  await script('app', {
    bindings: [
      { name: 'KV', type: 'kv_namespace', namespace_id: 'n' },
      { name: 'HUSH', type: 'secret_text', text: 'old' },
    ],
  })
  const secret = { type: 'secret_text', text: 'new' }
  t.match(await call('PUT', `${SCRIPT}/secrets`, { name: 'KV', ...secret }), {
    status: 400,
    body: { errors: [{ code: 10053, source: { pointer: '/name' } }] },
  })
  const merged = { 'content-type': 'application/merge-patch+json' }
  t.match(await call('PATCH', `${SCRIPT}/secrets-bulk`, { secrets: { HUSH: secret, KV: secret } }, merged), {
    status: 400,
    body: { errors: [{ code: 10053, source: { pointer: '/secrets/KV/name' } }] },
  })
  t.match(await call('PATCH', `${SCRIPT}/secrets-bulk`, { secrets: { HUSH: secret, KV: null } }, merged), {
    status: 200,
  })
  const { value } = repository.script(account(ACCOUNT), 'app')!
  t.match(repository.openBindings(account(ACCOUNT), repository.readVersion(account(ACCOUNT), value, 'latest')!), [
    { name: 'KV', type: 'kv_namespace' },
    { name: 'HUSH', text: 'new' },
  ])
})

t.test('settings of a script are not those of a version', async (t) => {
  const { cf, call, script } = await workersClient(t)
  await script('app', { compatibility_date: '2026-01-01' })
  const { settings, scriptAndVersionSettings } = cf.workers.scripts
  t.match(await settings.edit('app', { ...inAccount, logpush: true, tags: ['a'], observability: { enabled: true } }), {
    logpush: true,
    tags: ['a'],
    observability: { enabled: true },
  })
  t.match(await settings.edit('app', { ...inAccount, observability: null }), { logpush: true, observability: null })
  t.match(await settings.get('app', inAccount), { tags: ['a'] })
  t.match(await scriptAndVersionSettings.get('app', inAccount), {
    logpush: true,
    bindings: [],
    compatibility_date: '2026-01-01',
  })
  t.match((await call('PATCH', `${SCRIPT}/script-settings`, { logpush: 1 })).body, {
    errors: [{ code: 20444, source: { pointer: '/logpush' } }],
  })
})
