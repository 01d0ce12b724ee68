import t, { type Test } from 'tap'
import { basicEndpoints } from '../../../control/index.js'
import { DAEMON } from '../../../src/core/scope.js'
import { MANAGED_CERTIFICATES } from '../../../src/tls/acme/records.js'
import { tlsFile } from '../../helpers/tls.js'
import { client, CONFIG, NOWHERE, ZONE } from '../client.js'

const HOSTNAMES = `/zones/${ZONE}/custom_hostnames`
const PACKS = `/zones/${ZONE}/ssl/certificate_packs`
// The certificate of the fixtures is valid for a hundred years; on the clock of the tests it begins in the future.
const FILES = [tlsFile('cert.pem')]
const AFTER_MS = 200 * 365 * 86_400_000

/** The API of a daemon with an HTTPS listener; the zone serves names of the certificate file. */
async function withTls(t: Test, tls: { acme: boolean; files: readonly string[] }) {
  const hostnames = ['receiver.test', 'www.example.test']
  const zones = CONFIG.zones.map((zone) => (zone.id === ZONE ? { ...zone, hostnames } : zone))
  return await client(t, {
    config: { zones },
    areas: (deps) => basicEndpoints({ ...deps, tls: () => ({ ...tls, ordered: () => ['www.example.test'] }) }),
  })
}

t.test('no certificates can be ordered from the API', async (t) => {
  const { call } = await client(t)
  t.match(await call('GET', `${PACKS}/quota`), {
    status: 200,
    body: { result: { advanced: { allocated: 0, used: 0 } } },
  })
})

t.test('the certificate of a custom hostname can come from a file', async (t) => {
  const { call, clock } = await withTls(t, { acme: false, files: [...FILES, '/none.pem'] })
  const create = async (hostname: string) =>
    (await call('POST', HOSTNAMES, { hostname, ssl: { method: 'http', type: 'dv' } })).body.result
  const covered = await create('shop.receiver.test')
  t.match(covered.ssl, {
    status: 'active',
    issuer: 'Test authority',
    expires_on: '2126-10-28T14:37:41.000Z',
    validation_errors: undefined,
  })
  t.match((await create('a.shop.receiver.test')).ssl, {
    status: 'pending_validation',
    validation_errors: [{ message: /no certificate file names this host/ }],
  })
  const listed = async (query: string) =>
    (await call('GET', `${HOSTNAMES}?${query}`)).body.result.map((one: { hostname: string }) => one.hostname)
  t.same(await listed('ssl_status=active'), ['shop.receiver.test'])
  t.same(await listed('order=ssl_status'), ['a.shop.receiver.test', 'shop.receiver.test'])

  t.match((await call('GET', PACKS)).body.result, [
    { type: 'sni_custom', status: 'active', hosts: ['receiver.test', '*.receiver.test', 'localhost'] },
  ])
  clock.advance(AFTER_MS)
  t.match((await call('GET', `${HOSTNAMES}/${covered.id}`)).body.result.ssl, { status: 'expired' })
  t.same((await call('GET', PACKS)).body.result, [])
  t.match((await call('GET', `${PACKS}?status=all`)).body.result, [{ status: 'expired' }])
})

t.test('the certificate of a name without a file is the one that ACME has, or orders', async (t) => {
  const { call, store } = await withTls(t, { acme: true, files: FILES })
  const { id, ssl } = (await call('POST', HOSTNAMES, { hostname: 'shop.customer.test' })).body.result
  t.match(ssl, { id, status: 'pending_validation', hosts: ['shop.customer.test'] }, 'shown without options of its own')
  const failed = { orders: [], failures: 2, last_error: 'the authority says no' }
  for (const name of ['shop.customer.test', 'www.example.test'])
    await store.change(MANAGED_CERTIFICATES, DAEMON, name, () => failed)
  t.match((await call('GET', `${HOSTNAMES}/${id}`)).body.result.ssl, {
    status: 'pending_validation',
    validation_errors: [{ message: 'the authority says no' }],
  })
  const all = (await call('GET', `${PACKS}?status=all`)).body.result
  t.match(all, [
    { type: 'sni_custom', status: 'active' },
    {
      type: 'universal',
      status: 'pending_validation',
      hosts: ['www.example.test'],
      certificates: [],
      validation_errors: [{ message: 'the authority says no' }],
    },
  ])
  t.same((await call('GET', `${PACKS}/${all[1].id}`)).body.result, all[1])
  t.equal((await call('GET', `${PACKS}/${NOWHERE}`)).status, 404)
  t.equal((await call('GET', `${PACKS}?status=some`)).status, 400)
})

t.test('without an HTTPS listener TLS ends in front: custom hostnames are active', async (t) => {
  const { call } = await client(t)
  const { ssl } = (await call('POST', HOSTNAMES, { hostname: 'a.customer.test', ssl: {} })).body.result
  t.match(ssl, { status: 'active', validation_errors: undefined, expires_on: undefined })
  t.same((await call('GET', `${PACKS}?status=all`)).body.result, [])
})
