/**
 * What Terraform's provider `cloudflare` asks: each resource is created, read, changed, read and removed. A read has to
 * return what was written, or each plan shows a difference. The provider and this client are generated from the same
 * document.
 */
import { join } from 'node:path'
import Cloudflare, { toFile } from 'cloudflare'
import t, { type Test } from 'tap'
import { readConfig } from '../../src/config/load.js'
import { silentLog } from '../../src/core/log.js'
import { startDaemon } from '../../src/daemon/index.js'
import { all } from '../helpers/all.js'
import { testFolder } from '../helpers/folder.js'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const TOKEN = 'terraform-token-0123456789abcdef01234567'
const configuration = (folder: string) => `data: ./data
logpush: { destinations: { allow_file_under: [${folder}] } }
proxy: { listen: "127.0.0.1:0" }
control: { listen: "127.0.0.1:0", rate_limit: { requests: 0 } }
admin: { listen: "127.0.0.1:0" }
tokens: [{ name: terraform, token: ${TOKEN}, permissions: ["*"], accounts: ["*"], zones: ["*"] }]
accounts: [{ id: ${ACCOUNT}, name: Example }]
zones: [{ id: ${ZONE}, account: ${ACCOUNT}, name: example.test, plan: enterprise, origin: demo }]`

const account_id = ACCOUNT
const zone_id = ZONE
const account = { account_id }
const zone = { zone_id }

/** One resource: `read` after `create` and `update` has to match what they sent. */
interface Resource<C extends object, U extends object> {
  readonly created: C
  readonly create: (values: C) => Promise<unknown>
  readonly read: (made: Made) => Promise<unknown>
  readonly updated: U
  readonly update: (made: Made, values: U) => Promise<unknown>
  /** Undefined: the provider only forgets the resource. */
  readonly remove?: (made: Made) => Promise<unknown>
  /** What a read returns after the removal; undefined: 404. */
  readonly removed?: object
}

interface Made {
  readonly id: string
}

async function lifecycle<C extends object, U extends object>(t: Test, resource: Resource<C, U>): Promise<Made> {
  const { created, create, read, updated, update, remove, removed } = resource
  const made = Object(await create(created)) as Made
  t.match(await read(made), created, 'reads what was created')
  await update(made, updated)
  t.match(await read(made), updated, 'reads what was changed')
  await remove?.(made)
  if (removed) t.match(await read(made), removed, 'reads the default again')
  else if (remove) await isGone(t, read(made))
  return made
}

async function isGone(t: Test, read: Promise<unknown>): Promise<void> {
  t.match(await read.catch((error: unknown) => error), { status: 404 }, 'it is gone')
}

async function started(t: Test) {
  const folder = testFolder(t)
  const daemon = await startDaemon(readConfig(configuration(folder), join(folder, 'edged.yaml'), {}), {
    log: silentLog,
  })
  t.teardown(() => daemon.close())
  return { folder, cf: new Cloudflare({ apiToken: TOKEN, maxRetries: 0, baseURL: daemon.control }) }
}

