import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import t, { type Test } from 'tap'
import { convert } from '../../pipelines/markdown/index.js'
import { testFolder } from '../helpers/folder.js'
import { ask } from '../helpers/web.js'
import { NO_WRANGLER, wranglerFor, type Ran } from '../helpers/wrangler.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'
import { call } from './worker-client.js'

const SITE_FILES = 2000
const DATE = '2026-04-01'

/** A folder for wrangler, with the files of projects in it. */
async function projects(t: Test, files: Readonly<Record<string, string>>): Promise<string> {
  const folder = testFolder(t, { home: {} })
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true })
    await writeFile(join(folder, path), content)
  }
  return folder
}

const HELLO = `export default { fetch(request, env) { return new Response('hello ' + env.GREETING) } }`
const SHOP = `import { DurableObject } from 'cloudflare:workers'
export class Counter extends DurableObject { fetch() { return new Response('1') } }
export default { fetch(request, env) { return env.ASSETS.fetch(request) }, scheduled() {} }`

const json = (config: object): string => JSON.stringify({ compatibility_date: DATE, ...config })

const shop = (more: object): string =>
  json({
    name: 'shop',
    main: 'index.js',
    workers_dev: false,
    assets: { directory: 'public', binding: 'ASSETS', not_found_handling: '404-page' },
    triggers: { crons: ['*/5 * * * *'] },
    ...more,
  })
const COUNTER = { bindings: [{ name: 'COUNTER', class_name: 'Counter' }] }
const TALLY = { bindings: [{ name: 'COUNTER', class_name: 'Tally' }] }
const FIRST = { tag: 'v1', new_sqlite_classes: ['Counter'] }
const SECOND = { tag: 'v2', renamed_classes: [{ from: 'Counter', to: 'Tally' }], new_sqlite_classes: ['Log'] }

/** The page that a project of files alone has at a number. */
const page = (i: number): string =>
  `<!doctype html><title>Page ${i}</title><h1>Page ${i}</h1><p>It is number <b>${i}</b>.</p>`

type Version = {
  id: string
  number: number
  annotations: Record<string, string>
  metadata: { source: string }
  resources: { bindings: object[]; script: { handlers: string[] } }
}
type Deployment = { annotations: Record<string, string>; versions: { version_id: string; percentage: number }[] }

/** What the API tells of a script. */
function reader(daemon: Daemon, script: string) {
  const read = async <T>(path: string) => (await call<T>(daemon, 'GET', path)).result
  return {
    read,
    version: async (which: string) => await read<Version>(`/scripts/${script}/versions/${which}`),
    deployments: async () => (await read<{ deployments: Deployment[] }>(`/scripts/${script}/deployments`)).deployments,
    code: async () => {
      const headers = { authorization: `Bearer ${TOKEN}` }
      const url = `${daemon.control}/accounts/${ACCOUNT}/workers/scripts/${script}/content/v2`
      return await (await fetch(url, { headers })).text()
    },
  }
}

const NO_VERSION = '00000000-0000-4000-8000-000000000000'

/** A list of the account. */
async function listOf<T>({ control }: Daemon, path: string): Promise<T[]> {
  const headers = { authorization: `Bearer ${TOKEN}` }
  const response = await fetch(`${control}/accounts/${ACCOUNT}${path}`, { headers })
  return ((await response.json()) as { result: T[] }).result
}

/** The version that a command says it made. */
const versionIn = ({ out }: Ran): string => /Version ID: ([0-9a-f-]{36})/.exec(out)?.[1] ?? 'none'

