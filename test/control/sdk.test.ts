import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { all } from '../helpers/all.js'
import { ACCOUNT, ADMIN, client, CONFIG, FREE_ZONE, OTHER_ZONE, ZONE } from './client.js'

/** The official client, pointed at the API. */
async function official(t: Test, options: ConstructorParameters<typeof Cloudflare>[0] = {}) {
  const { url } = await client(t, {
    config: {
      legacy_keys: [
        { email: 'ann@example.test', key: 'legacy-key-0123456789', permissions: ['*'], accounts: ['*'], zones: ['*'] },
      ],
    },
  })
  return new Cloudflare({ apiToken: ADMIN, maxRetries: 0, ...options, baseURL: url })
}

t.test('the official client verifies its token and finds accounts and zones', async (t) => {
  const cf = await official(t)
  t.match(await cf.user.tokens.verify(), { id: /^[0-9a-f]{32}$/, status: 'active' })
  t.match(await cf.accounts.tokens.verify({ account_id: ACCOUNT }), { status: 'active' })
  t.match(await cf.user.get(), { id: /^[0-9a-f]{32}$/ })
  t.same(
    (await all(cf.accounts.list({ per_page: 1 }))).map(({ name }) => name),
    ['Example', 'Other'],
  )
  t.match(await cf.accounts.get({ account_id: ACCOUNT }), { id: ACCOUNT, name: 'Example' })
  t.match(await all(cf.memberships.list()), [{ account: { id: ACCOUNT }, status: 'accepted' }, {}])
  t.same((await all(cf.zones.list({ per_page: 2 }))).length, CONFIG.zones.length)
  t.match(await all(cf.zones.list({ account: { id: ACCOUNT }, name: 'example.test', status: 'active' })), [
    { id: ZONE },
  ])
  t.match(await cf.zones.get({ zone_id: ZONE }), { id: ZONE, name: 'example.test', account: { id: ACCOUNT } })
})

t.test('the official client signs in with the legacy pair', async (t) => {
  const cf = await official(t, { apiToken: null, apiEmail: 'ann@example.test', apiKey: 'legacy-key-0123456789' })
  t.match(await cf.user.get(), { email: 'ann@example.test' })
  t.equal((await all(cf.zones.list())).length, CONFIG.zones.length)
})

t.test('the official client switches the conversion on and reads it back', async (t) => {
  const cf = await official(t)
  const setting = { zone_id: ZONE }
  t.match(await cf.zones.settings.get('content_converter', setting), { id: 'content_converter', value: 'off' })
  t.match(await cf.zones.settings.edit('content_converter', { ...setting, value: 'on' }), {
    id: 'content_converter',
    value: 'on',
    editable: true,
  })
  t.match(await cf.zones.settings.get('content_converter', setting), { value: 'on' })
})

t.test('the official client makes, lists, marks and removes custom hostnames', async (t) => {
  const cf = await official(t)
  const zone = { zone_id: ZONE }
  for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) {
    const made = await cf.customHostnames.create({
      ...zone,
      hostname: `${name}.shop.com`,
      ssl: { method: 'http', type: 'dv', settings: { min_tls_version: '1.2' } },
    })
    t.match(made, { hostname: `${name}.shop.com`, status: 'active', ssl: { status: 'active' } })
  }
  t.equal((await all(cf.customHostnames.list({ ...zone, per_page: 5 }))).length, 6)
  const [found] = await all(cf.customHostnames.list({ ...zone, hostname: { exact: 'c.shop.com' }, direction: 'desc' }))
  t.equal(found?.hostname, 'c.shop.com')
  t.equal(
    (await all(cf.customHostnames.list({ ...zone, hostname: { startsWith: 'a.', contain: 'shop' }, ssl: 1 }))).length,
    1,
  )
  const id = found?.id ?? ''
  const custom_metadata = { content_converter: 'enabled' }
  t.match(await cf.customHostnames.edit(id, { ...zone, custom_metadata }), { id, custom_metadata })
  t.match(await cf.customHostnames.get(id, zone), { id, custom_metadata })
  t.match(await cf.customHostnames.quota.get(zone), { used: 6, exceeded: false })
  t.same((await cf.customHostnames.delete(id, zone)).id, id)
})

t.test('the official client makes, changes, rolls and removes tokens', async (t) => {
  const cf = await official(t)
  const groups = await all(cf.user.tokens.permissionGroups.list({ name: 'Logs Write' }))
  t.equal(groups.length, 1)
  const policies = [
    {
      effect: 'allow' as const,
      permission_groups: [{ id: groups[0]?.id ?? '' }],
      resources: { [`com.cloudflare.api.account.${ACCOUNT}`]: '*' },
    },
  ]
  const made = await cf.user.tokens.create({ name: 'logs', policies, expires_on: '2030-01-01T00:00:00Z' })
  t.match(made, { name: 'logs', status: 'active', value: /^[A-Za-z0-9_-]{40}$/ })
  const id = made.id ?? ''
  t.match(await cf.user.tokens.update(id, { name: 'more logs', policies, status: 'disabled' }), {
    name: 'more logs',
    status: 'disabled',
  })
  t.match(await all(cf.user.tokens.list()), [{ id }])
  t.match(await cf.user.tokens.value.update(id, { body: {} }), /^[A-Za-z0-9_-]{40}$/)
  t.match(await cf.user.tokens.delete(id), { id })
})

/** What a call was refused with. */
async function refusal(call: Promise<unknown>): Promise<unknown> {
  return await call.then(
    () => undefined,
    (error: unknown) => error,
  )
}

t.test('the official client reads our errors as its own', async (t) => {
  const cf = await official(t)
  const stranger = await official(t, { apiToken: 'unknown' })
  const REFUSED: [call: () => Promise<unknown>, kind: abstract new (...args: never[]) => Error, code: number][] = [
    [() => cf.zones.get({ zone_id: 'x' }), Cloudflare.NotFoundError, 7003],
    [() => cf.zones.settings.get('nothing', { zone_id: ZONE }), Cloudflare.BadRequestError, 1003],
    [
      () => cf.zones.settings.edit('content_converter', { zone_id: FREE_ZONE, value: 'on' }),
      Cloudflare.BadRequestError,
      1015,
    ],
    [
      () => cf.customHostnames.create({ zone_id: OTHER_ZONE, hostname: 'example.test' }),
      Cloudflare.ConflictError,
      1406,
    ],
    [() => cf.customHostnames.get('x', { zone_id: ZONE }), Cloudflare.NotFoundError, 1436],
    [() => cf.user.tokens.get('x'), Cloudflare.NotFoundError, 10040],
    [() => stranger.user.tokens.verify(), Cloudflare.AuthenticationError, 1000],
    [() => stranger.zones.get({ zone_id: ZONE }), Cloudflare.PermissionDeniedError, 9109],
  ]
  for (const [call, kind, code] of REFUSED) {
    const error = await refusal(call())
    t.ok(error instanceof kind, `${code} is a ${kind.name}`)
    t.match(error, { errors: [{ code }] })
  }
})