t.test('resources of zones', async (t) => {
  const { cf, folder } = await started(t)

  await t.test('cloudflare_zone', async (t) => {
    const { id } = await lifecycle(t, {
      created: { account: { id: ACCOUNT }, name: 'made.test', type: 'full' as const },
      create: (values) => cf.zones.create(values),
      read: ({ id }) => cf.zones.get({ zone_id: id }),
      updated: { paused: true },
      update: ({ id }, values) => cf.zones.edit({ zone_id: id, ...values }),
      remove: ({ id }) => cf.zones.delete({ zone_id: id }),
    })
    t.match(id, /^[0-9a-f]{32}$/)
    t.match(await all(cf.zones.list({ name: 'example.test' })), [{ id: ZONE }], 'the data source')
  })

  for (const [setting, first, second] of SETTINGS) {
    await t.test(`cloudflare_zone_setting ${setting}`, async (t) => {
      await lifecycle(t, {
        created: { value: first },
        create: (values) => cf.zones.settings.edit(setting, { ...zone, ...values }),
        read: () => cf.zones.settings.get(setting, zone),
        updated: { value: second },
        update: (_made, values) => cf.zones.settings.edit(setting, { ...zone, ...values }),
      })
    })
  }

  await t.test('cloudflare_managed_transforms', async (t) => {
    const on = (id: string, enabled: boolean) => [{ id, enabled }]
    const headers = (enabled: boolean) => ({
      managed_request_headers: on('add_visitor_location_headers', enabled),
      managed_response_headers: on('remove_x-powered-by_header', enabled),
    })
    const read = async () => {
      const { managed_request_headers: request, managed_response_headers: response } =
        await cf.managedTransforms.list(zone)
      const of = (list: readonly { id: string; enabled: boolean }[], id: string) =>
        list.flatMap((one) => (one.id === id ? [{ id, enabled: one.enabled }] : []))
      return {
        managed_request_headers: of(request, 'add_visitor_location_headers'),
        managed_response_headers: of(response, 'remove_x-powered-by_header'),
      }
    }
    await lifecycle(t, {
      created: headers(true),
      create: (values) => cf.managedTransforms.edit({ ...zone, ...values }),
      read,
      updated: headers(false),
      update: (_made, values) => cf.managedTransforms.edit({ ...zone, ...values }),
      remove: () => cf.managedTransforms.delete(zone),
      removed: headers(false),
    })
  })

  await t.test('cloudflare_url_normalization_settings', async (t) => {
    await lifecycle(t, {
      created: { type: 'rfc3986' as const, scope: 'both' as const },
      create: (values) => cf.urlNormalization.update({ ...zone, ...values }),
      read: () => cf.urlNormalization.get(zone),
      updated: { type: 'cloudflare' as const, scope: 'none' as const },
      update: (_made, values) => cf.urlNormalization.update({ ...zone, ...values }),
      remove: () => cf.urlNormalization.delete(zone),
      removed: { type: 'cloudflare', scope: 'incoming' },
    })
  })

  await t.test('cloudflare_ruleset', async (t) => {
    const rule = {
      ref: 'admin',
      action: 'block' as const,
      expression: 'http.request.uri.path contains "/admin"',
      description: 'no admin',
      enabled: true,
    }
    const { id } = await lifecycle(t, {
      created: {
        name: 'default',
        description: 'from Terraform',
        kind: 'zone' as const,
        phase: 'http_request_firewall_custom' as const,
        rules: [rule],
      },
      create: (values) => cf.rulesets.create({ ...zone, ...values }),
      read: ({ id }) => cf.rulesets.get(id, zone),
      updated: {
        name: 'default',
        rules: [
          { ...rule, enabled: false },
          { ...rule, ref: 'second' },
        ],
      },
      update: ({ id }, values) =>
        cf.rulesets.update(id, { ...zone, kind: 'zone', phase: 'http_request_firewall_custom', ...values }),
      remove: ({ id }) => cf.rulesets.delete(id, zone),
    })
    await isGone(t, cf.rulesets.phases.get('http_request_firewall_custom', zone))
    t.match(id, /^[0-9a-f]{32}$/)
  })

  await t.test('cloudflare_logpush_job', async (t) => {
    await lifecycle(t, {
      created: {
        dataset: 'http_requests' as const,
        destination_conf: `file://${folder}/logs`,
        enabled: false,
        name: 'logs',
        output_options: { field_names: ['ClientIP'], timestamp_format: 'rfc3339' as const },
      },
      create: (values) => cf.logpush.jobs.create({ ...zone, ...values }),
      read: ({ id }) => cf.logpush.jobs.get(Number(id), zone),
      updated: { max_upload_interval_seconds: 60, max_upload_bytes: 6_000_000 },
      update: ({ id }, values) => cf.logpush.jobs.update(Number(id), { ...zone, ...values }),
      remove: ({ id }) => cf.logpush.jobs.delete(Number(id), zone),
    })
  })

  await t.test('cloudflare_custom_hostname and its fallback origin', async (t) => {
    const ssl = { method: 'http' as const, type: 'dv' as const, settings: { min_tls_version: '1.2' as const } }
    await lifecycle(t, {
      created: { hostname: 'shop.other.com', ssl },
      create: (values) => cf.customHostnames.create({ ...zone, ...values }),
      read: ({ id }) => cf.customHostnames.get(id, zone),
      updated: { custom_metadata: { tier: 'gold' } },
      update: ({ id }, values) => cf.customHostnames.edit(id, { ...zone, ssl, ...values }),
      remove: ({ id }) => cf.customHostnames.delete(id, zone),
    })
  })

  await t.test('purge_cache', async (t) => {
    t.match(await cf.cache.purge({ ...zone, purge_everything: true }), { id: /./ })
    t.match(await cf.cache.purge({ ...zone, files: ['http://example.test/a'] }), { id: /./ })
  })
})

