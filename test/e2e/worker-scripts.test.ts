import t from 'tap'
import Cloudflare, { toFile } from 'cloudflare'
import { all } from '../helpers/all.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE } from './daemon.js'
import { uploadFiles } from './worker-client.js'
import { testFolder } from '../helpers/folder.js'

const ESM = 'application/javascript+module'
const CODE = 'export default { fetch() { return new Response("hi") } }\n'
const inAccount = { account_id: ACCOUNT }
const ofApp = { ...inAccount, script_name: 'app' }

const file = async (text: string, name = 'worker.js', type = ESM) => await toFile(Buffer.from(text), name, { type })

/** The deployment in force: the client looks for lists in another member than the API, and the official one, has them in. */
async function inForce(scripts: Cloudflare['workers']['scripts']): Promise<unknown> {
  const { result } = await scripts.deployments.list('app', inAccount)
  return (result as { deployments?: unknown[] } | undefined)?.deployments?.[0]
}

async function namesOf(scripts: Cloudflare['workers']['scripts']): Promise<string[]> {
  return (await all(scripts.list(inAccount))).map(({ id = '' }) => id).sort((a, b) => (a < b ? -1 : 1))
}

t.test('the official client drives Worker scripts', { skip: unbuilt, timeout: 240_000 }, async (t) => {
  const folder = testFolder(t)
  const config = configuration('http://127.0.0.1:9')
  const daemon = await startDaemon(t, config, folder)
  const cf = new Cloudflare({ apiToken: TOKEN, baseURL: daemon.control, maxRetries: 0 })
  const { scripts, domains, routes } = cf.workers
  let second = ''

  await t.test('uploads in both of its forms, lists and reads', async (t) => {
    const app = await scripts.update('app', {
      ...inAccount,
      metadata: {
        main_module: 'worker.js',
        compatibility_date: '2026-11-01',
        bindings: [
          { type: 'plain_text', name: 'VAR', text: '1' },
          { type: 'secret_text', name: 'HUSH', text: 'open sesame' },
          { type: 'ratelimit', name: 'RATE', namespace_id: '1', simple: { limit: 10, period: 60 } },
        ],
        observability: { enabled: true, head_sampling_rate: 0.25 },
        tags: ['a', 'b'],
      },
      files: [await file(CODE), await file('a text', 'a.txt', 'text/plain')],
    })
    t.match(app, { id: 'app', handlers: ['fetch'], tags: ['a', 'b'], entry_point: 'worker.js', has_modules: true })
    const other = await scripts.update('other', {
      ...inAccount,
      metadata: JSON.stringify({ main_module: 'worker.js' }) as never,
      'worker.js': await file(CODE),
    } as never)
    t.match(other, { id: 'other', etag: /^[0-9a-f]{64}$/ })
    t.match(await all(scripts.list({ ...inAccount, tags: 'a:yes' })), [{ id: 'app', observability: { enabled: true } }])
    t.same(await namesOf(scripts), ['app', 'other'])
    t.match(await scripts.get('app', inAccount), /a text/)
    t.match(await scripts.search({ ...inAccount, name: 'oth' }), [{ script_name: 'other' }])
  })

  await t.test('replaces code alone, and reads it', async (t) => {
    const next = 'export default { fetch() {}, queue() {} }\n'
    const updated = await scripts.content.update('app', {
      ...inAccount,
      metadata: { main_module: 'next.js' },
      files: [await file(next, 'next.js')],
    })
    t.match(updated, { id: 'app', handlers: ['fetch', 'queue'], tags: ['a', 'b'] })
    const read = await scripts.content.get('app', inAccount)
    t.equal(read.headers.get('cf-entrypoint'), 'next.js')
    const part = (await read.formData()).get('next.js')
    t.equal(part instanceof File ? await part.text() : part, next)
  })

  await t.test('changes settings of the script and of its version', async (t) => {
    const both = await scripts.scriptAndVersionSettings.edit('app', {
      ...inAccount,
      settings: { compatibility_date: '2026-11-20', logpush: true, limits: { cpu_ms: 50 } },
    })
    t.match(both, { compatibility_date: '2026-11-20', logpush: true, limits: { cpu_ms: 50 } })
    t.match(await scripts.scriptAndVersionSettings.get('app', inAccount), {
      bindings: [{ name: 'VAR', text: '1' }, { name: 'HUSH', type: 'secret_text' }, { name: 'RATE' }],
      limits: { cpu_ms: 50 },
    })
    t.match(await scripts.settings.edit('app', { ...inAccount, tags: ['c'], tail_consumers: [{ service: 'other' }] }), {
      tags: ['c'],
      tail_consumers: [{ service: 'other' }],
    })
    t.match(await scripts.settings.get('app', inAccount), { logpush: true, tags: ['c'] })
  })

  await t.test('stores secrets that are never returned', async (t) => {
    const secret = { name: 'KEY', type: 'secret_text', text: 'hush hush' } as const
    t.same(await scripts.secrets.update('app', { ...inAccount, ...secret }), { name: 'KEY', type: 'secret_text' })
    const secrets = { A: { name: 'A', type: 'secret_text', text: '1' }, KEY: null } as const
    const options = { headers: { 'content-type': 'application/merge-patch+json' } }
    t.match(await scripts.secrets.bulkUpdate('app', { ...inAccount, secrets }, options), { A: { type: 'secret_text' } })
    t.same(await all(scripts.secrets.list('app', inAccount)), [
      { name: 'HUSH', type: 'secret_text' },
      { name: 'A', type: 'secret_text' },
    ])
    await scripts.secrets.delete('A', ofApp)
    await t.rejects(scripts.secrets.get('A', ofApp), { status: 404, errors: [{ code: 10056 }] })
  })

  await t.test('uploads a version, deploys it to a share of requests, then to all', async (t) => {
    const made = await scripts.versions.create('app', {
      ...inAccount,
      metadata: { main_module: 'worker.js', bindings: [{ type: 'inherit', name: 'HUSH' }] as never },
      files: [await file('export default { fetch() {}, scheduled() {} }\n')],
      bindings_inherit: 'strict',
    })
    second = made.id!
    t.match(made, { resources: { bindings: [{ name: 'HUSH' }], script: { handlers: ['fetch', 'scheduled'] } } })
    t.match(await scripts.versions.get(second, ofApp), { id: second, number: made.number })
    const [, before] = await all(scripts.versions.list('app', { ...inAccount, per_page: 2 }))
    const share = { ...inAccount, strategy: 'percentage' as const }
    const versions = [
      { version_id: before!.id!, percentage: 90 },
      { version_id: second, percentage: 10 },
    ]
    t.match(await scripts.deployments.create('app', { ...share, versions }), { versions })
    await scripts.deployments.create('app', { ...share, versions: [{ version_id: second, percentage: 100 }] })
    t.match(await inForce(scripts), { versions: [{ version_id: second }] })
    await t.rejects(
      scripts.versions.create('app', {
        ...inAccount,
        metadata: { main_module: 'worker.js', migrations: { new_tag: 'v1' } } as never,
        files: [await file(CODE)],
      }),
      { status: 400, errors: [{ code: 10211 }] },
    )
  })

  await t.test('reaches scripts by domains, routes, subdomains and at times', async (t) => {
    const domain = await domains.update({ ...inAccount, hostname: 'app.example.test', service: 'app' })
    t.match(await all(domains.list({ ...inAccount, service: 'app' })), [{ id: domain.id, zone_id: ZONE }])
    t.match(await domains.get(domain.id, inAccount), { hostname: 'app.example.test' })
    const route = await routes.create({ zone_id: ZONE, pattern: 'example.test/app/*', script: 'app' })
    t.match(await all(routes.list({ zone_id: ZONE })), [{ id: route.id, script: 'app' }])
    t.match(await scripts.subdomain.create('app', { ...inAccount, enabled: true }), { enabled: true })
    t.match(await scripts.schedules.update('app', { ...inAccount, body: [{ cron: '*/5 * * * *' }] }), {
      schedules: [{ cron: '*/5 * * * *' }],
    })
    const tail = await scripts.tail.create('app', inAccount)
    t.match(tail, { id: String, url: /^ws:\/\// })
    await scripts.tail.delete(tail.id, ofApp)
  })

  await t.test('uploads static assets ahead of their script', async (t) => {
    const page = Buffer.from('<h1>site</h1>')
    const { jwt } = await uploadFiles(daemon, 'site', new Map([['/index.html', page]]))
    const site = await scripts.update('site', { ...inAccount, metadata: { assets: { jwt } } })
    t.match(site, { id: 'site', has_assets: true, has_modules: false })
  })

  await t.test('makes a Worker ahead of its code, and versions of it', async (t) => {
    const { workers } = cf.workers.beta
    const { id } = await workers.create({ ...inAccount, name: 'beta', tags: ['x'] })
    const module = { name: 'index.js', content_type: ESM, content_base64: Buffer.from(CODE).toString('base64') }
    const code = { main_module: 'index.js', modules: [module] }
    const made = await workers.versions.create(id, { ...inAccount, deploy: true, ...code })
    t.match(await workers.get('beta', inAccount), { id, deployed_on: String, tags: ['x'] })
    const read = await workers.versions.get(made.id, { ...inAccount, worker_id: id, include: 'modules' })
    t.same(read.modules, [module])
    await workers.delete('beta', inAccount)
  })

  await t.test('finds all of it again after a restart, and deletes it', async (t) => {
    daemon.signal('SIGTERM')
    t.equal(await daemon.ended, 0)
    const again = await startDaemon(t, config, folder)
    const { workers } = new Cloudflare({ apiToken: TOKEN, baseURL: again.control, maxRetries: 0 })
    t.same(await namesOf(workers.scripts), ['app', 'other', 'site'])
    t.match(await inForce(workers.scripts), { versions: [{ version_id: second, percentage: 100 }] })
    await t.rejects(workers.scripts.delete('other', inAccount), { status: 409, errors: [{ code: 20445 }] })
    await workers.scripts.delete('other', { ...inAccount, force: true })
    await workers.scripts.delete('app', inAccount)
    t.same(await all(workers.domains.list(inAccount)), [])
    await t.rejects(workers.scripts.get('app', inAccount), { status: 404, errors: [{ code: 10007 }] })
  })
})
