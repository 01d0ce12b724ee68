import t from 'tap'
import { flatGrant, holds, mayUse } from '../../../control/http/auth/access.js'
import type { Permission } from '../../../control/http/permissions.js'
import { flatPolicies, grantsIn } from '../../../control/http/auth/policies.js'
import type { Caller, Grant } from '../../../control/http/context.js'
import { createToken } from '../../../control/tokens/token-repository.js'
import { silentLog } from '../../../src/core/log.js'
import { CREDENTIAL, TOKEN } from '../../../src/core/model/token.js'
import { DAEMON } from '../../../src/core/scope.js'
import { openStore } from '../../../src/store/index.js'
import { ACCOUNT, ADMIN, client, CONFIG, handClock, OTHER_ACCOUNT, OTHER_ZONE, ZONE } from '../client.js'

const KEY = 'legacy-key-0123456789abcdef0123456789'
const PAIR = { email: 'Ann@example.test', key: KEY, permissions: ['*'], accounts: ['*'], zones: ['*'] }
const config = { legacy_keys: [PAIR] }
const none = { authorization: '' }

interface Refusal {
  readonly status: number
  readonly code: number
  readonly chain?: readonly number[]
}
const CREDENTIALS: [what: string, headers: Record<string, string>, refusal: Refusal | undefined][] = [
  ['no credentials', {}, { status: 400, code: 9106 }],
  ['an e-mail address alone', { 'x-auth-email': PAIR.email }, { status: 400, code: 9106 }],
  ['a key alone', { 'x-auth-key': KEY }, { status: 400, code: 9106 }],
  ['another scheme', { authorization: `Basic ${ADMIN}` }, { status: 400, code: 6003, chain: [6111] }],
  ['a token without its scheme', { authorization: ADMIN }, { status: 400, code: 6003, chain: [6111] }],
  ['a scheme without a token', { authorization: 'Bearer' }, { status: 400, code: 6003, chain: [6111] }],
  ['two tokens', { authorization: `Bearer ${ADMIN} ${ADMIN}` }, { status: 400, code: 6003, chain: [6111] }],
  ['a token of strange characters', { authorization: 'Bearer "quoted"' }, { status: 400, code: 6003, chain: [6111] }],
  ['an unknown token', { authorization: `Bearer ${ADMIN}x` }, { status: 403, code: 9109 }],
  ['the beginning of a token', { authorization: `Bearer ${ADMIN.slice(0, -1)}` }, { status: 403, code: 9109 }],
  ['a known token', { authorization: `Bearer ${ADMIN}` }, undefined],
  ['a known token, the scheme in lower case', { authorization: `bearer ${ADMIN}` }, undefined],
  ['a pair', { 'x-auth-email': 'ann@EXAMPLE.test', 'x-auth-key': KEY }, undefined],
  ['a pair with another key', { 'x-auth-email': PAIR.email, 'x-auth-key': `${KEY}x` }, { status: 403, code: 9103 }],
  [
    'a pair of an unknown address',
    { 'x-auth-email': 'bob@example.test', 'x-auth-key': KEY },
    { status: 403, code: 9103 },
  ],
  ['an address that is none', { 'x-auth-email': 'ann', 'x-auth-key': KEY }, { status: 400, code: 6003, chain: [6102] }],
  [
    'neither address nor key',
    { 'x-auth-email': 'ann', 'x-auth-key': 'a b' },
    { status: 400, code: 6003, chain: [6102, 6103] },
  ],
]
t.test('a bad header is named, and a permission that would be enough', async (t) => {
  const readOnly = 'a-token-that-reads-zones-only-0123456789'
  const tokens = [{ name: 'reader', token: readOnly, permissions: ['Zone Read'], accounts: ['*'], zones: ['*'] }]
  const { as, url } = await client(t, { config: { ...config, tokens: [...CONFIG.tokens, ...tokens] } })
  t.match(await as(readOnly)('PATCH', `/zones/${ZONE}/settings/content_converter`, { value: 'on' }), {
    status: 403,
    body: { errors: [{ code: 10000, message: /^Authentication error: .* "Zone Settings Write"/ }] },
  })
  const response = await fetch(`${url}/zones`, { headers: { authorization: `Basic ${ADMIN}` } })
  t.match(await response.json(), {
    errors: [{ message: 'Invalid request headers: Invalid format for Authorization header' }],
  })
})

t.test('credentials', async (t) => {
  const { url } = await client(t, { config })
  for (const [what, headers, refusal] of CREDENTIALS) {
    const response = await fetch(`${url}/zones`, { headers })
    const body: unknown = await response.json()
    if (!refusal) t.match(body, { success: true }, what)
    else {
      const { status, code, chain } = refusal
      t.equal(response.status, status, what)
      t.match(
        body,
        {
          success: false,
          result: null,
          errors: [{ code, ...(chain && { error_chain: chain.map((code) => ({ code })) }) }],
        },
        what,
      )
    }
  }
})

