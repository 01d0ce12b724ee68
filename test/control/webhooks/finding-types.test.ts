import Cloudflare from 'cloudflare'
import t from 'tap'
import { ACCOUNT, ADMIN, OTHER_ACCOUNT } from '../client.js'
import { finding, ingest, instance, postureClient } from './helper.js'

const types = (account: string) => `/accounts/${account}/data-security/posture/finding_types`

t.test('the types of findings are those of the latest findings', async (t) => {
  const api = await postureClient(t)
  const { call, clock } = api
  t.match(await call('GET', types(ACCOUNT)), { status: 200, body: { result: [], result_info: { total_count: 0 } } })
  await ingest(api, finding('f1', [instance('i1')], { finding_type_id: 'open', name: 'Open file', vendor: 'BOX' }))
  await ingest(
    api,
    finding('f2', [instance('i2')], { finding_type_id: 'key', name: 'Old key', vendor: 'AWS', severity: 'Low' }),
  )
  clock.advance(1000)
  await ingest(api, finding('f3', [instance('i3')], { finding_type_id: 'open', name: 'Public file', vendor: 'BOX' }))
  const { body } = await call('GET', types(ACCOUNT))
  t.match(body.result, [
    { id: 'key', name: 'Old key', vendor: 'AWS', severity: 'Low' },
    { id: 'open', name: 'Public file', vendor: 'BOX', category: { type: 'Posture' } },
  ])
  t.equal(body.result_info.total_count, 2)
  for (const [query, ids] of [
    ['search=PUBLIC', ['open']],
    ['vendors=AWS', ['key']],
    ['vendors=AWS&vendors=BOX', ['key', 'open']],
    ['page=2&per_page=1', ['open']],
    ['page=3&per_page=1', []],
  ] as const)
    t.strictSame(
      (await call('GET', `${types(ACCOUNT)}?${query}`)).body.result.map(({ id }: { id: string }) => id),
      ids,
      query,
    )
  t.match(await call('GET', `${types(ACCOUNT)}/open`), { status: 200, body: { result: { id: 'open' } } })
  t.match(await call('GET', `${types(ACCOUNT)}/open/remediation_types`), { status: 200, body: { result: [] } })
  for (const path of [
    `${types(ACCOUNT)}/none`,
    `${types(ACCOUNT)}/none/remediation_types`,
    `${types(OTHER_ACCOUNT)}/open`,
  ])
    t.match(await call('GET', path), { status: 404, body: { errors: [{ code: 10615 }] } }, path)
})

t.test('the official client reads them', async (t) => {
  const api = await postureClient(t)
  await ingest(api, finding('f1', [instance('i1')], { finding_type_id: 'open' }))
  const { findingTypes } = new Cloudflare({ apiToken: ADMIN, baseURL: api.url }).zeroTrust.casb.posture
  const account = { account_id: ACCOUNT }
  const ids = []
  for await (const { id } of findingTypes.list({ ...account, per_page: 1 })) ids.push(id)
  t.strictSame(ids, ['open'])
  t.match(await findingTypes.get('open', account), { id: 'open' })
  const remediations = []
  for await (const one of findingTypes.remediationTypes.list('open', account)) remediations.push(one)
  t.strictSame(remediations, [])
})
