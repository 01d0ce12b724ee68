import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import type { Ruleset } from '../../src/core/model/ruleset.js'
import { testFolder } from '../helpers/folder.js'
import { ask, originServer, until } from '../helpers/web.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

const options = { skip: unbuilt, timeout: 600_000 }
const FREE_ZONE = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'
const LEGACY_KEY = 'legacy-key-of-the-e2e-tests-0123456789'
const zone = { zone_id: ZONE }

/** A daemon with a second, free zone and the official client for its API. */
async function running(t: Test, folder?: string): Promise<{ daemon: Daemon; cf: Cloudflare; port: number }> {
  const origin = await originServer(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end('<h1>A page</h1>')
  })
  const base = configuration(origin) as { zones: object[] }
  const daemon = await startDaemon(
    t,
    {
      ...base,
      zones: [
        { ...base.zones[0], settings: { content_converter: 'off' } },
        { id: FREE_ZONE, account: ACCOUNT, name: 'free.test', origin, plan: 'free' },
      ],
      legacy_keys: [{ email: 'ann@example.test', key: LEGACY_KEY, permissions: ['*'] }],
    },
    folder,
  )
  const baseURL = daemon.control
  return {
    daemon,
    cf: new Cloudflare({ apiToken: TOKEN, baseURL, maxRetries: 0 }),
    port: Number(new URL(daemon.proxy).port),
  }
}

/** The client's types allow for anything where a ruleset comes back. */
const ruleset = async (call: Promise<unknown>): Promise<Ruleset> => (await call) as Ruleset

const typeAt = async (port: number, headers: Record<string, string> = {}) =>
  (await ask(port, '/', { headers })).headers['content-type']

t.test('a setting changed through the API is in force for the next request', options, async (t) => {
  const { cf, port, daemon } = await running(t)
  t.equal(await typeAt(port), 'text/html')
  for (const value of ['on', 'off', 'on'] as const) {
    t.match(await cf.zones.settings.edit('content_converter', { ...zone, value }), { id: 'content_converter', value })
    t.equal(await typeAt(port), value === 'on' ? 'text/markdown; charset=utf-8' : 'text/html')
  }
  t.match(await cf.zones.settings.get('content_converter', zone), { value: 'on', modified_on: /^20/ })
  t.match(await refused(cf.zones.settings.edit('content_converter', { zone_id: FREE_ZONE, value: 'on' })), [
    400,
    1015,
    '/value',
  ])
  t.match(await refused(cf.zones.settings.edit('content_converter', { ...zone, value: 'maybe' })), [
    400,
    Number,
    '/value',
  ])
  t.equal(await typeAt(port), 'text/markdown; charset=utf-8', 'a refused change changes nothing')
  t.equal((await fetch(`${daemon.admin}/readyz`)).status, 200)
})

t.test('a custom hostname is served at once, and no longer once it is deleted', options, async (t) => {
  const { cf, port } = await running(t)
  const host = { host: 'docs.customer.com' }
  t.equal((await ask(port, '/', { headers: host })).status, 404)
  const made = await cf.customHostnames.create({ ...zone, hostname: host.host })
  t.equal((await ask(port, '/', { headers: host })).status, 200)
  const custom_metadata = { content_converter: 'enabled' }
  t.match(await cf.customHostnames.edit(made.id, { ...zone, custom_metadata }), { status: 'active', custom_metadata })
  t.equal((await cf.customHostnames.delete(made.id, zone)).id, made.id)
  t.equal((await ask(port, '/', { headers: host })).status, 404)
})

t.test('rulesets, their phases, versions and rules', options, async (t) => {
  const { cf } = await running(t)
  const made = await ruleset(
    cf.rulesets.create({
      ...zone,
      kind: 'custom',
      name: 'Ours',
      phase: 'http_request_firewall_custom',
      rules: [{ action: 'block', expression: 'http.request.uri.path eq "/secret"', description: 'no entry' }],
    }),
  )
  t.match(made, { kind: 'custom', version: '1', rules: [{ action: 'block', enabled: true, version: '1' }] })
  const [rule] = made.rules
  t.equal(rule?.ref, rule?.id, 'ref defaults to the id')

  const added = await ruleset(
    cf.rulesets.rules.create(made.id, {
      ...zone,
      action: 'log',
      expression: 'true',
      position: { before: rule?.id ?? '' },
    }),
  )
  t.match(added, { version: '2', rules: [{ action: 'log' }, { id: rule?.id, version: '1' }] })
  const edited = await ruleset(
    cf.rulesets.rules.edit(rule?.id ?? '', {
      ...zone,
      ruleset_id: made.id,
      action: 'block',
      expression: 'true',
      enabled: false,
    }),
  )
  t.match(edited.rules[1], { id: rule?.id, version: '2', enabled: false })
  const fewer = await ruleset(cf.rulesets.rules.delete(added.rules[0]?.id ?? '', { ...zone, ruleset_id: made.id }))
  t.equal(fewer.rules.length, 1)

  const entry = await ruleset(
    cf.rulesets.phases.update('http_config_settings', {
      ...zone,
      rules: [{ action: 'set_config', expression: 'true', action_parameters: { content_converter: true } } as never],
    }),
  )
  t.match(await cf.rulesets.phases.get('http_config_settings', zone), { id: entry.id, kind: 'zone', version: '1' })
  const versions = []
  for await (const one of cf.rulesets.versions.list(made.id, zone)) versions.push(one.version)
  t.same(versions.toSorted(), ['1', '2', '3', '4'])
  t.match(await cf.rulesets.versions.get('1', { ...zone, ruleset_id: made.id }), {
    version: '1',
    rules: [{ expression: /secret/ }],
  })
  await cf.rulesets.versions.delete('1', { ...zone, ruleset_id: made.id })
  await cf.rulesets.delete(made.id, zone)

  const REFUSED: [what: string, call: () => Promise<unknown>, expected: unknown[]][] = [
    ['a ruleset that is gone', () => cf.rulesets.get(made.id, zone), [404, Number]],
    [
      'an unknown action',
      () =>
        cf.rulesets.phases.update('http_request_firewall_custom', {
          ...zone,
          rules: [{ action: 'explode', expression: 'true' } as never],
        }),
      [400, Number, '/rules/0/action'],
    ],
    [
      'a status that block cannot answer with',
      () =>
        cf.rulesets.phases.update('http_request_firewall_custom', {
          ...zone,
          rules: [
            {
              action: 'block',
              expression: 'true',
              action_parameters: { response: { status_code: 200, content: 'x', content_type: 'text/plain' } },
            },
          ],
        }),
      [400, Number, '/rules/0/action_parameters/response/status_code'],
    ],
    [
      'conversion on a free zone',
      () =>
        cf.rulesets.phases.update('http_config_settings', {
          zone_id: FREE_ZONE,
          rules: [
            { action: 'set_config', expression: 'true', action_parameters: { content_converter: true } } as never,
          ],
        }),
      [400, 1015, '/rules/0/action_parameters/content_converter'],
    ],
    ['a phase without an entry point', () => cf.rulesets.phases.get('http_request_origin', zone), [404, 10003]],
  ]
  for (const [what, call, expected] of REFUSED) t.match(await refused(call()), expected, `${what} is refused`)
})

