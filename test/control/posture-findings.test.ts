import { gzipSync } from 'node:zlib'
import t from 'tap'
import { DELIVERIES, DELIVERY_STATES } from '../../src/core/model/delivery.js'
import { FINDINGS, INSTANCES } from '../../src/core/model/finding.js'
import { issuesOf } from '../../src/core/schema.js'
import { account } from '../../src/core/scope.js'
import { WebhookPayload } from '../../src/webhooks/payload-schema.js'
import { turns } from '../helpers/web.js'
import { ACCOUNT, OTHER_ACCOUNT, type Client } from './client.js'
import {
  finding,
  ingest,
  INGEST,
  instance,
  ndjson,
  POSTURE,
  postureClient,
  TYPE,
  webhook,
  WEBHOOKS,
} from './posture-helper.js'

const JOBS = `${WEBHOOKS}/jobs`
const FINDING = `${POSTURE}/findings`
const POLICIES = `${POSTURE}/policies`
const scope = account(ACCOUNT)

const hook = async ({ call }: Client, change: object = {}): Promise<string> =>
  (await call('POST', WEBHOOKS, webhook(change))).body.result.id

const policy = (webhooks: string[], change: object = {}) => ({
  display_name: 'Tell the channel',
  enabled: true,
  finding_type_id: TYPE,
  applies_to_all_integrations: true,
  actions: { webhook_configs: webhooks.map((webhook_config_id) => ({ webhook_config_id })) },
  ...change,
})

/** Instance and webhook of each delivery, in the order in which they were accepted. */
const sent = ({ store }: Client): string[][] =>
  store.list(DELIVERIES, scope).map(({ value }) => [value.finding_instance_id, value.webhook_id])