t.test('without a configured pair, every legacy key is unknown', async (t) => {
  const { url } = await client(t)
  const response = await fetch(`${url}/zones`, { headers: { 'x-auth-email': PAIR.email, 'x-auth-key': KEY } })
  t.match(await response.json(), { errors: [{ code: 9103 }] })
})

for (const path of ['/user/tokens/verify', `/accounts/${ACCOUNT}/tokens/verify`]) {
  t.test(`${path} returns the state of a token`, async (t) => {
    const { as, call, url } = await client(t, { config })
    t.match(await call('GET', path), {
      status: 200,
      body: {
        result: { id: /^[0-9a-f]{32}$/, status: 'active' },
        messages: [{ code: 10000, message: 'This API Token is valid and active', type: null }],
      },
    })
    t.match(await as('unknown-token')('GET', path), { status: 401, body: { errors: [{ code: 1000 }] } })
    t.match(await call('GET', path, undefined, none), { status: 400, body: { errors: [{ code: 6003 }] } })
    const pair = await fetch(url + path, { headers: { 'x-auth-email': PAIR.email, 'x-auth-key': KEY } })
    t.equal(pair.status, 401)
  })
}

t.test('a token is rejected once it has expired, and verify reports it', async (t) => {
  const { store, clock, as } = await client(t)
  const expires_on = new Date(clock.now() + 60_000).toISOString()
  const { value, token } = await createToken(
    store,
    { name: 'short', permissions: ['*'], accounts: ['*'], zones: ['*'], expires_on },
    clock,
  )
  t.equal((await as(value)('GET', '/zones')).status, 200)
  clock.advance(60_000)
  t.match(await as(value)('GET', '/zones'), { status: 403, body: { errors: [{ code: 9109, message: /expired/ }] } })
  t.match(await as(value)('GET', '/user/tokens/verify'), {
    status: 200,
    body: { result: { id: token.id, status: 'expired', expires_on } },
  })
})

t.test('a token is rejected before its time and while it is disabled', async (t) => {
  const { call, clock, as } = await client(t)
  const not_before = new Date(clock.now() + 60_000).toISOString()
  const input = {
    name: 'later',
    not_before,
    policies: [
      {
        effect: 'allow',
        permission_groups: [{ name: 'Zone Read' }],
        resources: { 'com.cloudflare.api.account.*': '*' },
      },
    ],
  }
  const { body } = await call('POST', '/user/tokens', input)
  const { value, id } = body.result
  t.match(await as(value)('GET', '/accounts'), { status: 403, body: { errors: [{ code: 9109 }] } })
  clock.advance(60_000)
  t.equal((await as(value)('GET', '/accounts')).status, 200)
  t.match(await call('PUT', `/user/tokens/${id}`, { ...input, status: 'disabled' }), {
    body: { result: { status: 'disabled' } },
  })
  t.match(await as(value)('GET', '/accounts'), { status: 403, body: { errors: [{ code: 9109, message: /disabled/ }] } })
  t.match(await as(value)('GET', '/user/tokens/verify'), { status: 200, body: { result: { status: 'disabled' } } })
})

/** Tokens of a configuration, and their permissions. */
const ACCESS = {
  all: { permissions: ['*'], accounts: ['*'], zones: ['*'] },
  'one account': { permissions: ['*'], accounts: [ACCOUNT], zones: ['*'] },
  'one account without its zones': { permissions: ['*'], accounts: [ACCOUNT], zones: [] },
  'one zone': { permissions: ['*'], accounts: [], zones: [ZONE] },
  'a zone of another account': { permissions: ['*'], accounts: [ACCOUNT], zones: [OTHER_ZONE] },
  nothing: { permissions: ['*'], accounts: [], zones: ['*'] },
  'reading settings': { permissions: ['Zone Settings Read'], accounts: ['*'], zones: ['*'] },
  'writing settings': { permissions: ['Zone Settings Write'], accounts: ['*'], zones: ['*'] },
  'something else': { permissions: ['Logs Write'], accounts: ['*'], zones: ['*'] },
}
type Response = 'yes' | 9109 | 10000 | 7003
const PATHS: readonly [method: string, path: string][] = [
  ['GET', `/accounts/${ACCOUNT}`],
  ['GET', `/accounts/${OTHER_ACCOUNT}`],
  ['GET', `/zones/${ZONE}`],
  ['GET', `/zones/${OTHER_ZONE}`],
  ['GET', `/zones/${ZONE}/settings/content_converter`],
  ['PATCH', `/zones/${ZONE}/settings/content_converter`],
  ['GET', '/user/tokens'],
]
const MAY: Record<keyof typeof ACCESS, readonly Response[]> = {
  all: ['yes', 'yes', 'yes', 'yes', 'yes', 'yes', 'yes'],
  'one account': ['yes', 10000, 'yes', 9109, 'yes', 'yes', 10000],
  'one account without its zones': ['yes', 10000, 9109, 9109, 9109, 9109, 10000],
  'one zone': [10000, 10000, 'yes', 9109, 'yes', 'yes', 10000],
  'a zone of another account': ['yes', 10000, 9109, 'yes', 9109, 9109, 10000],
  nothing: [10000, 10000, 9109, 9109, 9109, 9109, 10000],
  'reading settings': ['yes', 'yes', 'yes', 'yes', 'yes', 10000, 10000],
  'writing settings': ['yes', 'yes', 'yes', 'yes', 'yes', 'yes', 10000],
  'something else': ['yes', 'yes', 'yes', 'yes', 10000, 10000, 10000],
}
const tokenOf = (name: string) => `token-for-${name.replaceAll(' ', '-')}-0123456789`
const configured = Object.entries(ACCESS).map(([name, access]) => ({ name, token: tokenOf(name), ...access }))

