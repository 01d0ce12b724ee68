import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { sealedStorage } from '../../../control/storage/index.js'
import { HYPERDRIVES } from '../../../src/core/model/hyperdrive.js'
import { STORE_SECRET_NAMES, STORE_SECRETS } from '../../../src/core/model/secrets-store.js'
import { account } from '../../../src/core/scope.js'
import { secretOf } from '../../../src/core/vault.js'
import { Keyring } from '../../../src/store/secrets/keyring.js'
import { all } from '../../helpers/all.js'
import { ACCOUNT, ADMIN, client } from '../client.js'

const inAccount = { account_id: ACCOUNT }
const vault = new Keyring([Buffer.alloc(32, 1)])

async function open(t: Test) {
  const api = await client(t, { areas: (deps) => sealedStorage({ ...deps, vault: () => vault }) })
  return { ...api, cf: new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: api.url }) }
}

t.test('the official client creates stores and secrets, and no response has a value', async (t) => {
  const { cf, call, store } = await open(t)
  const { stores } = cf.secretsStore
  const main = await stores.create({ ...inAccount, name: 'main' })
  t.match(main, { name: 'main', account_id: ACCOUNT, id: /^[0-9a-f]{32}$/, created: String, modified: String })
  await t.rejects(stores.create({ ...inAccount, name: 'main' }), { status: 409, errors: [{ code: 1003 }] })
  await t.rejects(stores.create({ ...inAccount, name: 'a b' }), { status: 400, errors: [{ code: 1002 }] })
  const at = { ...inAccount, store_id: main.id }
  const made = await all(
    stores.secrets.create(main.id, {
      ...inAccount,
      body: [
        { name: 'b', value: 'hush', scopes: ['workers'], comment: 'why' },
        { name: 'a', value: 'hush too', scopes: ['dex'] },
      ],
    }),
  )
  t.match(made, [
    { name: 'b', store_id: main.id, status: 'active', comment: 'why', scopes: ['workers'] },
    { name: 'a', comment: '' },
  ])
  const [b] = made
  const id = b!.id
  const list = async (query = {}) =>
    (await all(stores.secrets.list(main.id, { ...inAccount, ...query }))).map(({ name }) => name)
  t.same(await list({ order: 'name' }), ['a', 'b'])
  t.same(await list({ order: 'name', direction: 'desc' }), ['b', 'a'])
  t.same(await list({ search: 'b' }), ['b'])
  const sealed = store.get(STORE_SECRETS, account(ACCOUNT), id)!.value.value.sealed
  t.equal(vault.open(sealed, secretOf(STORE_SECRETS, account(ACCOUNT), id)), 'hush')
  t.match(await stores.secrets.edit(id, { ...at, value: 'new', comment: 'c' }), { name: 'b', comment: 'c' })
  const copy = await stores.secrets.duplicate(id, { ...at, name: 'copy', scopes: ['workers'] })
  const copied = store.get(STORE_SECRETS, account(ACCOUNT), copy.id)!.value.value.sealed
  t.equal(vault.open(copied, secretOf(STORE_SECRETS, account(ACCOUNT), copy.id)), 'new')
  t.match(await cf.secretsStore.quota.get(inAccount), { secrets: { usage: 3 } })
  await t.rejects(stores.delete(main.id, inAccount), { status: 409, errors: [{ code: 1005 }] })
  const { body } = await call('GET', `/accounts/${ACCOUNT}/secrets_store/stores/${main.id}/secrets`)
  t.notMatch(JSON.stringify(body), /hush|sealed/)
  const twice = [
    { name: 'c', value: 'x', scopes: ['workers'] },
    { name: 'c', value: 'y', scopes: ['workers'] },
  ]
  t.equal((await call('POST', `/accounts/${ACCOUNT}/secrets_store/stores/${main.id}/secrets`, twice)).status, 409)
  t.same((await list()).length, 3, 'nothing was stored')
  for (const one of await all(stores.secrets.list(main.id, inAccount))) await stores.secrets.delete(one.id, at)
  await t.rejects(stores.secrets.get(id, at), { status: 404, errors: [{ code: 1001 }] })
  await stores.delete(main.id, inAccount)
  t.same(await all(stores.list(inAccount)), [])
})

t.test('a store of secrets is deleted with its secrets if that is forced', async (t) => {
  const { call, store } = await open(t)
  const path = `/accounts/${ACCOUNT}/secrets_store/stores`
  const make = async (name: string): Promise<string> => {
    const { id } = (await call('POST', path, { name })).body.result as { id: string }
    const secrets = [
      { name: 'a', value: 'x', scopes: ['workers'] },
      { name: 'b', value: 'y', scopes: ['workers'] },
    ]
    t.equal((await call('POST', `${path}/${id}/secrets`, secrets)).status, 200)
    return id
  }
  const [main, other] = [await make('main'), await make('other')]
  for (const query of ['', '?force=false'])
    t.match(await call('DELETE', `${path}/${main}${query}`), { status: 409, body: { errors: [{ code: 1005 }] } })
  t.match(await call('DELETE', `${path}/${main}?force=true`), { status: 200, body: { result: { id: main } } })
  t.same(
    store.list(STORE_SECRETS, account(ACCOUNT)).map(({ value }) => value.store_id),
    [other, other],
    'secrets of other stores stay',
  )
  t.equal(store.count(STORE_SECRET_NAMES, account(ACCOUNT)), 2)
  t.equal((await call('DELETE', `${path}/${main}?force=true`)).status, 404)
})