t.test('wrangler 4.86.0', { skip: unbuilt || NO_WRANGLER, timeout: 600_000 }, async (t) => {
  const daemon = await startDaemon(
    t,
    configuration('http://127.0.0.1:9', {
      zones: [
        {
          id: ZONE,
          account: ACCOUNT,
          name: 'example.test',
          origin: 'http://127.0.0.1:9',
          settings: { content_converter: 'on' },
        },
      ],
    }),
  )
  const port = Number(new URL(daemon.proxy).port)
  const run = async (t: Test, files: Readonly<Record<string, string>>) => {
    const folder = await projects(t, files)
    const wrangler = wranglerFor(t, folder, { api: daemon.control, token: TOKEN, account: ACCOUNT })
    const well = async (command: string, input = ''): Promise<Ran> => {
      const ran = await wrangler('project', command.split(' '), { input })
      t.equal(ran.code, 0, `wrangler ${command}`)
      if (ran.code !== 0) t.comment(ran.out + ran.errors)
      return ran
    }
    return { folder, well, wrangler }
  }
  const visit = async (host: string, path: string, accept = 'text/html') =>
    await ask(port, path, { accept, headers: { host, 'accept-encoding': 'identity' } })

  await t.test('a Worker with variables and secrets, from its first deployment to its end', async (t) => {
    const config = json({ name: 'hello', main: 'index.js', vars: { GREETING: 'you', LIMITS: { a: [1] } } })
    const { well, wrangler, folder } = await run(t, { 'project/wrangler.json': config, 'project/index.js': HELLO })
    const { read, version, deployments, code } = reader(daemon, 'hello')
    t.match((await well('whoami')).out, /API Token[^]*Example +│ 023e105f4ecef8ad9ca31a8372d0c353/)

    await call(daemon, 'PUT', '/subdomain', { subdomain: 'mine' })
    const first = versionIn(await well('deploy'))
    t.match(await version(first), {
      number: 1,
      metadata: { source: 'wrangler' },
      resources: {
        bindings: [
          { name: 'GREETING', type: 'plain_text', text: 'you' },
          { name: 'LIMITS', type: 'json', json: { a: [1] } },
        ],
        script: { handlers: ['fetch'] },
      },
    })
    t.match(await deployments(), [{ versions: [{ version_id: first, percentage: 100 }] }])
    t.match(await code(), /hello /)
    t.same(await read('/scripts/hello/subdomain'), { enabled: true, previews_enabled: true })

    await well('secret put KEY', 'open sesame')
    await writeFile(join(folder, 'project/secrets.json'), '{"MORE":"one","MOST":"two"}')
    await well('secret bulk secrets.json')
    const secrets = ['KEY', 'MORE', 'MOST'].map((name) => ({ name, type: 'secret_text' }))
    t.same(await read('/scripts/hello/secrets'), secrets)

    await writeFile(join(folder, 'project/index.js'), HELLO.replace('hello', 'goodbye'))
    const second = versionIn(await well('deploy --message again --tag v4'))
    t.match(await version(second), { number: 4, annotations: { 'workers/message': 'again', 'workers/tag': 'v4' } })
    t.match(await code(), /goodbye/)
    t.same(await read('/scripts/hello/secrets'), secrets, 'secrets stay')

    await writeFile(join(folder, 'project/index.js'), HELLO.replace('hello', 'third'))
    const third = versionIn(await well('versions upload --message kept'))
    t.match(await version(third), { number: 5, annotations: { 'workers/message': 'kept' } })
    t.match((await deployments())[0], { versions: [{ version_id: second }] }, 'an upload is not deployed')
    t.match(await code(), /goodbye/)

    await well(`versions deploy ${third}@25 ${second}@75 -y --message part`)
    const [now] = await deployments()
    t.match(now, { annotations: { 'workers/message': 'part' } })
    t.same(now?.versions, [
      { version_id: third, percentage: 25 },
      { version_id: second, percentage: 75 },
    ])

    await well('rollback -y --message back')
    t.match((await deployments())[0], {
      annotations: { 'workers/message': 'back' },
      versions: [{ version_id: second, percentage: 100 }],
    })

    const tail = await wrangler('project', ['tail', '--format', 'pretty'], { until: /waiting for logs/ })
    t.match(tail, { out: /Connected to hello, waiting for logs/, errors: '' })

    const listed = JSON.parse((await well('deployments list --json')).out) as Deployment[]
    t.same(listed, (await deployments()).toReversed())

    t.match((await well('delete --force')).out, /deleted hello/)
    t.equal((await call(daemon, 'GET', '/scripts/hello/settings')).status, 404)
  })

  await t.test('a Worker with assets, Durable Objects, a custom domain, routes and a schedule', async (t) => {
    const domain = { pattern: 'shop.example.test', custom_domain: true }
    const route = { pattern: 'example.test/shop/*', zone_name: 'example.test' }
    const { well, folder } = await run(t, {
      'project/wrangler.json': shop({ durable_objects: COUNTER, migrations: [FIRST], routes: [domain, route] }),
      'project/index.js': SHOP,
      'project/public/index.html': '<h1>Shop</h1>',
      'project/public/404.html': '<h1>Nothing</h1>',
      'project/public/shop/list.html': '<h1>List</h1>',
      'project/public/_redirects': '/old /shop/list 301\n',
      'project/public/_headers': '/*\n  X-Shop: open\n',
    })
    const { read, version } = reader(daemon, 'shop')
    const zoned = async (path: string) => {
      const headers = { authorization: `Bearer ${TOKEN}` }
      return (
        (await (await fetch(`${daemon.control}/zones/${ZONE}${path}`, { headers })).json()) as { result: unknown }
      ).result
    }

    const first = versionIn(await well('deploy'))
    t.match((await version(first)).resources.bindings, [
      { name: 'COUNTER', type: 'durable_object_namespace', class_name: 'Counter' },
      { name: 'ASSETS', type: 'assets' },
    ])
    t.match(await read('/scripts/shop/settings'), { migration_tag: 'v1' })
    t.match(await read('/durable_objects/namespaces'), [{ script: 'shop', class: 'Counter', use_sqlite: true }])
    t.match(await read('/domains'), [
      { hostname: 'shop.example.test', service: 'shop', zone_id: ZONE, zone_name: 'example.test', enabled: true },
    ])
    t.match(await zoned('/workers/routes'), [{ pattern: 'example.test/shop/*', script: 'shop' }])
    t.match(await read('/scripts/shop/schedules'), { schedules: [{ cron: '*/5 * * * *' }] })
    t.same(await read('/scripts/shop/subdomain'), { enabled: false, previews_enabled: false })

    const home = await visit('shop.example.test', '/')
    t.match(
      { ...home, body: home.body.toString() },
      { status: 200, headers: { 'x-shop': 'open' }, body: '<h1>Shop</h1>' },
    )
    t.match(await visit('shop.example.test', '/old'), { status: 301, headers: { location: '/shop/list' } })
    t.equal((await visit('example.test', '/shop/list')).body.toString(), '<h1>List</h1>', 'by the route')

    const namespaces = await read<{ id: string }[]>('/durable_objects/namespaces')
    await writeFile(
      join(folder, 'project/wrangler.json'),
      shop({ durable_objects: TALLY, migrations: [FIRST, SECOND], routes: [domain] }),
    )
    await writeFile(
      join(folder, 'project/index.js'),
      `${SHOP.replaceAll('Counter', 'Tally')}\nexport class Log extends DurableObject {}`,
    )
    await well('deploy')
    t.match(await read('/scripts/shop/settings'), { migration_tag: 'v2' })
    const after = await read<{ id: string; class: string }[]>('/durable_objects/namespaces')
    t.same(after.map((one) => one.class).sort(), ['Log', 'Tally'])
    t.equal(
      after.find((one) => one.class === 'Tally')?.id,
      namespaces[0]?.id,
      'a class that is renamed keeps its objects',
    )
    t.match(await read('/domains'), [{ hostname: 'shop.example.test' }])

    await well('delete --force')
    t.same(await read('/domains'), [])
    t.same(await zoned('/workers/routes'), [])
    t.same(await read('/durable_objects/namespaces'), [])
    t.equal((await call(daemon, 'GET', '/scripts/shop/settings')).status, 404)
  })

  await t.test(`a site of ${SITE_FILES} files and no code`, async (t) => {
    const at = Array.from({ length: SITE_FILES }, (_, i) => `pages/${i % 20}/${i}.html`)
    const routes = [{ pattern: 'www.example.test', custom_domain: true }]
    const { well, folder } = await run(t, {
      'project/wrangler.json': json({ name: 'site', workers_dev: false, assets: { directory: 'public' }, routes }),
      ...Object.fromEntries(at.map((path, i) => [`project/public/${path}`, page(i)])),
    })
    const { read } = reader(daemon, 'site')
    t.match((await well('deploy')).out, new RegExp(`Uploaded ${SITE_FILES} files`))
    t.match(await read('/services/site'), {
      default_environment: { script: { has_assets: true, has_modules: false, handlers: [] } },
    })

    let wrong = 0
    for (const [i, path] of at.entries()) {
      const { status, headers, body } = await visit('www.example.test', `/${path.replace('.html', '')}`)
      if (status !== 200 || body.toString() !== page(i) || headers['content-type'] !== 'text/html; charset=utf-8')
        wrong++
    }
    t.equal(wrong, 0, 'all of them are served as they were')
    for (const i of [0, 1999]) {
      const { headers, body } = await visit('www.example.test', `/pages/${i % 20}/${i}`, 'text/markdown')
      t.equal(headers['content-type'], 'text/markdown; charset=utf-8')
      t.equal(body.toString(), convert(page(i)))
    }

    await writeFile(join(folder, 'project/public/pages/0/0.html'), '<h1>Changed</h1>')
    t.match((await well('deploy')).out, /Uploaded 1 file /, 'only what has changed is sent')
    t.equal((await visit('www.example.test', '/pages/0/0')).body.toString(), '<h1>Changed</h1>')
    t.equal((await visit('www.example.test', '/pages/1/1')).body.toString(), page(1))
    t.notOk((await readdir(folder)).includes('.config'), 'all that wrangler writes is in the folder that it was given')
  })

  await t.test('the example of the documentation', async (t) => {
    const page = await readFile(new URL('../../docs/workers.md', import.meta.url), 'utf8')
    const [, html = ''] = /^echo '(.*)' > public\/index\.html$/m.exec(page) ?? []
    const [, config = ''] = /^cat > wrangler\.json <<'JSON'\n(.*?)^JSON$/ms.exec(page) ?? []
    const { well } = await run(t, { 'project/wrangler.json': config, 'project/public/index.html': `${html}\n` })
    await well('deploy')
    t.equal((await visit('site.example.test', '/')).body.toString(), `${html}\n`)
    t.equal((await visit('site.example.test', '/', 'text/markdown')).body.toString(), convert(html))
  })

  await t.test('secrets and versions, one command after the other', async (t) => {
    const config = json({ name: 'parts', main: 'index.js', workers_dev: false, triggers: { crons: ['*/7 * * * *'] } })
    const { well, wrangler } = await run(t, { 'project/wrangler.json': config, 'project/index.js': SHOP })
    const { read, deployments } = reader(daemon, 'parts')
    const first = versionIn(await well('deploy'))
    await well('secret put NOW', 'one')
    t.same(JSON.parse((await well('secret list')).out), [{ name: 'NOW', type: 'secret_text' }])
    await well('versions secret put LATER', 'two')
    t.match((await well('versions secret list --latest-version')).out, /Secret Name: LATER/)
    t.notMatch((await well('versions secret list')).out, /LATER/, 'what is deployed has only the first')
    t.match(JSON.parse((await well('versions list --json')).out), [{ number: 1 }, { number: 2 }, { number: 3 }])
    t.match((await well(`versions view ${first}`)).out, /Handlers: +fetch/)
    t.match(JSON.parse((await well('deployments status --json')).out), (await deployments())[0])
    await call(daemon, 'PUT', '/scripts/parts/schedules', [])
    await well('triggers deploy')
    t.match(await read('/scripts/parts/schedules'), { schedules: [{ cron: '*/7 * * * *' }] })
    t.match(await wrangler('project', ['versions', 'view', NO_VERSION]), { code: 1, errors: /code: 10222/ })
    await well('delete --force')
  })

  await t.test('databases and stores of secrets', async (t) => {
    const { well } = await run(t, { 'project/wrangler.json': json({ name: 'none' }) })
    await well('hyperdrive create main --connection-string postgres://u:hush@db.example.com:5432/shop')
    const hyperdrive = await listOf<{ id: string; name: string }>(daemon, '/hyperdrive/configs')
    t.match(hyperdrive, [{ name: 'main', origin: { host: 'db.example.com', port: 5432 } }])
    await well(`hyperdrive update ${hyperdrive[0]!.id} --name other`)
    t.match(await listOf(daemon, '/hyperdrive/configs'), [{ name: 'other' }])
    await well(`hyperdrive delete ${hyperdrive[0]!.id}`)

    await well('secrets-store store create main --remote')
    const [store] = await listOf<{ id: string }>(daemon, '/secrets_store/stores')
    const secret = `secrets-store secret`
    await well(`${secret} create ${store!.id} --name A --value one --scopes workers --remote`)
    const path = `/secrets_store/stores/${store!.id}/secrets`
    const [a] = await listOf<{ id: string }>(daemon, path)
    await well(`${secret} update ${store!.id} --secret-id ${a!.id} --value two --scopes workers --remote`)
    await well(`${secret} duplicate ${store!.id} --secret-id ${a!.id} --name B --scopes workers --remote`)
    t.same((await listOf<{ name: string }>(daemon, path)).map(({ name }) => name).sort(), ['A', 'B'])
  })

  await t.test('errors of the API are shown with their code', async (t) => {
    const routes = [{ pattern: 'elsewhere.test', custom_domain: true }]
    const { wrangler } = await run(t, {
      'objects/wrangler.json': json({
        name: 'objects',
        main: 'index.js',
        workers_dev: false,
        durable_objects: COUNTER,
      }),
      'objects/index.js': SHOP,
      'elsewhere/wrangler.json': json({ name: 'elsewhere', main: 'index.js', workers_dev: false, routes }),
      'elsewhere/index.js': HELLO,
    })
    const objects = await wrangler('objects', ['deploy'])
    t.equal(objects.code, 1)
    t.match(objects.errors, /code: 10061/, 'a class that no migration has made')
    t.equal((await call(daemon, 'GET', '/scripts/objects/settings')).status, 404, 'and nothing is kept')

    const elsewhere = await wrangler('elsewhere', ['deploy'])
    t.equal(elsewhere.code, 1)
    t.match(elsewhere.errors, /elsewhere\.test/, 'a domain of no zone')
    t.same((await call(daemon, 'GET', '/domains?hostname=elsewhere.test')).result, [])
  })
})
