import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { storage } from '../../../control/storage/index.js'
import { R2_DOMAINS, R2_LOCKS } from '../../../src/core/model/bucket-settings.js'
import { account } from '../../../src/core/scope.js'
import { fileBlobs } from '../../../src/store/blobs/file-blobs.js'
import { testFolder } from '../../helpers/folder.js'
import { ACCOUNT, ADMIN, client, CONFIG, handClock, ZONE } from '../client.js'

const R2 = `/accounts/${ACCOUNT}/r2/buckets`
const inAccount = { account_id: ACCOUNT }
const inBucket = { ...inAccount, bucket_name: 'files' }
const inert = (pointer: string) => [{ code: 10900, message: 'stored, without effect here', source: { pointer } }]

async function open(t: Test) {
  const clock = handClock()
  const blobs = fileBlobs(testFolder(t), clock)
  const api = await client(t, { clock, areas: (deps) => storage({ ...deps, blobs: () => blobs }) })
  const cf = new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: api.url })
  await api.call('POST', R2, { name: 'files' })
  return { ...api, cf }
}

t.test('the official client sets and reads lock rules, which have no effect', async (t) => {
  const { cf, call, store } = await open(t)
  const { locks } = cf.r2.buckets
  t.strictSame(await locks.get('files', inAccount), { rules: [] })
  const rules = [
    { id: 'a', enabled: true, prefix: 'logs/', condition: { type: 'Age' as const, maxAgeSeconds: 60 } },
    { id: 'b', enabled: true, condition: { type: 'Date' as const, date: '2027-01-31T00:00:00Z' } },
    { id: 'c', enabled: false, condition: { type: 'Indefinite' as const } },
  ]
  t.strictSame(await locks.update('files', { ...inAccount, rules }), {})
  t.strictSame(await locks.get('files', inAccount), { rules })
  t.strictSame((await call('PUT', `${R2}/files/lock`, { rules })).body.messages, inert('/rules'))
  const bad: readonly (readonly [unknown, string])[] = [
    [{ rules: [rules[0], rules[0]] }, '/rules/1/id'],
    [
      { rules: [{ ...rules[1], condition: { type: 'Date', date: '2027-02-31T25:00:00Z' } }] },
      '/rules/0/condition/date',
    ],
    [{ rules: [{ ...rules[0], condition: { type: 'Age' } }] }, '/rules/0/condition/maxAgeSeconds'],
    [{ rules: [{ ...rules[0], more: 1 }] }, '/rules/0/more'],
  ]
  for (const [body, pointer] of bad)
    t.match(await call('PUT', `${R2}/files/lock`, body), { status: 400, body: { errors: [{ source: { pointer } }] } })
  t.strictSame(await locks.get('files', inAccount), { rules })
  t.match(await call('GET', `${R2}/none/lock`), { status: 404, body: { errors: [{ code: 10006 }] } })
  await call('DELETE', `${R2}/files`)
  t.equal(store.count(R2_LOCKS, account(ACCOUNT)), 0, 'the rules go with their bucket')
})

t.test('the official client switches the managed domain, which serves nothing', async (t) => {
  const { cf, call } = await open(t)
  const { managed } = cf.r2.buckets.domains
  const off = await managed.list('files', inAccount)
  t.match(off, { enabled: false, bucketId: /^[0-9a-f]{32}$/, domain: /^pub-[0-9a-f]{32}\.r2\.invalid$/ })
  t.strictSame(await managed.update('files', { ...inAccount, enabled: true }), { ...off, enabled: true })
  t.match(await managed.list('files', inAccount), { enabled: true })
  const { body } = await call('PUT', `${R2}/files/domains/managed`, { enabled: true })
  t.strictSame(body.messages, inert('/enabled'))
})

t.test('the official client adds, changes and removes custom domains', async (t) => {
  const { cf, call, store } = await open(t)
  const { custom } = cf.r2.buckets.domains
  const { name } = CONFIG.zones.find(({ id }) => id === ZONE)!
  const domain = `files.${name}`
  const status = { ownership: 'unknown', ssl: 'unknown' } as const
  t.strictSame(await custom.list('files', inAccount), { domains: [] })
  const added = { domain, enabled: true, zoneId: ZONE, minTLS: '1.2' as const, zoneName: name }
  t.strictSame(
    await custom.create('files', { ...inAccount, domain, enabled: true, zoneId: ZONE, minTLS: '1.2' }),
    added,
  )
  t.strictSame(await custom.list('files', inAccount), { domains: [{ ...added, status }] })
  t.strictSame(await custom.update(domain, { ...inBucket, enabled: false }), { ...added, enabled: false })
  t.strictSame(await custom.get(domain, inBucket), { ...added, enabled: false, status })
  const bad: readonly (readonly [unknown, number, string | undefined])[] = [
    [{ domain, enabled: true, zoneId: ZONE }, 409, '/domain'],
    [{ domain: 'elsewhere.example', enabled: true, zoneId: ZONE }, 400, '/domain'],
    [{ domain: `bad_${domain}`, enabled: true, zoneId: ZONE }, 400, '/domain'],
    [{ domain: `b.${name}`, enabled: true, zoneId: 'none' }, 400, '/zoneId'],
    [{ domain: `b.${name}`, zoneId: ZONE }, 400, '/enabled'],
  ]
  for (const [body, code, pointer] of bad)
    t.match(await call('POST', `${R2}/files/domains/custom`, body), {
      status: code,
      body: { errors: [{ source: { pointer } }] },
    })
  t.match(await call('GET', `${R2}/files/domains/custom/none.example`), { status: 404 })
  t.match(await call('DELETE', `${R2}/files/domains/custom/none.example`), { status: 404 })
  t.strictSame(await custom.delete(domain, inBucket), { domain })
  t.strictSame(await custom.list('files', inAccount), { domains: [] })
  await call('DELETE', `${R2}/files`)
  t.equal(store.count(R2_DOMAINS, account(ACCOUNT)), 0, 'the domains go with their bucket')
})

t.test('Sippy is off', async (t) => {
  const { cf, call } = await open(t)
  t.strictSame(await cf.r2.buckets.sippy.get('files', inAccount), { enabled: false })
  t.strictSame(await cf.r2.buckets.sippy.delete('files', inAccount), { enabled: false })
  t.equal((await call('GET', `${R2}/none/sippy`)).status, 404)
  const source = { provider: 'aws' as const, bucket: 'old', accessKeyId: 'a', secretAccessKey: 'hush-hush' }
  await t.rejects(cf.r2.buckets.sippy.update('files', { ...inAccount, source }), {
    errors: [{ message: /Sippy does not exist on this server; copy the objects/ }],
  })
})
