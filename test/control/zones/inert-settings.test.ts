import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { audited } from '../areas-helper.js'
import { ACCOUNT, ADMIN, client, ZONE } from '../client.js'

const zone = { zone_id: ZONE }
const inert = (pointer: string) => [{ code: 10900, message: 'stored, without effect here', source: { pointer } }]

async function open(t: Test) {
  const api = await client(t)
  return { ...api, cf: new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: api.url }) }
}

t.test('the official client holds a zone, which has no effect', async (t) => {
  const { cf, call, store } = await open(t)
  const { holds } = cf.zones
  t.strictSame(await holds.get(zone), { hold: false })
  t.strictSame(await holds.create({ ...zone, include_subdomains: true }), { hold: true, include_subdomains: true })
  const hold_after = '2027-01-31T00:00:00Z'
  t.match(await holds.edit({ ...zone, hold_after }), { hold: true, include_subdomains: true, hold_after })
  t.match(await holds.edit({ ...zone, include_subdomains: false }), { include_subdomains: false, hold_after })
  t.strictSame(await holds.edit({ ...zone, hold_after: null }), { hold: true, include_subdomains: false })
  const path = `/zones/${ZONE}/hold`
  t.strictSame((await call('POST', path)).body.messages, inert(''))
  t.match(await call('PATCH', path, { hold_after: 'soon' }), {
    status: 400,
    body: { errors: [{ source: { pointer: '/hold_after' } }] },
  })
  t.match(await call('PATCH', path, { more: 1 }), { status: 400 })
  t.strictSame(await holds.delete({ ...zone, hold_after }), { hold: false, hold_after })
  t.match(await holds.get(zone), { hold: false })
  t.match(await audited(store), [{ action: 'update', resource: { kind: 'setting', id: 'hold' } }])
})

t.test('the official client switches Universal SSL, which has no effect', async (t) => {
  const { cf, call } = await open(t)
  const { settings } = cf.ssl.universal
  t.strictSame(await settings.get(zone), { enabled: true })
  t.strictSame(await settings.edit({ ...zone, enabled: false }), { enabled: false })
  t.strictSame(await settings.get(zone), { enabled: false })
  const path = `/zones/${ZONE}/ssl/universal/settings`
  t.strictSame((await call('PATCH', path, { enabled: true })).body.messages, inert('/enabled'))
  t.match(await call('PATCH', path, { enabled: 'on' }), { status: 400 })
})

t.test('the official client reads the orders of certificates, and a membership', async (t) => {
  const { cf, call } = await open(t)
  t.strictSame(await cf.ssl.verification.get(zone), [])
  t.match(await cf.memberships.get(ACCOUNT), { id: ACCOUNT, status: 'accepted' })
  t.equal((await call('GET', '/memberships/none')).status, 403)
})
