import { gzipSync } from 'node:zlib'
import t from 'tap'
import { FINDINGS, INSTANCES } from '../../../src/core/model/finding.js'
import { turns } from '../../helpers/web.js'
import { OTHER_ACCOUNT } from '../client.js'
import {
  finding,
  FINDING,
  hook,
  ingest,
  INGEST,
  instance,
  ndjson,
  POLICIES,
  policy,
  postureClient,
  scope,
  TYPE,
} from './helper.js'

t.test('findings are accepted as lines or as a list, compressed or not, and can be read', async (t) => {
  const api = await postureClient(t)
  const one = finding('f/1=', [instance('i1'), instance('i2', { is_archived: true })])
  const two = finding('f2', [instance('i3', { affliction_date: '2026-11-20T10:00:00+01:00' })], {
    severity: 'Low',
    name: 'Old key',
    finding_type_id: 'type-2',
  })
  const forms: [body: string | Buffer, headers: Record<string, string>][] = [
    [ndjson(one, two), { 'content-type': 'application/x-ndjson' }],
    [`\n${ndjson(one, two)}\r\n\n`, {}],
    [JSON.stringify([one, two], null, 2), { 'content-type': 'application/json' }],
    [gzipSync(ndjson(one, two)), { 'content-encoding': 'gzip' }],
    [gzipSync(JSON.stringify([one, two])), { 'content-encoding': 'gzip' }],
  ]
  for (const [body, headers] of forms) {
    const response = await fetch(api.url + INGEST, {
      method: 'POST',
      headers: { authorization: 'Bearer admin-token-0123456789-abcdefghijklmnop', ...headers },
      body,
    })
    t.equal(response.status, 202)
    t.strictSame(await response.json(), {
      success: true,
      errors: [],
      messages: [],
      result: { accepted: 3, rejected: [] },
    })
  }
  t.equal(api.store.count(INSTANCES), 3)
  t.equal(api.records.length, 15)
  t.strictSame(api.records[0], {
    AssetDisplayName: 'file i1',
    AssetExternalID: 'x-i1',
    AssetLink: 'https://drive.example.com/f',
    AssetMetadata: { Owner: 'ann@example.com' },
    DetectedTimestamp: '2026-11-21T10:00:00Z',
    FindingTypeDisplayName: 'Public file',
    FindingTypeID: TYPE,
    FindingTypeSeverity: 'High',
    InstanceID: 'i1',
    IntegrationDisplayName: 'Workspace',
    IntegrationID: 'int-1',
    IntegrationPolicyVendor: 'GOOGLE',
  })

  const list = async (query: string) =>
    (await api.call('GET', `${FINDING}?${query}`)).body.result.map(({ id }: { id: string }) => id)
  t.match((await api.call('GET', FINDING)).body, {
    result_info: { page: 1, count: 2, total_count: 2, total_pages: 1 },
    result: [
      {
        id: 'f/1=',
        finding: { id: TYPE, name: 'Public file', severity: 'High', category: { type: 'Posture' } },
        integration: { id: 'int-1', name: 'Workspace' },
        ignored: false,
        active_count: 1,
        archived_count: 1,
        instance_count: 2,
        latest_affliction_date: '2026-11-21T10:00:00Z',
      },
      { id: 'f2', latest_affliction_date: '2026-11-20T10:00:00+01:00' },
    ],
  })
  const CHOSEN: [query: string, ids: string[]][] = [
    ['direction=asc', ['f2', 'f/1=']],
    ['per_page=1&page=2', ['f2']],
    ['severity=Low', ['f2']],
    ['order=severity', ['f/1=', 'f2']],
    ['order=finding.name&direction=asc', ['f2', 'f/1=']],
    ['order=instance_count', ['f/1=', 'f2']],
    ['finding_type_ids=type-2,type-3', ['f2']],
    ['search=PUBLIC', ['f/1=']],
    ['integration_id=int-2', []],
    ['type=Content', []],
    ['product=Saas&observation=Issue', ['f/1=', 'f2']],
    ['min_affliction_date=2026-11-21T00:00:00Z', ['f/1=']],
    ['max_affliction_date=2026-11-20T09:00:00Z', ['f2']],
    ['ignored=true', []],
  ]
  for (const [query, ids] of CHOSEN) t.same(await list(query), ids, query)
  t.match(await api.call('GET', `${FINDING}?severity=low`), { status: 400, body: { errors: [{ code: 10002 }] } })

  const at = `${FINDING}/${encodeURIComponent('f/1=')}`
  t.match((await api.call('GET', at)).body.result, { id: 'f/1=' })
  const instances = async (query = '') =>
    (await api.call('GET', `${at}/instances?${query}`)).body.result.map(({ id }: { id: string }) => id)
  t.same(await instances(), ['i1', 'i2'])
  t.same(await instances('archived=true'), ['i2'])
  t.same(await instances('search=FILE%20I1'), ['i1'])
  t.same(await instances('asset_ids=asset-i2'), ['i2'])
  t.same(await instances('order=asset.name'), ['i2', 'i1'])
  t.strictSame((await api.call('GET', `${at}/instances/i1`)).body.result, {
    ...instance('i1'),
    is_archived: false,
    dlp_contexts: [],
    remediations: [],
    webhooks: [],
  })
  t.match(await api.call('GET', `${at}/instances/i3`), { status: 404, body: { errors: [{ code: 10609 }] } })
  t.match(await api.call('GET', `${FINDING}/none`), { status: 404, body: { errors: [{ code: 10608 }] } })
  t.match(await api.call('GET', `${FINDING}/none/instances`), { status: 404, body: { errors: [{ code: 10608 }] } })
  t.match((await api.call('GET', `/accounts/${OTHER_ACCOUNT}/data-security/posture/findings`)).body.result, [])
})