t.test('who may do what', options, async (t) => {
  const { cf, daemon } = await running(t)
  t.match(await cf.user.tokens.verify(), { status: 'active' })
  const groups = await cf.user.tokens.permissionGroups.list({ name: 'Zone Settings Read' })
  const made = await cf.user.tokens.create({
    name: 'reader',
    policies: [
      {
        effect: 'allow',
        permission_groups: [{ id: groups.result[0]?.id ?? '' }],
        resources: { [`com.cloudflare.api.account.zone.${ZONE}`]: '*' },
      },
    ],
  })
  const reader = new Cloudflare({ apiToken: made.value ?? '', baseURL: daemon.control, maxRetries: 0 })
  t.match(await reader.user.tokens.verify(), { id: made.id, status: 'active' })
  t.match(await reader.zones.settings.get('content_converter', zone), { value: 'off' })
  t.match(await refused(reader.zones.settings.edit('content_converter', { ...zone, value: 'on' })), [403, 10000])
  t.match(await refused(reader.zones.settings.get('content_converter', { zone_id: FREE_ZONE })), [403, Number])
  const pair = { apiToken: null, apiEmail: 'ann@example.test', apiKey: LEGACY_KEY }
  t.match(await new Cloudflare({ ...pair, baseURL: daemon.control, maxRetries: 0 }).user.get(), {
    email: 'ann@example.test',
  })
})

t.test('secrets are neither in the data folder nor in the log', options, async (t) => {
  const folder = testFolder(t)
  const { cf, daemon } = await running(t, folder)
  const groups = await cf.user.tokens.permissionGroups.list({ name: 'Zone Settings Read' })
  const made = await cf.user.tokens.create({
    name: 'planted',
    policies: [
      {
        effect: 'allow',
        permission_groups: [{ id: groups.result[0]?.id ?? '' }],
        resources: { [`com.cloudflare.api.account.${ACCOUNT}`]: '*' },
      },
    ],
  })
  const rolled = await cf.user.tokens.value.update(made.id ?? '', { body: {} })
  // Wrong ones too: a typing error is next to the secret.
  const wrong = 'a-wrong-token-that-nobody-should-read-later'
  await refused(new Cloudflare({ apiToken: wrong, baseURL: daemon.control, maxRetries: 0 }).user.tokens.verify())
  await fetch(`${daemon.control}/user?token=${TOKEN}`, {
    headers: { 'x-auth-email': 'ann@example.test', 'x-auth-key': LEGACY_KEY },
  })
  daemon.signal('SIGTERM')
  await daemon.ended

  const data = join(folder, 'data')
  const key = (await readFile(join(data, 'secret.key'), 'utf8')).trim()
  const written = [Buffer.from(daemon.lines.join('\n'))]
  for (const entry of await readdir(data, { recursive: true, withFileTypes: true }))
    if (entry.isFile() && entry.name !== 'secret.key') written.push(await readFile(join(entry.parentPath, entry.name)))
  t.ok(
    written.some((bytes) => bytes.includes('planted')),
    'the files are those that hold the token',
  )
  for (const secret of [TOKEN, LEGACY_KEY, made.value ?? '', rolled, wrong, key])
    t.notOk(
      written.some((bytes) => bytes.includes(secret)),
      `${secret.slice(0, 6)}... is nowhere`,
    )
})

t.test('a setting survives a restart', options, async (t) => {
  const folder = testFolder(t)
  const first = await running(t, folder)
  await first.cf.zones.settings.edit('content_converter', { ...zone, value: 'on' })
  first.daemon.signal('SIGTERM')
  t.equal(await first.daemon.ended, 0)
  const second = await running(t, folder)
  await until(async () => (await typeAt(second.port)) === 'text/markdown; charset=utf-8')
  t.pass('it is on')
})

/** Status, first code and first pointer of what a call was refused with. */
async function refused(call: Promise<unknown>): Promise<unknown[]> {
  try {
    await call
  } catch (error) {
    if (!(error instanceof Cloudflare.APIError)) throw error
    const [first] = error.errors as { code: number; source?: { pointer?: string } }[]
    return [error.status, first?.code, first?.source?.pointer]
  }
  return ['not refused']
}