const SETTINGS: readonly (readonly [setting: string, first: unknown, second: unknown])[] = [
  ['content_converter', 'on', 'off'],
  ['always_use_https', 'on', 'off'],
  ['browser_cache_ttl', 14400, 0],
  ['security_level', 'high', 'medium'],
  ['min_tls_version', '1.2', '1.0'],
]

t.test('resources of accounts', async (t) => {
  const { cf } = await started(t)

  await t.test('cloudflare_account_token', async (t) => {
    const groups = await all(cf.accounts.tokens.permissionGroups.list(account))
    const [group] = groups.filter(({ name }) => name === 'Logs Write')
    t.ok(group, 'the data source of permission groups')
    const resources = { [`com.cloudflare.api.account.${ACCOUNT}`]: '*' }
    const policies = [{ effect: 'allow' as const, permission_groups: [{ id: group?.id ?? '' }], resources }]
    await lifecycle(t, {
      created: { name: 'ci', policies },
      create: (values) => cf.accounts.tokens.create({ ...account, ...values }),
      read: ({ id }) => cf.accounts.tokens.get(id, account),
      updated: { name: 'ci 2', policies, status: 'disabled' as const },
      update: ({ id }, values) => cf.accounts.tokens.update(id, { ...account, ...values }),
      remove: ({ id }) => cf.accounts.tokens.delete(id, account),
    })
  })

  await t.test('cloudflare_list and cloudflare_list_item', async (t) => {
    await lifecycle(t, {
      created: { name: 'offices', kind: 'ip' as const, description: 'ours' },
      create: (values) => cf.rules.lists.create({ ...account, ...values }),
      read: ({ id }) => cf.rules.lists.get(id, account),
      updated: { description: 'all of ours' },
      update: ({ id }, values) => cf.rules.lists.update(id, { ...account, ...values }),
      async remove({ id }) {
        await cf.rules.lists.items.create(id, { ...account, body: [{ ip: '192.0.2.1', comment: 'one' }] })
        t.match(await all(cf.rules.lists.items.list(id, account)), [{ ip: '192.0.2.1', comment: 'one' }])
        await cf.rules.lists.delete(id, account)
      },
    })
  })

  await t.test('cloudflare_workers_kv_namespace', async (t) => {
    await lifecycle(t, {
      created: { title: 'sessions' },
      create: (values) => cf.kv.namespaces.create({ ...account, ...values }),
      read: ({ id }) => cf.kv.namespaces.get(id, account),
      updated: { title: 'sessions 2' },
      update: ({ id }, values) => cf.kv.namespaces.update(id, { ...account, ...values }),
      remove: ({ id }) => cf.kv.namespaces.delete(id, account),
    })
  })
})