t.test(
  'instances are archived and taken out again; findings are ignored; what comes in again leaves that alone',
  async (t) => {
    const api = await postureClient(t)
    const { call, store } = api
    const body = finding('f1', [instance('i1'), instance('i2')])
    await ingest(api, body)
    const archived = await call('POST', `${FINDING}/f1/instances/archive`, { check_instances: ['i1', 'i1', 'i2'] })
    t.match(archived, { status: 200, body: { result: { id: 'i1', is_archived: true } } })
    t.match((await call('GET', `${FINDING}/f1`)).body.result, {
      active_count: 0,
      archived_count: 2,
      latest_affliction_date: '',
    })
    t.match((await call('POST', `${FINDING}/ignore`, { checks: ['f1'] })).body.result, { id: 'f1', ignored: true })
    t.match((await ingest(api, body)).body.result, { accepted: 2 })
    t.match((await call('GET', `${FINDING}/f1`)).body.result, { active_count: 0, ignored: true })
    await call('POST', `${FINDING}/f1/instances/unarchive`, { check_instances: ['i2'] })
    await call('POST', `${FINDING}/unignore`, { checks: ['f1'] })
    t.match((await call('GET', `${FINDING}/f1`)).body.result, { active_count: 1, archived_count: 1, ignored: false })
    const before = store.get(INSTANCES, scope, 'i1')?.version
    t.match(await call('POST', `${FINDING}/f1/instances/archive`, { check_instances: ['i2', 'i9'] }), {
      status: 404,
      body: { errors: [{ code: 10609, source: { pointer: '/check_instances/1' } }] },
    })
    t.match((await call('GET', `${FINDING}/f1/instances/i2`)).body.result, { is_archived: false })
    await ingest(api, body)
    t.equal(store.get(INSTANCES, scope, 'i1')?.version, before, 'the same again is not written again')
    t.match(await call('POST', `${FINDING}/ignore`, { checks: ['f9'] }), { status: 404 })
    t.match(await call('POST', `${FINDING}/f1/instances/archive`, { check_instances: [] }), { status: 400 })
  },
)

t.test('counts and the latest date follow instances as they are added, changed, removed and added again', async (t) => {
  const api = await postureClient(t)
  const at = (id: string, hour: number) => instance(id, { affliction_date: `2026-11-21T${hour}:00:00Z` })
  const counts = async () => {
    const { result } = (await api.call('GET', `${FINDING}/f1`)).body
    return [result.active_count, result.archived_count, result.latest_affliction_date.slice(11, 13)]
  }
  const mark = async (how: string, id: string) =>
    await api.call('POST', `${FINDING}/f1/instances/${how}`, { check_instances: [id] })
  await ingest(api, finding('f1', [at('a', 10), at('b', 12), at('c', 11)]))
  t.same(await counts(), [3, 0, '12'])
  await mark('archive', 'b')
  t.same(await counts(), [2, 1, '11'])
  await ingest(api, finding('f1', [at('c', 10), at('a', 13)]))
  t.same(await counts(), [2, 1, '13'])
  await ingest(api, finding('f1', [at('a', 10)]))
  await mark('unarchive', 'b')
  t.same(await counts(), [3, 0, '12'])
  for (const id of ['a', 'b', 'c']) await mark('archive', id)
  t.same(await counts(), [0, 3, ''])
})

