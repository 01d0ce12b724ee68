import Cloudflare from 'cloudflare'
import t, { type Test } from 'tap'
import { FINDINGS } from '../../../src/core/model/finding.js'
import { POSTURE_EXPORTS } from '../../../src/core/model/integration.js'
import { all } from '../../helpers/all.js'
import { ACCOUNT, ADMIN } from '../client.js'
import { finding, FINDING, ingest, instance, postureClient, scope } from './helper.js'

const inAccount = { account_id: ACCOUNT }

async function official(t: Test) {
  const api = await postureClient(t)
  const { casb } = new Cloudflare({ apiToken: ADMIN, maxRetries: 0, baseURL: api.url }).zeroTrust
  return { api, casb }
}

t.test('the official client chooses the severity of a finding, and lists follow it', async (t) => {
  const { api, casb } = await official(t)
  await ingest(api, finding('f1', [instance('i1')]), finding('f2', [instance('i2')], { severity: 'Medium' }))
  const { findings } = casb.posture
  const tuned = await findings.tuneSeverity('f2', { ...inAccount, new_severity: 1 })
  t.match(tuned, { finding: { severity: 'Medium' }, severity_override: { severity: 'Critical', created_by: String } })
  const ids = async (query = {}) => (await all(findings.list({ ...inAccount, ...query }))).map(({ id }) => id)
  t.same(await ids({ severity: 'Critical' }), ['f2'])
  t.same(await ids({ severity: 'Medium' }), [])
  t.same(await ids({ order: 'severity' }), ['f2', 'f1'])
  await ingest(api, finding('f2', [instance('i2')], { severity: 'Low' }))
  t.match(await findings.get('f2', inAccount), {
    finding: { severity: 'Low' },
    severity_override: { severity: 'Critical' },
  })
  const reset = await findings.resetSeverity('f2', inAccount)
  t.notOk('severity_override' in reset)
  t.notOk('severity_override' in api.store.get(FINDINGS, scope, 'f2')!.value)
  t.match(await api.call('POST', `${FINDING}/f2/tune_finding_severity`, { new_severity: 5 }), {
    status: 400,
    body: { errors: [{ source: { pointer: '/new_severity' } }] },
  })
  await t.rejects(findings.resetSeverity('gone', inAccount), { status: 404, errors: [{ code: 10608 }] })
})

t.test('the official client manages integrations, and sees those that findings name', async (t) => {
  const { api, casb } = await official(t)
  const { integrations } = casb
  await ingest(api, finding('f1', [instance('i1')]))
  t.match(await all(integrations.list(inAccount)), [
    { id: 'int-1', name: 'Workspace', application: { id: 'GOOGLE_WORKSPACE' }, status: 'Healthy', is_paused: false },
  ])
  const made = await integrations.create({
    ...inAccount,
    application: 'GITHUB',
    name: 'Code',
    credentials: { token: 'hush-hush' },
    dlp_profiles: ['p1'],
  })
  t.match(made, {
    name: 'Code',
    application: { id: 'GITHUB' },
    status: 'Initializing',
    is_paused: false,
    dlp_profiles: ['p1'],
    use_cases: [{ id: 'casb' }],
  })
  const { id } = made
  t.match(await integrations.update(id, { ...inAccount, name: 'All code' }), { id, name: 'All code' })
  t.match(await integrations.pause(id, inAccount), { is_paused: true, status: 'Offline' })
  t.match(await integrations.resume(id, inAccount), { is_paused: false })
  await ingest(api, finding('f2', [instance('i2')], { integration: { id } }))
  t.match(await integrations.get(id, inAccount), { name: 'All code', status: 'Healthy' })
  t.match(await all(integrations.list({ ...inAccount, search: 'code', dlp_enabled: true, order: 'name' })), [{ id }])
  t.notMatch(JSON.stringify([...api.store.records()]), /hush-hush/, 'credentials are not stored')
  const sent = { application: 'BOX', name: 'b', credentials: {} }
  t.match((await api.call('POST', `/accounts/${ACCOUNT}/one/integrations`, sent)).body.messages, [
    { code: 10900, source: { pointer: '/credentials' } },
  ])
  await integrations.delete(id, inAccount)
  t.match(await integrations.get(id, inAccount), { id, name: id }, 'a finding still names it')
  await t.rejects(integrations.delete('int-1', inAccount), { status: 409, errors: [{ code: 10618 }] })
  await t.rejects(integrations.get('gone', inAccount), { status: 404, errors: [{ code: 10617 }] })
})

t.test('the official client lists the applications of integrations', async (t) => {
  const { applications } = (await official(t)).casb
  const listed = await all(applications.list(inAccount))
  t.equal(listed.length, 15)
  t.match(await applications.get('GITHUB', inAccount), { id: 'GITHUB', use_cases: [] })
  t.same(await all(applications.authMethods.list('GITHUB', inAccount)), [])
  await t.rejects(applications.get('NONE' as never, inAccount), { status: 404, errors: [{ code: 10622 }] })
})

