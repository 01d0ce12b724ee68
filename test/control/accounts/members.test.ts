import Cloudflare from 'cloudflare'
import t from 'tap'
import { all } from '../../helpers/all.js'
import { ACCOUNT, ADMIN, client, OTHER_ACCOUNT } from '../client.js'

const READER = 'reader-token-0123456789-abcdefghijklmno'
const inAccount = { account_id: ACCOUNT }

t.test('the official client reads the one member of an account and its role', async (t) => {
  const legacy = { email: 'owner@example.test', key: 'k'.repeat(30), permissions: ['*'], accounts: ['*'], zones: ['*'] }
  const { url, call } = await client(t, { config: { legacy_keys: [legacy] as never } })
  const { members, roles } = new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: url }).accounts
  const [owner, ...others] = await all(members.list(inAccount))
  t.same(others, [])
  t.match(owner, {
    id: /^[0-9a-f]{32}$/,
    email: 'owner@example.test',
    status: 'accepted',
    policies: [],
    user: { email: 'owner@example.test', first_name: null, two_factor_authentication_enabled: false },
  })
  t.strictSame(await members.get(owner!.id!, inAccount), owner)
  t.strictSame(await all(roles.list(inAccount)), owner?.roles)
  const [role] = owner!.roles!
  t.match(role, { name: 'Super Administrator - All Privileges', permissions: { zones: { read: true, write: true } } })
  t.strictSame(await roles.get(role!.id, inAccount), role)
  t.same(await all(members.list({ ...inAccount, status: 'pending' })), [])
  const [other] = await all(members.list({ account_id: OTHER_ACCOUNT }))
  t.not(other!.id, owner!.id, 'a membership belongs to one account')
  t.equal(other!.user?.email, owner!.user?.email)
  for (const path of [`members/${other!.id}`, 'roles/none'])
    t.match(await call('GET', `/accounts/${ACCOUNT}/${path}`), { status: 404 }, path)
  t.match(await call('POST', `/accounts/${ACCOUNT}/members`, { email: 'a@example.test', roles: [] }), { status: 405 })
})

t.test('without legacy keys the member has no address, and the permission is needed', async (t) => {
  const reader = { name: 'reader', token: READER, permissions: ['Logs Read'], accounts: ['*'], zones: ['*'] }
  const admin = { name: 'admin', token: ADMIN, permissions: ['*'], accounts: ['*'], zones: ['*'] }
  const { url } = await client(t, { config: { tokens: [admin, reader] as never } })
  const as = (apiToken: string) => new Cloudflare({ apiToken, maxRetries: 0, baseURL: url }).accounts
  t.match(await all(as(ADMIN).members.list(inAccount)), [{ email: null, user: { email: null } }])
  const refused: unknown = await all(as(READER).members.list(inAccount)).catch((error: unknown) => error)
  t.match(refused, { status: 403 })
})