t.test('a bad line is rejected with its number and error; the good ones are stored', async (t) => {
  const api = await postureClient(t)
  const bad = (change: object, ...instances: object[]) => finding('bad', instances, change)
  const BAD: [line: string, message: RegExp | string][] = [
    ['{', 'is not JSON'],
    ['[]]', 'is not JSON'],
    ['1', '/ must be an object, but is 1'],
    ['{}', /^\/id is required; \/finding_type_id is required/],
    [JSON.stringify(bad({ id: '' })), /^\/id must/],
    [JSON.stringify(bad({ id: 'a b' })), /^\/id must/],
    [JSON.stringify(bad({ severity: 'high' })), /^\/severity must be one of/],
    [JSON.stringify(bad({ category: { observation: 'Issue', product: 'SaaS', type: 'Other' } })), /^\/category\/type/],
    [JSON.stringify(bad({ integration: undefined })), '/integration is required'],
    [JSON.stringify(bad({ integration: {} })), '/integration/id is required'],
    [JSON.stringify(bad({ instances: undefined })), '/instances is required'],
    [JSON.stringify(bad({ secret: 1 })), '/secret is not a known member'],
    [JSON.stringify(bad({}, instance('x', { affliction_date: 'yesterday' }))), /^\/instances\/0\/affliction_date/],
    [JSON.stringify(bad({}, instance('x'), instance('x'))), '/instances/1 is a duplicate'],
    [JSON.stringify(bad({}, instance('i1'))), '/instances/0 already belongs to another finding'],
    [JSON.stringify(bad({}, instance('x', { asset: {} }))), /^\/instances\/0\/asset\/external_id is required/],
    [`{"__proto__":{},"id":"a"}`, /__proto__/],
    [JSON.stringify(bad({ integration: { id: 'i', more: 'x'.repeat(70_000) } })), /^has a finding of more than 65536/],
    [`"${'x'.repeat(1_100_000)}"`, 'is too long'],
  ]
  const lines = [JSON.stringify(finding('f1', [instance('i1')])), ...BAD.map(([line]) => line)]
  const { status, body } = await api.call(
    'POST',
    INGEST,
    [...lines, JSON.stringify(finding('f2', [instance('i2')]))].join('\n'),
  )
  t.equal(status, 202)
  t.equal(body.result.accepted, 2)
  for (const [at, [line, message]] of BAD.entries())
    t.match(body.result.rejected[at], { line: at + 2, message }, line.slice(0, 60))
  t.same(
    api.store.list(FINDINGS).map(({ id }) => id),
    ['f1', 'f2'],
  )

  const element = await api.call('POST', INGEST, JSON.stringify([finding('f3', []), { id: 1 }, finding('f4', [])]))
  t.match(element.body.result, { accepted: 0, rejected: [{ line: 2 }] })
  const WHOLE: [body: string | Buffer, headers: Record<string, string>, code: number, status?: number][] = [
    ['[{"id":', {}, 6007],
    ['[1,,2]', {}, 6007],
    ['x', { 'content-encoding': 'br' }, 10415, 415],
    ['x', { 'content-encoding': 'gzip' }, 10026],
    [gzipSync(ndjson(finding('f5', []))).subarray(0, 40), { 'content-encoding': 'gzip' }, 10026],
  ]
  for (const [text, headers, code, status = 400] of WHOLE) {
    const response = await fetch(api.url + INGEST, {
      method: 'POST',
      headers: { authorization: 'Bearer admin-token-0123456789-abcdefghijklmnop', ...headers },
      body: text,
    })
    t.equal(response.status, status)
    t.match(await response.json(), { errors: [{ code }] })
  }
})

t.test('the numbers of findings, instances and policies of an account are limited', async (t) => {
  const api = await postureClient(t)
  api.limits.findings = 1
  api.limits.instances = 2
  api.limits.policies = 1
  const one = await hook(api)
  t.match(await ingest(api, finding('f1', [instance('a'), instance('b')])), { status: 202 })
  t.match(await ingest(api, finding('f1', [instance('c')])), { status: 403, body: { errors: [{ code: 10610 }] } })
  t.match(await ingest(api, finding('f2', [])), { status: 403 })
  t.match(await ingest(api, finding('f1', [instance('b')])), { status: 202 })
  t.match(await api.call('POST', POLICIES, policy([one])), { status: 200 })
  t.match(await api.call('POST', POLICIES, policy([one])), { status: 403, body: { errors: [{ code: 10614 }] } })
})

t.test('an instance that many findings claim concurrently belongs to one', async (t) => {
  const api = await postureClient(t)
  const claims = Array.from({ length: 20 }, (_, at) => `f${at}`)
  // The first is being written to disk while the others are evaluated.
  const batch = api.store.batch.bind(api.store)
  api.store.batch = async (...write) => {
    await turns()
    return await batch(...write)
  }
  const reported = await Promise.all(claims.map(async (id) => await ingest(api, finding(id, [instance('i1')]))))
  const accepted = reported.filter(({ status, body }) => status === 202 && body.result.accepted === 1)
  t.equal(accepted.length, 1)
  for (const { status, body } of reported.filter((one) => !accepted.includes(one)))
    t.match(
      { status, body },
      status === 409 ? { body: { errors: [{ code: 10409 }] } } : { body: { result: { accepted: 0 } } },
    )
  const { body } = await api.call('GET', FINDING)
  t.equal(
    body.result.reduce((sum: number, { active_count }: { active_count: number }) => sum + active_count, 0),
    1,
    'and is counted once',
  )
})