t.test('findings come in as lines or as a list, compressed or not, and can be read', async (t) => {
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
    const answer = await fetch(api.url + INGEST, {
      method: 'POST',
      headers: { authorization: 'Bearer admin-token-0123456789-abcdefghijklmnop', ...headers },
      body,
    })
    t.equal(answer.status, 202)
    t.strictSame(await answer.json(), {
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

t.test('counts and the latest date follow instances as they come, change, go and come back', async (t) => {
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

t.test('a bad line is rejected with its number and what is wrong; the good ones are stored', async (t) => {
  const api = await postureClient(t)
  const bad = (change: object, ...instances: object[]) => finding('bad', instances, change)
  const BAD: [line: string, message: RegExp | string][] = [
    ['{', 'is not JSON'],
    ['[]]', 'is not JSON'],
    ['1', '/ must be object'],
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
    [JSON.stringify(bad({}, instance('x'), instance('x'))), '/instances/1 is given twice'],
    [JSON.stringify(bad({}, instance('i1'))), '/instances/0 belongs to another finding already'],
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
    const answer = await fetch(api.url + INGEST, {
      method: 'POST',
      headers: { authorization: 'Bearer admin-token-0123456789-abcdefghijklmnop', ...headers },
      body: text,
    })
    t.equal(answer.status, status)
    t.match(await answer.json(), { errors: [{ code }] })
  }
})

t.test('instances are sent to webhooks, each to each; what cannot be sent is told with its reason', async (t) => {
  const api = await postureClient(t)
  const { call } = api
  const [one, two, off] = [await hook(api), await hook(api, { label: 'Two' }), await hook(api, { status: 'disabled' })]
  const content = { category: { observation: 'Issue', product: 'SaaS', type: 'Content' } }
  await ingest(api, finding('f1', [instance('i1'), instance('i2')]), finding('f2', [instance('c1')], content))
  const { status, body } = await call('POST', JOBS, {
    finding_instance_ids: ['i1', 'i2', 'i1', 'c1', 'none'],
    webhook_ids: [one, two, off, 'none'],
  })
  t.equal(status, 200)
  t.same(body.result.created.length, 4)
  t.strictSame(body.result.created[0], {
    id: body.result.created[0].id,
    webhook_id: one,
    integration_id: 'int-1',
    asset_data: instance('i1').asset,
    parameters: { finding_instance_id: 'i1' },
    status: 'pending',
    triggered_by_actor: 'account_token',
    triggered_by_id: body.result.created[0].triggered_by_id,
    created_at: '2026-11-21T12:00:00.000Z',
    last_updated_at: '2026-11-21T12:00:00.000Z',
  })
  const reasons = Object.fromEntries(
    body.result.failed.map((failed: { error: string; finding_instance_id: string; webhook_id: string }) => [
      `${failed.finding_instance_id} ${failed.webhook_id}`,
      failed.error,
    ]),
  )
  t.equal(body.result.failed.length, 12)
  t.match(reasons[`c1 ${one}`], /content findings are never sent/)
  t.match(reasons[`none ${one}`], /no such finding instance/)
  t.match(reasons[`i1 ${off}`], /disabled/)
  t.match(reasons['i1 none'], /no such webhook/)
  t.same(sent(api), [
    ['i1', one],
    ['i1', two],
    ['i2', one],
    ['i2', two],
  ])

  const issues = issuesOf(WebhookPayload)
  for (const { id, value } of api.store.list(DELIVERIES)) {
    const payload = JSON.parse(value.payload)
    t.same(issues(payload), [])
    t.equal(payload.id, id)
  }
  const payload = JSON.parse(api.store.list(DELIVERIES)[1]?.value.payload ?? '')
  t.match(payload, {
    type: 'posture.finding_instance',
    metadata: {
      actor: { type: 'account_token' },
      destination: { webhook_id: two, label: 'Two' },
      sent_at: '2026-11-21T12:00:00.000Z',
      payload_version: 1,
    },
    data: {
      finding: { id: 'f1', finding_type_id: TYPE, name: 'Public file' },
      instance: { id: 'i1', affliction_date: '2026-11-21T10:00:00Z' },
      asset: { name: 'file i1' },
      integration: { id: 'int-1' },
    },
  })

  t.match((await call('GET', `${FINDING}/f1/instances/i1`)).body.result.webhooks, [
    { webhook_id: one, webhook_label: 'Channel', latest_job: { status: 'pending', stale: false } },
    { webhook_id: two, webhook_label: 'Two' },
  ])
  const BAD: [body: object, pointer: string][] = [
    [{}, '/finding_instance_ids'],
    [{ finding_instance_ids: [], webhook_ids: [one] }, '/finding_instance_ids'],
    [{ finding_instance_ids: ['i1'], webhook_ids: [] }, '/webhook_ids'],
    [{ finding_instance_ids: 'i1', webhook_ids: [one] }, '/finding_instance_ids'],
    [{ finding_instance_ids: [1], webhook_ids: [one] }, '/finding_instance_ids/0'],
    [{ finding_instance_ids: ['i1'], webhook_ids: [null] }, '/webhook_ids/0'],
    [{ finding_instance_ids: ['i1'], webhook_ids: [one], now: true }, '/now'],
    [
      {
        finding_instance_ids: Array.from({ length: 101 }, (_, at) => `${at}`),
        webhook_ids: Array.from({ length: 100 }, (_, at) => `${at}`),
      },
      '/finding_instance_ids',
    ],
  ]
  for (const [bad, pointer] of BAD)
    t.match(await call('POST', JOBS, bad), { status: 400, body: { errors: [{ code: 10604, source: { pointer } }] } })
  t.equal(sent(api).length, 4)
})

t.test('jobs are listed, read with their tries, and sent again once they are over', async (t) => {
  const api = await postureClient(t)
  const { call, store, clock } = api
  const one = await hook(api)
  const two = await hook(api)
  await ingest(api, finding('f1', [instance('i1'), instance('i2')]))
  const created = await call('POST', JOBS, { finding_instance_ids: ['i1', 'i2'], webhook_ids: [one, two] })
  const [first, second] = created.body.result.created
  const list = async (query: string) =>
    (await call('GET', `${JOBS}?${query}`)).body.result.map(({ id }: { id: string }) => id)
  t.same(
    (await list('')).toReversed(),
    created.body.result.created.map(({ id }: { id: string }) => id),
  )
  t.match((await call('GET', `${JOBS}?per_page=3&page=2`)).body, {
    result: [{ id: first.id }],
    result_info: { page: 2, per_page: 3, count: 1, total_count: 4, total_pages: 2 },
  })
  t.same((await list(`webhook_id=${two}`)).length, 2)
  t.same(await list(`finding_instance_id=i1&webhook_id=${one}`), [first.id])
  t.same(await list('status=failed'), [])

  const tries = [
    { at: '2026-11-21T12:00:00.000Z', status_code: 500, duration_ms: 12, error: 'status 500', response: 'no' },
  ]
  await store.change(
    DELIVERY_STATES,
    scope,
    first.id,
    (old) =>
      old && {
        status: 'failed' as const,
        last_updated_at: '2026-11-21T12:00:01.000Z',
        tries,
        failure_reason: 'Service Temporarily Unavailable' as const,
        failure_details: { status_code: 500 },
      },
  )
  t.same(await list('status=failed'), [first.id])
  t.match((await call('GET', `${JOBS}/${first.id}`)).body.result, {
    status: 'failed',
    failure_reason: 'Service Temporarily Unavailable',
    failure_details: { status_code: 500 },
    tries,
  })
  clock.advance(60_000)
  t.match((await call('POST', `${JOBS}/${first.id}/retry`)).body.result, {
    id: first.id,
    status: 'pending',
    due_at: '2026-11-21T12:01:00.000Z',
    tries,
  })
  t.match(await call('POST', `${JOBS}/${first.id}/retry`), { status: 409, body: { errors: [{ code: 10606 }] } })
  t.match(await call('POST', `${JOBS}/none/retry`), { status: 404, body: { errors: [{ code: 10605 }] } })
  t.match(await call('GET', `${JOBS}/none`), { status: 404, body: { errors: [{ code: 10605 }] } })
  await call('DELETE', `${WEBHOOKS}/${two}`)
  t.match(await call('POST', `${JOBS}/${second.id}/retry`), { status: 409, body: { errors: [{ code: 10607 }] } })
  t.match((await call('GET', `${FINDING}/f1/instances/i1`)).body.result.webhooks[1], { webhook_label: 'Channel' })
})

t.test('a policy sends each new instance that it is about to each of its webhooks, once', async (t) => {
  const api = await postureClient(t)
  const { call, store } = api
  const [one, two, off] = [await hook(api), await hook(api), await hook(api, { status: 'disabled' })]
  await ingest(api, finding('f1', [instance('old')]))
  const made = await call('POST', POLICIES, policy([one, off]))
  t.match(made, { status: 200, body: { result: { enabled: true, description: '', integration_ids: [] } } })
  const { id } = made.body.result
  await call('POST', POLICIES, policy([one, two], { display_name: 'The same again' }))
  await call('POST', POLICIES, policy([two], { finding_type_id: 'other' }))
  await call('POST', POLICIES, policy([two], { enabled: false }))
  t.same(sent(api), [], 'what is there already is not sent')

  const body = finding('f1', [instance('old'), instance('new'), instance('away', { is_archived: true })])
  await ingest(api, body, finding('f1', [instance('new')]))
  await ingest(api, body)
  t.same(sent(api), [
    ['new', one],
    ['new', two],
  ])
  const [delivery] = store.list(DELIVERIES, scope)
  t.match(delivery?.value, { policy_id: id, triggered_by_actor: 'account_token' })
  t.match(JSON.parse(delivery?.value.payload ?? ''), { metadata: { actor: { type: 'policy', id } } })
  t.match((await call('GET', `${POLICIES}/${id}`)).body.result, { last_triggered_at: '2026-11-21T12:00:00.000Z' })

  const content = { category: { observation: 'Issue', product: 'SaaS', type: 'Content' } }
  await ingest(api, finding('f2', [instance('secret')], content))
  await call('POST', `${FINDING}/f1/instances/unarchive`, { check_instances: ['away'] })
  t.equal(sent(api).length, 2)

  const { body: listed } = await call('GET', `${POLICIES}?per_page=3`)
  t.equal(listed.result.length, 3)
  const next = await call('GET', `${POLICIES}?per_page=3&cursor=${listed.result_info.cursors.after}`)
  t.match(next.body, { result: [{ enabled: false, disabled_at: String }], result_info: { count: 1, cursors: {} } })
  t.notOk('after' in next.body.result_info.cursors)
  t.match(await call('GET', `${POLICIES}?cursor=x`), { status: 400 })

  for (const { id } of listed.result) t.strictSame((await call('DELETE', `${POLICIES}/${id}`)).body.result, { id })
  t.match(await call('DELETE', `${POLICIES}/${id}`), { status: 404, body: { errors: [{ code: 10613 }] } })
  await ingest(api, finding('f1', [instance('newer')]))
  t.equal(sent(api).length, 2)
})

t.test('a policy for some integrations sends for those alone; an update replaces it', async (t) => {
  const api = await postureClient(t)
  const { call, clock } = api
  const one = await hook(api)
  const some = { applies_to_all_integrations: false, integration_ids: ['int-1'] }
  const { id } = (await call('POST', POLICIES, policy([one], some))).body.result
  await ingest(api, finding('f1', [instance('a')]), finding('f2', [instance('b')], { integration: { id: 'int-2' } }))
  t.same(sent(api), [['a', one]])
  clock.advance(1000)
  const { finding_type_id: _type, ...change } = policy([one], { enabled: false, description: 'off for now' })
  t.match((await call('PUT', `${POLICIES}/${id}`, change)).body.result, {
    finding_type_id: TYPE,
    enabled: false,
    disabled_at: '2026-11-21T12:00:01.000Z',
    description: 'off for now',
    actions: { webhook_configs: [{ webhook_config_id: one, display_name: 'Channel' }], remediation_types: [] },
  })
  await ingest(api, finding('f1', [instance('c')]))
  await call('PUT', `${POLICIES}/${id}`, { ...change, enabled: true })
  await ingest(api, finding('f2', [instance('d')], { integration: { id: 'int-2' } }))
  t.same(sent(api), [
    ['a', one],
    ['d', one],
  ])
  const BAD: [what: string, change: object, ...pointers: string[]][] = [
    ['no name', { display_name: undefined }, '/display_name'],
    ['an empty name', { display_name: '' }, '/display_name'],
    ['a long name', { display_name: 'a'.repeat(256) }, '/display_name'],
    ['a long description', { description: 'a'.repeat(1001) }, '/description'],
    ['enabled as text', { enabled: 'true' }, '/enabled'],
    ['no actions', { actions: undefined }, '/actions'],
    ['empty actions', { actions: {} }, '/actions'],
    ['no action in them', { actions: { webhook_configs: [], remediation_types: [] } }, '/actions'],
    ['another action', { actions: { email: [] } }, '/actions/email'],
    ['an unknown webhook', policy(['none']), '/actions/webhook_configs/0/webhook_config_id'],
    ['a webhook twice', policy([one, one]), '/actions/webhook_configs/1/webhook_config_id'],
    [
      'a remediation',
      { actions: { remediation_types: [{ remediation_type_id: 'x' }] } },
      '/actions/remediation_types/0/remediation_type_id',
    ],
    ['no integrations', { applies_to_all_integrations: false }, '/integration_ids'],
    ['an empty list of them', { applies_to_all_integrations: false, integration_ids: [] }, '/integration_ids'],
    ['an unknown member', { priority: 1 }, '/priority'],
  ]
  for (const [what, bad, ...faults] of BAD) {
    const expected = { status: 400, body: { errors: faults.map((pointer) => ({ code: 10612, source: { pointer } })) } }
    t.match(await call('POST', POLICIES, policy([one], bad)), expected, what)
    t.match(await call('PUT', `${POLICIES}/${id}`, policy([one], bad)), expected, what)
  }
  t.match(await call('PUT', `${POLICIES}/${id}`, policy([one], { finding_type_id: 'other' })), {
    status: 400,
    body: { errors: [{ source: { pointer: '/finding_type_id' } }] },
  })
  t.equal((await call('GET', POLICIES)).body.result.length, 1)
})

t.test('many instances at once, by several senders: each is sent once', async (t) => {
  const api = await postureClient(t)
  const one = await hook(api)
  await api.call('POST', POLICIES, policy([one]))
  const ids = Array.from({ length: 3000 }, (_, at) => `i${at}`)
  const body = ndjson(...ids.map((id) => finding(`f${Number(id.slice(1)) % 7}`, [instance(id)])))
  const answers = await Promise.all(Array.from({ length: 4 }, async () => await api.call('POST', INGEST, body)))
  for (const { status, body } of answers) t.match([status, body.result], [202, { accepted: 3000, rejected: [] }])
  t.equal(sent(api).length, 3000)
  t.equal(new Set(sent(api).map(([id]) => id)).size, 3000)
})

t.test('a queue that is full refuses what would be sent, and takes it when there is room again', async (t) => {
  const api = await postureClient(t)
  const { call, store } = api
  const one = await hook(api)
  api.limits.pending = 2
  await call('POST', POLICIES, policy([one]))
  await ingest(api, finding('f1', [instance('a')]))
  const full = await ingest(api, finding('f1', [instance('b'), instance('c')]))
  t.match(full, { status: 503, body: { errors: [{ code: 10611 }] } })
  t.equal(full.headers.get('retry-after'), '30')
  t.equal(store.get(INSTANCES, scope, 'b'), undefined, 'so that it is new when it comes again')
  const answer = await call('POST', JOBS, { finding_instance_ids: ['a', 'a2'], webhook_ids: [one] })
  t.match(answer.body.result, { created: [{}], failed: [{ error: /no such/ }] })
  t.match((await call('POST', JOBS, { finding_instance_ids: ['a'], webhook_ids: [one] })).body.result, {
    created: [],
    failed: [{ error: /as many jobs/ }],
  })
  for (const { id } of store.list(DELIVERY_STATES))
    await store.change(DELIVERY_STATES, scope, id, (old) => old && { ...old, status: 'completed' as const })
  t.match(await ingest(api, finding('f1', [instance('b'), instance('c')])), { status: 202 })
  t.same(sent(api).length, 4)
})

t.test('an account has only so many findings, instances and policies', async (t) => {
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

t.test('an instance that is claimed by many findings at once belongs to one', async (t) => {
  const api = await postureClient(t)
  const claims = Array.from({ length: 20 }, (_, at) => `f${at}`)
  // The first is on its way to the disk while the others are looked at.
  const batch = api.store.batch.bind(api.store)
  api.store.batch = async (...write) => {
    await turns()
    return await batch(...write)
  }
  const told = await Promise.all(claims.map(async (id) => await ingest(api, finding(id, [instance('i1')]))))
  const accepted = told.filter(({ status, body }) => status === 202 && body.result.accepted === 1)
  t.equal(accepted.length, 1)
  for (const { status, body } of told.filter((one) => !accepted.includes(one)))
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
