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