t.test('the official client creates, changes and deletes Hyperdrive configurations', async (t) => {
  const { cf, call, store } = await open(t)
  const { configs } = cf.hyperdrive
  const origin = { scheme: 'postgres' as const, host: 'db.example.com', database: 'shop', user: 'u', password: 'hush' }
  const made = await configs.create({ ...inAccount, name: 'main', origin: { ...origin, port: 5432 } })
  t.match(made, { name: 'main', origin: { host: 'db.example.com', port: 5432, user: 'u' }, created_on: String })
  const path = `/accounts/${ACCOUNT}/hyperdrive/configs`
  t.match(
    (await call('POST', path, { name: 'my', origin: { ...origin, scheme: 'mysql' } })).body.result.origin.port,
    3306,
  )
  await t.rejects(configs.create({ ...inAccount, name: 'main', origin: { ...origin, port: 1 } }), {
    status: 409,
    errors: [{ code: 2017 }],
  })
  for (const bad of [{ host: 'a b' }, { port: 0 }, { scheme: 'oracle' }, { password: '' }, { user: undefined }])
    t.equal((await call('POST', path, { name: 'x', origin: { ...origin, ...bad } })).status, 400, JSON.stringify(bad))
  const changed = await configs.edit(made.id, {
    ...inAccount,
    origin: { host: 'other.example.com', port: 6432 },
  })
  t.match(changed, { name: 'main', origin: { host: 'other.example.com', port: 6432, database: 'shop' } })
  await configs.edit(made.id, { ...inAccount, caching: { disabled: true }, origin_connection_limit: 7 })
  const password = () => {
    const { sealed } = store.get(HYPERDRIVES, account(ACCOUNT), made.id)!.value.password
    return vault.open(sealed, secretOf(HYPERDRIVES, account(ACCOUNT), made.id))
  }
  t.equal(password(), 'hush', 'what is left out stays')
  const whole = { name: 'renamed', origin: { ...origin, port: 5432, password: 'new' } }
  const replaced = await configs.update(made.id, { ...inAccount, ...whole })
  t.same(
    [replaced.caching, replaced.origin_connection_limit],
    [{}, 60],
    'what a replacement leaves out has its default',
  )
  t.equal(password(), 'new')
  t.match(await all(configs.list(inAccount)), { length: 2 })
  t.notMatch(JSON.stringify((await call('GET', path)).body), /hush|new"|sealed/)
  await configs.delete(made.id, inAccount)
  await t.rejects(configs.get(made.id, inAccount), { status: 404, errors: [{ code: 2001 }] })
})

// The official command line says text/plain, and got the status 415.
t.test('the bodies of the official command line are JSON, whatever their type', async (t) => {
  const { call } = await open(t)
  const plain = { 'content-type': 'text/plain;charset=UTF-8' }
  const made = async (path: string, body: unknown, method = 'POST') => {
    const { status, body: answer } = await call(method, `/accounts/${ACCOUNT}${path}`, body, plain)
    t.equal(status, 200, `${method} ${path}`)
    return answer.result
  }
  const stores = '/secrets_store/stores'
  const { id } = await made(stores, { name: 'main' })
  const [secret] = await made(`${stores}/${id}/secrets`, [{ name: 'a', value: 'x', scopes: ['workers'] }])
  const path = `${stores}/${id}/secrets/${secret.id}`
  await made(path, { comment: 'c' }, 'PATCH')
  await made(`${path}/duplicate`, { name: 'b', scopes: ['workers'] })
  const origin = { scheme: 'postgres', host: 'db.example.com', database: 'shop', user: 'u', password: 'hush' }
  const config = await made('/hyperdrive/configs', { name: 'main', origin })
  await made(`/hyperdrive/configs/${config.id}`, { name: 'other' }, 'PATCH')
})

t.test('secrets of a store are deleted together: all or none', async (t) => {
  const { call, cf } = await open(t)
  const { stores } = cf.secretsStore
  const { id } = await stores.create({ ...inAccount, name: 'main' })
  const other = await stores.create({ ...inAccount, name: 'other' })
  const secret = (name: string) => ({ name, value: 'x', scopes: ['workers' as const] })
  await all(stores.secrets.create(other.id, { ...inAccount, body: [secret('kept')] }))
  const body = [secret('a'), secret('b'), secret('c')]
  const [a, b] = await all(stores.secrets.create(id, { ...inAccount, body }))
  const names = async (store: string) => (await all(stores.secrets.list(store, inAccount))).map(({ name }) => name)
  const path = `/accounts/${ACCOUNT}/secrets_store/stores/${id}/secrets`
  t.match(await call('DELETE', path, [{ id: a!.id }, { id: 'gone' }]), {
    status: 404,
    body: { errors: [{ code: 1001, source: { pointer: '/1/id' } }] },
  })
  t.same((await names(id)).length, 3, 'all or none')
  t.match(await call('DELETE', path, { ids: [a!.id, 'gone'] }), {
    status: 404,
    body: { errors: [{ code: 1001, source: { pointer: '/ids/1' } }] },
  })
  await t.rejects(stores.secrets.bulkDelete(id, inAccount), { status: 400, errors: [{ code: 1002 }] })
  t.same((await names(id)).length, 3, 'without a list nothing is deleted')
  t.match((await call('DELETE', path, [{ id: a!.id }, { id: b!.id }])).body.result, [{ name: 'a' }, { name: 'b' }])
  t.same(await names(id), ['c'])
  const [c] = await all(stores.secrets.list(id, inAccount))
  await stores.secrets.bulkDelete(id, inAccount, { body: { ids: [c!.id, c!.id] } })
  t.same(await names(id), [])
  t.same(await names(other.id), ['kept'])
  await all(stores.secrets.create(id, { ...inAccount, body: [secret('a')] }))
  t.same(await names(id), ['a'], 'the name is free again')
})