for (const kept of ['configuration', 'store'] as const) {
  t.test(`permissions of tokens of the ${kept}`, async (t) => {
    const { as, store, clock } = await client(t, { config: kept === 'configuration' ? { tokens: configured } : {} })
    for (const [name, responses] of Object.entries(MAY)) {
      const access = ACCESS[name as keyof typeof ACCESS]
      const token =
        kept === 'configuration' ? tokenOf(name) : (await createToken(store, { name, ...access }, clock)).value
      for (const [index, [method, path]] of PATHS.entries()) {
        const { status, body } = await as(token)(method, path, method === 'PATCH' ? { value: 'on' } : undefined)
        t.equal(status === 200 ? 'yes' : body.errors[0].code, responses[index], `${name}: ${method} ${path}`)
        if (status !== 200) t.equal(status, 403)
      }
    }
  })
}

t.test('lists contain what the token can see', async (t) => {
  const { as } = await client(t, { config: { tokens: configured } })
  const seen = async (name: keyof typeof ACCESS, path: string) => {
    const { body } = await as(tokenOf(name))('GET', path)
    return body.result.map(({ id }: { id: string }) => id)
  }
  t.same(await seen('one account', '/accounts'), [ACCOUNT])
  t.same(await seen('one account', '/memberships'), [ACCOUNT])
  t.same(await seen('one zone', '/accounts'), [])
  t.same(await seen('one zone', '/zones'), [ZONE])
  t.same(await seen('a zone of another account', '/zones'), [OTHER_ZONE])
  t.same(await seen('nothing', '/zones'), [])
  t.same((await seen('all', '/zones')).length, 3)
})

t.test('a missing resource and one that a token cannot see get the same response', async (t) => {
  const { as } = await client(t, { config: { tokens: configured } })
  const unknown = 'f'.repeat(32)
  t.match(await as(tokenOf('one zone'))('GET', `/zones/${unknown}`), {
    status: 403,
    body: { errors: [{ code: 9109 }] },
  })
  t.match(await as(tokenOf('one account'))('GET', `/accounts/${unknown}`), {
    status: 403,
    body: { errors: [{ code: 10000 }] },
  })
  t.match(await as(tokenOf('all'))('GET', `/zones/${unknown}`), { status: 404, body: { errors: [{ code: 7003 }] } })
})

const grant = (more: Partial<Grant>): Grant => ({
  effect: 'allow',
  permissions: ['*'],
  accounts: [],
  zones: [],
  zonesOf: [],
  ...more,
})
const HOLDS: [what: string, grants: Grant[], permission: string, place: Parameters<typeof holds>[2], held: boolean][] =
  [
    ['no grant', [], 'Logs Read', { account: 'a' }, false],
    ['an account', [grant({ accounts: ['a'] })], 'Logs Read', { account: 'a' }, true],
    ['an account, a zone asked', [grant({ accounts: ['a'] })], 'Logs Read', { account: 'a', zone: 'z' }, false],
    ['zones of an account', [grant({ zonesOf: ['a'] })], 'Logs Read', { account: 'a', zone: 'z' }, true],
    ['zones of an account, the account asked', [grant({ zonesOf: ['a'] })], 'Logs Read', { account: 'a' }, false],
    [
      'one permission, all asked',
      [grant({ accounts: ['*'], permissions: ['Logs Read'] })],
      '*',
      { account: 'a' },
      false,
    ],
    [
      'a denial of the account',
      [grant({ accounts: ['*'] }), grant({ effect: 'deny', accounts: ['a'] })],
      'Logs Read',
      { account: 'a' },
      false,
    ],
    [
      'a denial of another account',
      [grant({ accounts: ['*'] }), grant({ effect: 'deny', accounts: ['b'] })],
      'Logs Read',
      { account: 'a' },
      true,
    ],
    [
      'a denial of the permission',
      [grant({ accounts: ['*'] }), grant({ effect: 'deny', accounts: ['*'], permissions: ['Logs Read'] })],
      'Logs Read',
      { account: 'a' },
      false,
    ],
    ['all accounts, the daemon asked', [grant({ accounts: ['*'] })], 'API Tokens Read', 'daemon', true],
    ['one account, the daemon asked', [grant({ accounts: ['a'] })], 'API Tokens Read', 'daemon', false],
  ]
