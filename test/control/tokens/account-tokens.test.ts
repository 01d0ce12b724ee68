import Cloudflare from 'cloudflare'
import t from 'tap'
import { all } from '../../helpers/all.js'
import { audited } from '../areas-helper.js'
import { ACCOUNT, ADMIN, client, OTHER_ACCOUNT, OTHER_ZONE, ZONE } from '../client.js'

const PATH = `/accounts/${ACCOUNT}/tokens`
const OWN = { [`com.cloudflare.api.account.${ACCOUNT}`]: '*' }

const policy = (resources: object, name = 'Logs Write') => ({
  effect: 'allow',
  permission_groups: [{ name }],
  resources,
})

t.test('the official client makes, lists, changes, rolls, verifies and removes a token of an account', async (t) => {
  const { url } = await client(t)
  const cf = new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: url })
  const account_id = ACCOUNT
  const groups = await all(cf.accounts.tokens.permissionGroups.list({ account_id, name: 'Logs Write' }))
  const policies = [{ effect: 'allow' as const, permission_groups: [{ id: groups[0]!.id! }], resources: OWN }]
  const made = await cf.accounts.tokens.create({ account_id, name: 'ci', policies })
  t.match(made, { name: 'ci', status: 'active', value: String })
  const id = made.id!
  t.match(await cf.accounts.tokens.get(id, { account_id }), { id, name: 'ci' })
  t.match(await cf.accounts.tokens.update(id, { account_id, name: 'cd', policies }), { name: 'cd' })
  const own = new Cloudflare({ apiToken: made.value!, maxRetries: 0, baseURL: url })
  t.match(await own.accounts.tokens.verify({ account_id }), { id, status: 'active' })
  const value = await cf.accounts.tokens.value.update(id, { account_id })
  await t.rejects(own.accounts.tokens.verify({ account_id }), { message: /^401/ })
  const rolled = new Cloudflare({ apiToken: value, maxRetries: 0, baseURL: url })
  t.match(await rolled.accounts.get({ account_id }), { id: ACCOUNT })
  const listed = await all(cf.accounts.tokens.list({ account_id }))
  t.same(
    listed.map(({ name }) => name),
    ['cd'],
  )
  t.match(await cf.accounts.tokens.delete(id, { account_id }), { id })
  await t.rejects(rolled.accounts.get({ account_id }), { message: /^403/ })
})

t.test('a token of an account belongs to that account alone', async (t) => {
  const { call, as, store } = await client(t)
  const made = await call('POST', PATH, { name: 'n', policies: [policy(OWN)] })
  const { id } = made.body.result
  for (const path of [`/accounts/${OTHER_ACCOUNT}/tokens`, '/user/tokens']) {
    t.same((await call('GET', path)).body.result, [], path)
    t.equal((await call('GET', `${path}/${id}`)).status, 404, path)
    t.equal((await call('DELETE', `${path}/${id}`)).status, 404, path)
  }
  t.equal((await as(made.body.result.value)('GET', `/accounts/${OTHER_ACCOUNT}`)).status, 403)

  // `*` is the account that owns the token, and its zones.
  const everything = { 'com.cloudflare.api.account.*': '*', 'com.cloudflare.api.account.zone.*': '*' }
  const wide = await call('POST', PATH, { name: 'w', policies: [policy(everything, 'Zone Settings Write')] })
  const by = as(wide.body.result.value)
  t.equal((await by('GET', `/zones/${ZONE}/settings`)).status, 200)
  t.equal((await by('GET', `/zones/${OTHER_ZONE}/settings`)).status, 403)
  t.equal((await by('GET', `/accounts/${OTHER_ACCOUNT}`)).status, 403)
  t.same(
    (await by('GET', '/zones')).body.result.map(({ account }: { account: { id: string } }) => account.id),
    [ACCOUNT, ACCOUNT],
  )
  const entries = await audited(store)
  t.same(
    entries.map(({ resource }) => resource.scope),
    entries.map(() => ({ type: 'account', id: ACCOUNT })),
  )
})

t.test('a token of an account cannot name another account, or grant more than its maker has', async (t) => {
  const { call, as } = await client(t)
  const FOREIGN = [
    { [`com.cloudflare.api.account.${OTHER_ACCOUNT}`]: '*' },
    { [`com.cloudflare.api.account.${OTHER_ACCOUNT}`]: { 'com.cloudflare.api.account.zone.*': '*' } },
    { [`com.cloudflare.api.account.zone.${OTHER_ZONE}`]: '*' },
    { [`com.cloudflare.api.account.${ACCOUNT}`]: { [`com.cloudflare.api.account.zone.${OTHER_ZONE}`]: '*' } },
  ]
  for (const resources of FOREIGN)
    t.match(await call('POST', PATH, { name: 'n', policies: [policy(resources)] }), {
      status: 400,
      body: { errors: [{ source: { pointer: `/policies/0/resources/${Object.keys(resources)[0]}` } }] },
    })
  const maker = await call('POST', PATH, { name: 'm', policies: [policy(OWN, 'Account API Tokens Write')] })
  const by = as(maker.body.result.value)
  t.match(await by('POST', PATH, { name: 'n', policies: [policy(OWN)] }), { status: 403 })
  t.match(await by('POST', PATH, { name: 'n', policies: [policy(OWN, 'Account API Tokens Read')] }), { status: 403 })
  t.equal((await by('GET', PATH)).status, 200)
  t.equal((await by('GET', '/user/tokens')).status, 403)
  t.equal((await by('GET', `/accounts/${OTHER_ACCOUNT}/tokens`)).status, 403)
})