// Times that the schema accepts and `Date` does not parse were treated as the latest, even if later ones followed.
t.test('leap seconds and offsets of hours only are valid times', async (t) => {
  const api = await postureClient(t)
  const times = ['2016-12-31T23:59:60Z', '2026-11-21T12:00:00+01', '2026-11-21T10:30:00Z', '2015-06-30T23:59:60.5Z']
  await ingest(
    api,
    finding(
      'f1',
      times.map((affliction_date, at) => instance(`i${at}`, { affliction_date })),
    ),
  )
  const { latest_affliction_date } = (await api.call('GET', `${FINDING}/f1`)).body.result
  t.equal(latest_affliction_date, times[1])
  const listed = await api.call('GET', `${FINDING}/f1/instances?order=affliction_date&direction=asc`)
  t.same(
    listed.body.result.map(({ id }: { id: string }) => id),
    ['i3', 'i0', 'i2', 'i1'],
  )
})

// Scripts that copy findings from one account to another had to remove members by hand.
t.test('findings as returned by reads can be ingested again, and unknown members are named', async (t) => {
  const api = await postureClient(t)
  await hook(api)
  await ingest(api, finding('f1', [instance('i1', { dlp_contexts: [{ text: 'x' }] }), instance('i2')]))
  await api.call('POST', `${FINDING}/ignore`, { checks: ['f1'] })
  const read = (await api.call('GET', `${FINDING}/f1`)).body.result
  const instances = (await api.call('GET', `${FINDING}/f1/instances`)).body.result
  t.match(instances[0], { remediations: [], webhooks: [] })
  const before = api.store.get(FINDINGS, scope, 'f1')?.value

  t.match((await ingest(api, { ...finding('f1', instances), ignored: false })).body.result, {
    accepted: 2,
    rejected: [],
  })
  t.match((await ingest(api, { ...read, ignored: false, instances })).body.result, { accepted: 2, rejected: [] })
  const after = api.store.get(FINDINGS, scope, 'f1')?.value
  t.strictSame(after, before, 'computed members are not stored, and "ignored" has a call of its own')
  t.notHas(api.store.get(INSTANCES, scope, 'i1')?.value, { webhooks: [] })

  const { body } = await ingest(
    api,
    { ...read, instances, extra: 1, finding: { ...read.finding, other: 1 } },
    finding('f2', [instance('i3', { wehbooks: [] })]),
  )
  t.match(body.result.rejected, [
    { message: /\/extra is not a known member.*\/finding\/other is not a known member/ },
    { message: '/instances/0/wehbooks is not a known member, did you mean webhooks' },
  ])
})

t.test('a request with findings ends at a limit, and says what is stored', async (t) => {
  const api = await postureClient(t)
  const one = ndjson(finding('f1', [instance('i1'), instance('i2')]))
  const blank = Buffer.alloc(999_998, '\n')
  const BEYOND: [body: Buffer, status: number, error: object][] = [
    [
      Buffer.concat([Buffer.from(`${one}\n`), blank, Buffer.from('{}\n{}')]),
      413,
      {
        code: 10413,
        message: /^the body has more than 1000000 lines; .*; findings up to line 1000000 were stored$/,
        meta: { accepted: 2, rejected: [{ line: 1_000_000 }] },
      },
    ],
    [
      Buffer.from(`${one}\n${'x\n'.repeat(10_001)}${one}`),
      400,
      { code: 10001, message: /^more than 10000 lines are invalid; .*line 10002 were stored$/, meta: { accepted: 2 } },
    ],
    [
      Buffer.concat([Buffer.from(`${one}\n`), Buffer.alloc(64 * 1024 * 1024, `${' '.repeat(999)}\n`)]),
      413,
      { code: 10413, message: /^the body is larger than 67108864 bytes; .*line 1 were stored$/, meta: { accepted: 2 } },
    ],
  ]
  for (const [body, status, error] of BEYOND) {
    const response = await fetch(api.url + INGEST, {
      method: 'POST',
      headers: { authorization: 'Bearer admin-token-0123456789-abcdefghijklmnop', 'content-encoding': 'gzip' },
      body: gzipSync(body),
    })
    t.equal(response.status, status)
    t.match(await response.json(), { errors: [error] })
  }
  t.equal(api.store.count(INSTANCES), 2)
})