t.test('grants', async (t) => {
  for (const [what, grants, permission, place, held] of HOLDS) t.equal(holds(grants, permission, place), held, what)
  const either: Permission[] = ['Logs Read', 'Logs Write']
  const caller: Caller = {
    type: 'token',
    id: '',
    name: '',
    grants: [grant({ accounts: ['a'], permissions: ['Logs Write'] })],
  }
  t.ok(mayUse(caller, either, { account: 'a' }), 'one of several permissions is enough')
})

t.test('flat lists mean the same in the configuration and as policies of a stored token', async (t) => {
  const places = [
    'daemon' as const,
    ...[ACCOUNT, OTHER_ACCOUNT].flatMap((account) => [
      { account },
      { account, zone: ZONE },
      { account, zone: OTHER_ZONE },
    ]),
  ]
  for (const [name, access] of Object.entries(ACCESS)) {
    for (const place of places) {
      for (const permission of ['*', 'Logs Write', 'Zone Settings Read'])
        t.equal(
          holds(grantsIn(DAEMON, flatPolicies(access)), permission, place),
          holds([flatGrant(access)], permission, place),
          `${name}, ${permission} at ${JSON.stringify(place)}`,
        )
    }
  }
})

t.test('the secret of a token is not stored', async (t) => {
  const clock = handClock()
  const store = await openStore('memory', { folder: '', log: silentLog, clock })
  const { value } = await createToken(store, { name: 'n', permissions: ['*'], accounts: ['*'], zones: ['*'] }, clock)
  t.match(value, /^[A-Za-z0-9_-]{40}$/)
  const entries = []
  for await (const { entry } of store.audit()) entries.push(entry)
  t.equal(entries.length, 1)
  const all = JSON.stringify([...store.list(TOKEN), ...store.list(CREDENTIAL), ...entries])
  t.notOk(all.includes(value))
  await store.close()
})

const UNFIT: [what: string, change: object, pointer: string][] = [
  ['an unknown permission', { permissions: ['Logs Write', 'Everything'] }, '/permissions/1'],
  ['no permission', { permissions: [] }, '/permissions'],
  ['an account id of another form', { accounts: ['x'] }, '/accounts/0'],
  ['a zone id of another form', { zones: ['*', 'x'] }, '/zones/1'],
  ['no name', { name: '' }, '/name'],
  ['a time gone by', { expires_on: '2020-01-01T00:00:00Z' }, '/expires_on'],
  ['a time that is none', { expires_on: 'soon' }, '/expires_on'],
]
t.test('a token with invalid members is not created from the command line', async (t) => {
  const clock = handClock()
  const store = await openStore('memory', { folder: '', log: silentLog, clock })
  const fit = { name: 'n', permissions: ['*'], accounts: ['*'], zones: ['*'] }
  for (const [what, change, pointer] of UNFIT)
    await t.rejects(
      createToken(store, { ...fit, ...change }, clock),
      { name: 'InvalidInput', issues: [{ pointer }] },
      what,
    )
  t.equal(store.count(TOKEN, DAEMON), 0)
  await store.close()
})

t.test('secrets never reach the log', async (t) => {
  const lines: unknown[] = []
  const { deps } = await client(t)
  const { basicEndpoints, startControl } = await import('../../../control/index.js')
  const write = (line: unknown) => void lines.push(line)
  const log = { ...silentLog, info: write, error: write }
  const control = await startControl(basicEndpoints(deps), { ...deps, log })
  const headers = { authorization: `Bearer ${ADMIN}`, 'x-auth-key': KEY }
  await fetch(`${control.url}/zones?token=query-secret`, { headers })
  const made = await fetch(`${control.url}/user/tokens`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({
      name: 'n',
      policies: [
        { effect: 'allow', permission_groups: [{ name: '*' }], resources: { 'com.cloudflare.api.account.*': '*' } },
      ],
    }),
  })
  const { result } = (await made.json()) as { result: { value: string } }
  await control.close(0)
  t.ok(lines.length >= 2)
  for (const secret of [ADMIN, KEY, 'query-secret', result.value]) t.notOk(JSON.stringify(lines).includes(secret))
  t.equal(CONFIG.tokens.length, 1)
})