t.test('resources of Workers', async (t) => {
  const { cf } = await started(t)
  const namespace = await cf.kv.namespaces.create({ ...account, title: 'of the script' })
  const code = (text: string) => `export default { fetch() { return new Response("${text}") } }`
  const bindings = [
    { type: 'plain_text' as const, name: 'MODE', text: 'live' },
    { type: 'kv_namespace' as const, name: 'KV', namespace_id: namespace.id },
  ]
  const upload = async (text: string, more: object = {}) =>
    await cf.workers.scripts.update('app', {
      ...account,
      metadata: { main_module: 'worker.js', compatibility_date: '2025-01-01', bindings, ...more },
      files: [await toFile(Buffer.from(code(text)), 'worker.js', { type: 'application/javascript+module' })],
    })

  await t.test('cloudflare_workers_script', async (t) => {
    t.match(await upload('one'), { id: 'app' })
    t.match(await cf.workers.scripts.settings.get('app', account), { logpush: false })
    t.match(await cf.workers.scripts.scriptAndVersionSettings.get('app', account), {
      bindings,
      compatibility_date: '2025-01-01',
    })
    t.match(await cf.workers.scripts.content.get('app', account).then((response) => response.text()), /"one"/)
    await upload('two', { logpush: true })
    t.match(await cf.workers.scripts.settings.get('app', account), { logpush: true })
    t.match(await all(cf.workers.scripts.list(account)), [{ id: 'app' }])
  })

  await t.test('cloudflare_workers_route', async (t) => {
    await lifecycle(t, {
      created: { pattern: 'example.test/app/*', script: 'app' },
      create: (values) => cf.workers.routes.create({ ...zone, ...values }),
      read: ({ id }) => cf.workers.routes.get(id, zone),
      updated: { pattern: 'example.test/other/*', script: 'app' },
      update: ({ id }, values) => cf.workers.routes.update(id, { ...zone, ...values }),
      remove: ({ id }) => cf.workers.routes.delete(id, zone),
    })
  })

  await t.test('cloudflare_workers_cron_trigger', async (t) => {
    const body = [{ cron: '*/30 * * * *' }]
    await cf.workers.scripts.schedules.update('app', { ...account, body })
    t.match(await cf.workers.scripts.schedules.get('app', account), { schedules: body })
    await cf.workers.scripts.schedules.update('app', { ...account, body: [] })
    t.same((await cf.workers.scripts.schedules.get('app', account)).schedules, [])
  })

  await t.test('cloudflare_workers_custom_domain', async (t) => {
    await lifecycle(t, {
      created: { hostname: 'app.example.test', service: 'app', zone_id },
      create: (values) => cf.workers.domains.update({ ...account, ...values }),
      read: ({ id }) => cf.workers.domains.get(id, account),
      updated: { hostname: 'app.example.test', service: 'app' },
      update: (_made, values) => cf.workers.domains.update({ ...account, ...values, zone_id }),
      remove: ({ id }) => cf.workers.domains.delete(id, account),
    })
  })

  await t.test('cloudflare_workers_script_subdomain', async (t) => {
    await lifecycle(t, {
      created: { enabled: true, previews_enabled: false },
      create: (values) => cf.workers.scripts.subdomain.create('app', { ...account, ...values }),
      read: () => cf.workers.scripts.subdomain.get('app', account),
      updated: { enabled: false },
      update: (_made, values) => cf.workers.scripts.subdomain.create('app', { ...account, ...values }),
    })
  })

  await t.test('cloudflare_workers_deployment', async (t) => {
    const [version] = await all(cf.workers.scripts.versions.list('app', account))
    const versions = [{ percentage: 100, version_id: version?.id ?? '' }]
    const made = await cf.workers.scripts.deployments.create('app', { ...account, strategy: 'percentage', versions })
    t.match(await cf.workers.scripts.deployments.get(made.id, { ...account, script_name: 'app' }), {
      strategy: 'percentage',
      versions,
    })
  })

  await t.test('cloudflare_workers_kv', async (t) => {
    const inNamespace = { ...account, namespace_id: namespace.id }
    await cf.kv.namespaces.values.update('key', { ...inNamespace, value: 'text', metadata: '{"a":1}' })
    const value = await cf.kv.namespaces.values.get('key', inNamespace)
    t.equal(await value.text(), 'text')
    t.same(await cf.kv.namespaces.metadata.get('key', inNamespace), { a: 1 })
    await cf.kv.namespaces.values.delete('key', inNamespace)
    await isGone(t, cf.kv.namespaces.values.get('key', inNamespace))
  })

  await cf.workers.scripts.delete('app', { ...account, force: true })
  await isGone(t, cf.workers.scripts.content.get('app', account))
})