t.test('the official client exports findings and instances as CSV', async (t) => {
  const { api, casb } = await official(t)
  const { findings, exports } = casb.posture
  await ingest(
    api,
    finding('f1', [instance('i1'), instance('i2', { is_archived: true })], { name: '=1+1, "quoted"' }),
    finding('f2', [instance('i3')], { severity: 'Low', vendor: 'BOX' }),
  )
  const read = async (url: string | null | undefined) => {
    const response = await fetch(url ?? '', { headers: { authorization: `Bearer ${ADMIN}` } })
    t.match(response.headers.get('content-type'), /^text\/csv/)
    return (await response.text()).split('\r\n').slice(1, -1)
  }
  const made = await findings.export({ ...inAccount, severities: ['HIGH'], vendors: ['GOOGLE_WORKSPACE'] })
  t.match(made, { type: 'finding', status: 'Success', file_name: /^findings-.*\.csv$/ })
  const [line, ...others] = await read(made.download_url)
  t.match(line, /^"f1","'=1\+1, ""quoted""","High","GOOGLE_WORKSPACE","SaaS","Posture","Issue","Workspace","1","1"/)
  t.same(others, [])
  const ofInstances = await findings.instances.export('f1', { ...inAccount, archived: true })
  t.match(await read(ofInstances.download_url), [/^"i2","2026-11-21T10:00:00Z","true","file i2"/])
  t.same(
    (await all(exports.list(inAccount))).map(({ id }) => id),
    [ofInstances.id, made.id],
  )
  t.same(await all(exports.list({ ...inAccount, status: 'Failure' })), [])
  t.strictSame(await exports.get(made.id, inAccount), made)
  t.equal((await fetch(made.download_url ?? '')).status, 400, 'without a token there is no file')
  for (let i = 0; i < 100; i++) await findings.export(inAccount)
  t.equal(api.store.count(POSTURE_EXPORTS, scope), 100, 'the oldest exports leave')
  await t.rejects(exports.get(made.id, inAccount), { status: 404, errors: [{ code: 10621 }] })
})

t.test('the official client lists and exports the assets with content findings', async (t) => {
  const { api, casb } = await official(t)
  const { content, exports, remediations } = casb.posture
  const context = (profile_id: string) => ({ profile_id, entry_ids: ['e1'], created: '2026-11-01T00:00:00Z' })
  const asset = (id: string) => ({ id, external_id: `external ${id}`, name: `File ${id}` })
  const category = { type: 'Content', product: 'SaaS', observation: 'Issue' }
  const flagged = (id: string, on: string, affliction_date: string, ...profiles: string[]) =>
    instance(id, { asset: asset(on), affliction_date, dlp_contexts: profiles.map(context) })
  await ingest(
    api,
    finding(
      'f1',
      [
        flagged('i1', 'a', '2026-11-01T00:00:00Z', 'p1', 'p2'),
        flagged('i2', 'b', '2026-11-02T00:00:00Z', 'p1'),
        { ...flagged('i3', 'c', '2026-11-03T00:00:00Z', 'p1'), is_archived: true },
      ],
      { category },
    ),
    finding('f2', [flagged('i4', 'a', '2026-11-04T00:00:00Z', 'p3')], { category }),
    finding('f3', [flagged('i5', 'd', '2026-11-05T00:00:00Z', 'p1')]),
  )
  t.match(await all(content.list(inAccount)), [
    {
      asset_id: 'a',
      asset_name: 'File a',
      dlp_contexts: [{ profile_id: 'p1' }, { profile_id: 'p2' }, { profile_id: 'p3', entry_ids: ['e1'] }],
      dlp_profile_count: 3,
      dlp_profile_ids: ['p1', 'p2', 'p3'],
      integration: { id: 'int-1', name: 'Workspace' },
      latest_affliction_date: '2026-11-04T00:00:00Z',
    },
    { asset_id: 'b', dlp_profile_count: 1 },
  ])
  const ids = async (query: object) => (await all(content.list({ ...inAccount, ...query }))).map((one) => one.asset_id)
  t.same(await ids({ dlp_profile_id: 'p3' }), ['a'])
  t.same(await ids({ order: 'dlp_profile_count', direction: 'asc' }), ['b', 'a'])
  t.same(await ids({ order: 'asset_name', direction: 'asc', per_page: 1 }), ['a', 'b'])
  t.same(await ids({ max_affliction_date: '2026-11-03T00:00:00Z' }), ['b'])
  t.same(await ids({ search: 'FILE B' }), ['b'])
  t.same(await ids({ integration_id: 'none' }), [])

  const made = await content.export({
    ...inAccount,
    dlp_profile_information: [{ id: 'p1', name: 'Numbers', entries: [] }],
    orders: [{ name: 'asset_name', direction: 'desc' }],
    dlp_profile_id: ['p1'],
  })
  t.match(made, { type: 'content', status: 'Success', file_name: /^content-.*\.csv$/ })
  t.strictSame(await exports.get(made.id, inAccount), made)
  const file = await fetch(made.download_url!, { headers: { authorization: `Bearer ${ADMIN}` } })
  t.equal(
    await file.text(),
    [
      '"asset_id","asset_name","integration","dlp_profile_count","dlp_profile_ids","latest_affliction_date"',
      '"b","File b","Workspace","1","p1","2026-11-02T00:00:00Z"',
      '"a","File a","Workspace","3","p1 p2 p3","2026-11-04T00:00:00Z"',
      '',
    ].join('\r\n'),
  )
  t.same(await all(remediations.jobs.list({ ...inAccount, status: 'failed' })), [])
})
