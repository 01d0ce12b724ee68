import t from 'tap'
import { LOGPUSH_JOBS, LOGPUSH_STATUS } from '../../../src/core/model/logpush-job.js'
import { account, zone } from '../../../src/core/scope.js'
import { secretOf } from '../../../src/core/vault.js'
import { Keyring } from '../../../src/store/secrets/keyring.js'
import { ACCOUNT, ADMIN, NOWHERE, OTHER_ZONE, ZONE } from '../client.js'
import { ACCOUNT_JOBS, HTTPS, JOBS, logpushClient } from './helper.js'

const OFF = { state: 'off', failing_since: null, lag_records: 0, lag_seconds: 0, batches: [], dead_letters: 0 }

t.test('a job is created with its defaults, and returned as it was sent', async (t) => {
  const { call, store } = await logpushClient(t)
  const created = await call('POST', JOBS, { destination_conf: HTTPS })
  t.equal(created.status, 200)
  t.strictSame(created.body.result, {
    id: 1,
    dataset: 'http_requests',
    kind: '',
    enabled: false,
    destination_conf: HTTPS,
    last_complete: null,
    last_error: null,
    error_message: null,
    edged: OFF,
    edged_source: null,
  })
  t.strictSame((await call('GET', `${JOBS}/1`)).body.result, created.body.result)
  const list = await call('GET', JOBS)
  t.strictSame(list.body.result, [created.body.result])
  t.match(list.body.result_info, { count: 1, total_count: 1 })
  t.strictSame((await call('GET', ACCOUNT_JOBS)).body.result, [])
  t.notMatch(JSON.stringify([...store.records()]), /hunter2|logs\.example\.com/)
})

t.test('destinations are listed without secrets, of jobs that run and of others', async (t) => {
  const { call } = await logpushClient(t)
  const shown = async (path: string) => (await call('GET', path)).body.result as unknown
  await call('POST', JOBS, { destination_conf: HTTPS, enabled: true })
  await call('POST', JOBS, { destination_conf: 's3://b?region=R&access-key-id=K&secret-access-key=hunter2' })
  t.strictSame(await shown(`/zones/${ZONE}/edged/destinations`), [
    { id: 1, destination_conf: 'https://logs.example.com/in?header_Authorization=***&x=***' },
    { id: 2, destination_conf: 's3://b?region=R&access-key-id=***&secret-access-key=***' },
  ])
  t.strictSame(await shown(`/accounts/${ACCOUNT}/edged/destinations`), [])
})

// A key that was taken away too early made every list of jobs answer 500.
t.test('a job whose destination no key decrypts can be read, changed and deleted', async (t) => {
  const { call, store, destinations } = await logpushClient(t)
  const scope = zone(ZONE)
  for (const _ of [1, 2, 3]) await call('POST', JOBS, { destination_conf: HTTPS, enabled: true })
  const lost = new Keyring([Buffer.alloc(32, 9)])
  for (const id of ['1', '2']) {
    const { value, version } = store.get(LOGPUSH_JOBS, scope, id)!
    const sealed = lost.seal(HTTPS, secretOf(LOGPUSH_JOBS, scope, id))
    await store.batch([
      { kind: LOGPUSH_JOBS, scope, id, value: { ...value, destination_conf: { sealed } }, ifVersion: version },
    ])
  }
  const list = await call('GET', JOBS)
  t.equal(list.status, 200)
  const unreadable = /^\/destination_conf cannot be opened .* secrets\.old_keys, or set destination_conf/
  t.match(list.body.result, [{ id: 1, error_message: unreadable }, { id: 2 }, { id: 3, destination_conf: HTTPS }])
  t.notOk('destination_conf' in list.body.result[0])
  t.match(
    (await call('POST', `/zones/${ZONE}/logpush/validate/destination/exists`, { destination_conf: HTTPS })).body,
    {
      result: { exists: true },
    },
  )
  t.match(await call('PUT', `${JOBS}/1`, { name: 'n' }), { status: 200, body: { result: { name: 'n' } } })
  t.match(await call('PUT', `${JOBS}/1`, { enabled: false }), { status: 200, body: { result: { enabled: false } } })
  t.match(await call('PUT', `${JOBS}/1`, { enabled: true }), {
    status: 400,
    body: { errors: [{ message: /cannot be opened/, source: { pointer: '/destination_conf' } }] },
  })
  const before = destinations.reached.length
  const anew = await call('PUT', `${JOBS}/1`, { enabled: true, destination_conf: HTTPS })
  t.match(anew, { status: 200, body: { result: { destination_conf: HTTPS, error_message: null } } })
  t.equal(destinations.reached.length, before + 1)
  t.match(await call('GET', `${JOBS}/1`), { status: 200, body: { result: { destination_conf: HTTPS } } })
  t.match(await call('DELETE', `${JOBS}/2`), { status: 200 })
})

t.test('texts and options come back exactly as they were given', async (t) => {
  const { call } = await logpushClient(t)
  const given = {
    name: 'Ours, with "quotes" and ünïcode',
    dataset: 'http_requests',
    enabled: true,
    filter: '{ "where" : {"key":"EdgeResponseStatus","operator":"geq","value":"500"} }',
    filter_attack_traffic: true,
    frequency: 'low',
    kind: 'edge',
    logpull_options: 'fields=RayID,ClientIP&timestamps=rfc3339&sample=0.1',
    max_upload_bytes: 0,
    max_upload_interval_seconds: 30,
    max_upload_records: null,
    output_options: {
      field_names: ['RayID', 'RayID', 'EdgeStartTimestamp'],
      record_template: '{{.RayID}}',
      batch_prefix: '',
      record_suffix: null,
      'CVE-2021-44228': true,
      merge_subrequests: false,
      sample_rate: 1,
    },
    destination_conf: HTTPS,
  }
  const { result } = (await call('POST', JOBS, { ...given, ownership_challenge: 'abc' })).body
  t.strictSame(result, {
    ...given,
    id: 1,
    last_complete: null,
    last_error: null,
    error_message: null,
    edged: OFF,
    edged_source: null,
  })
  t.same(Object.keys(result).slice(0, 7), [
    'id',
    'dataset',
    'kind',
    'enabled',
    'name',
    'output_options',
    'destination_conf',
  ])
})

t.test('an account job without a dataset pushes audit logs', async (t) => {
  const { call } = await logpushClient(t)
  t.match((await call('POST', ACCOUNT_JOBS, { destination_conf: HTTPS })).body.result, { dataset: 'audit_logs_v2' })
  t.match((await call('POST', ACCOUNT_JOBS, { destination_conf: HTTPS, dataset: 'gateway_dns' })).body.result, {
    id: 2,
    dataset: 'gateway_dns',
  })
})

t.test('the status of a job is returned and deleted with it', async (t) => {
  const { call, store } = await logpushClient(t)
  await call('POST', JOBS, { destination_conf: HTTPS })
  const status = {
    last_complete: '2026-11-21T12:00:00Z',
    last_error: '2026-11-21T12:00:30Z',
    error_message: 'logs.example.com responded with 503',
    failing_since: '2026-11-21T12:00:30Z',
  }
  await store.batch([{ kind: LOGPUSH_STATUS, scope: zone(ZONE), id: '1', value: status }])
  const { failing_since: _since, ...reported } = status
  const { result } = (await call('GET', `${JOBS}/1`)).body
  t.match(result, reported)
  t.notOk('failing_since' in result)
  t.strictSame((await call('DELETE', `${JOBS}/1`)).body.result, { id: 1 })
  t.same(store.list(LOGPUSH_STATUS), [])
  t.match(await call('GET', `${JOBS}/1`), { status: 404, body: { errors: [{ code: 20301 }] } })
  t.match(await call('DELETE', `${JOBS}/1`), { status: 404 })
})

t.test('ids grow over all accounts and zones, and are never used again', async (t) => {
  const { call } = await logpushClient(t, { jobs: 100 })
  const made = await Promise.all(
    Array.from({ length: 20 }, async (_, at) => {
      const path = [JOBS, ACCOUNT_JOBS, `/zones/${OTHER_ZONE}/logpush/jobs`][at % 3]!
      return (await call('POST', path, { destination_conf: HTTPS })).body.result.id as number
    }),
  )
  t.same(
    made.toSorted((a, b) => a - b),
    Array.from({ length: 20 }, (_, at) => at + 1),
  )
  for (const { id } of (await call('GET', JOBS)).body.result) await call('DELETE', `${JOBS}/${id}`)
  t.equal((await call('POST', JOBS, { destination_conf: HTTPS })).body.result.id, 21)
})

t.test('a scope has four jobs, also when all come at once', async (t) => {
  const { call, store } = await logpushClient(t)
  const responses = await Promise.all(
    Array.from({ length: 8 }, async () => await call('POST', JOBS, { destination_conf: HTTPS })),
  )
  t.equal(responses.filter(({ status }) => status === 200).length, 4)
  for (const { status, body } of responses) {
    if (status === 200) continue
    t.match(body.errors, [
      { code: 1004, message: 'creating a new job is not allowed: exceeded max jobs allowed', source: undefined },
    ])
    t.equal(status, 403)
  }
  t.equal(store.count(LOGPUSH_JOBS), 4)
  t.equal((await call('POST', ACCOUNT_JOBS, { destination_conf: HTTPS })).status, 200, 'others have their own')
})

t.test('subrequest_merging is kept in output_options', async (t) => {
  const { call } = await logpushClient(t)
  const made = (await call('POST', JOBS, { destination_conf: HTTPS, subrequest_merging: true })).body.result
  t.strictSame(made.output_options, { merge_subrequests: true })
  t.notOk('subrequest_merging' in made)
  const off = (await call('PUT', `${JOBS}/1`, { subrequest_merging: false })).body.result
  t.strictSame(off.output_options, { merge_subrequests: false })
  const plain = (await call('POST', JOBS, { destination_conf: HTTPS, subrequest_merging: false })).body.result
  t.notOk('output_options' in plain)
})

t.test('a change keeps what it leaves out', async (t) => {
  const { call, store } = await logpushClient(t)
  const output_options = { field_names: ['RayID'], output_type: 'csv' }
  const made = (
    await call('POST', JOBS, { destination_conf: HTTPS, name: 'a', output_options, max_upload_records: 1000 })
  ).body.result
  const sealed = store.get(LOGPUSH_JOBS, zone(ZONE), '1')?.value.destination_conf.sealed
  t.strictSame((await call('PUT', `${JOBS}/1`, {})).body.result, made)
  t.strictSame((await call('PUT', `${JOBS}/1`, { enabled: true })).body.result, { ...made, enabled: true })
  t.strictSame((await call('PUT', `${JOBS}/1`, { name: null, max_upload_records: 0 })).body.result, {
    ...made,
    enabled: true,
    name: null,
    max_upload_records: 0,
  })
  t.equal(
    store.get(LOGPUSH_JOBS, zone(ZONE), '1')?.value.destination_conf.sealed,
    sealed,
    'the same is not sealed anew',
  )
  const replaced = { field_names: ['ClientIP'] }
  t.strictSame((await call('PUT', `${JOBS}/1`, { output_options: replaced })).body.result.output_options, replaced)
  t.strictSame(
    (await call('PUT', `${JOBS}/1`, { dataset: 'http_requests', kind: '' })).status,
    200,
    'what it is already',
  )
  for (const [body, pointer] of [
    [{ dataset: 'firewall_events' }, '/dataset'],
    [{ kind: 'edge' }, '/kind'],
    [{ max_upload_records: 1 }, '/max_upload_records'],
    [{ filter: '{"where":1}' }, '/filter/where'],
    [{ output_options: { field_names: ['Nope'] } }, '/output_options/field_names/0'],
    [{ destination_conf: 'nowhere' }, '/destination_conf'],
    [{ id: 2 }, '/id'],
  ] as const) {
    const before = store.get(LOGPUSH_JOBS, zone(ZONE), '1')
    const response = await call('PUT', `${JOBS}/1`, body)
    t.match(response, { status: 400, body: { errors: [{ code: 1002, source: { pointer } }] } })
    t.equal(store.get(LOGPUSH_JOBS, zone(ZONE), '1'), before)
  }
  for (const id of ['2', '0', '-1', '1.0', '01', 'a', '9'.repeat(30)])
    t.match(await call('PUT', `${JOBS}/${id}`, { name: 'x' }), { status: 404, body: { errors: [{ code: 20301 }] } }, id)
  t.match(await call('GET', `/zones/${OTHER_ZONE}/logpush/jobs/1`), { status: 404 }, 'it belongs to its zone')
})

t.test('a job that changes while its destination is tried out is decided anew', async (t) => {
  const { call, destinations } = await logpushClient(t)
  await call('POST', JOBS, { destination_conf: HTTPS, name: 'a' })
  destinations.whileChecking = async () => {
    destinations.whileChecking = undefined
    await call('PUT', `${JOBS}/1`, { name: 'b' })
  }
  const { result } = (await call('PUT', `${JOBS}/1`, { enabled: true })).body
  t.match(result, { enabled: true, name: 'b' })
})

t.test('the fields and the jobs of a dataset', async (t) => {
  const { call } = await logpushClient(t)
  const path = `/zones/${ZONE}/logpush/datasets`
  const all = (await call('GET', `${path}/http_requests/fields`)).body.result
  t.match(all, {
    RayID: 'string',
    EdgeStartTimestamp: 'int or string',
    Cookies: 'object',
    WAFFlags: 'string; deprecated',
  })
  const usual = (await call('GET', `${path}/http_requests/fields/default`)).body.result
  t.ok(Object.keys(usual).length > 3 && Object.keys(usual).length < Object.keys(all).length)
  for (const [name, type] of Object.entries(usual)) t.equal(type, all[name])
  for (const what of ['fields', 'fields/default', 'jobs'])
    t.match(await call('GET', `${path}/nope/${what}`), { status: 404, body: { errors: [{ code: 20302 }] } })
  await call('POST', JOBS, { destination_conf: HTTPS })
  await call('POST', JOBS, { destination_conf: HTTPS, dataset: 'firewall_events' })
  t.match((await call('GET', `${path}/firewall_events/jobs`)).body.result, [{ id: 2 }])
  t.same((await call('GET', `${path}/dns_logs/jobs`)).body.result, [])
})

t.test('reading asks for Logs Read, everything else for Logs Write', async (t) => {
  const { call, as, endpoints } = await logpushClient(t)
  const made = async (...permissions: string[]) => {
    const groups = (await call('GET', '/user/tokens/permission_groups')).body.result as { id: string; name: string }[]
    const { value } = (
      await call('POST', '/user/tokens', {
        name: 'a',
        policies: [
          {
            effect: 'allow',
            permission_groups: groups.filter(({ name }) => permissions.includes(name)).map(({ id }) => ({ id })),
            resources: { [`com.cloudflare.api.account.${ACCOUNT}`]: '*', 'com.cloudflare.api.account.zone.*': '*' },
          },
        ],
      })
    ).body.result
    return as(value as string)
  }
  const reader = await made('Logs Read')
  const stranger = await made('Zone Settings Write')
  t.equal((await reader('GET', JOBS)).status, 200)
  t.match(await stranger('GET', JOBS), { status: 403 })
  const rows = endpoints.filter(({ path }) => path.startsWith('/logpush/') || path.startsWith('/edged/records'))
  t.ok(rows.length >= 16)
  for (const { method, permissions } of rows) {
    t.ok(permissions.includes('Logs Write'))
    if (method !== 'get' && method !== 'post') t.notOk(permissions.includes('Logs Read'))
  }
  t.match(await reader('POST', JOBS, { destination_conf: HTTPS }), { status: 403 })
  t.match(await reader('POST', `/zones/${ZONE}/edged/records/http_requests`), { status: 403 })
  t.match(await as(`${ADMIN}x`)('GET', JOBS), { status: 403 })
  t.match(await call('GET', `/zones/${NOWHERE}/logpush/jobs`), { status: 404 })
})

t.test('changes are in the audit record, without the destination', async (t) => {
  const { call, store } = await logpushClient(t)
  await call('POST', ACCOUNT_JOBS, { destination_conf: HTTPS })
  await call('PUT', `${ACCOUNT_JOBS}/1`, { enabled: true })
  await call('DELETE', `${ACCOUNT_JOBS}/1`)
  const entries = []
  for await (const { entry } of store.audit()) entries.push(entry)
  const resource = { kind: 'logpush_job', scope: account(ACCOUNT), id: '1' }
  t.match(entries, [
    { action: 'create', resource },
    { action: 'update', resource },
    { action: 'delete', resource },
  ])
  t.equal(entries[0]?.after, entries[1]?.before)
  t.notMatch(JSON.stringify(entries), /hunter2|example\.com/)
})

t.test('the quota of the configuration counts', async (t) => {
  const { call } = await logpushClient(t, { jobs: 0 })
  t.match(await call('POST', JOBS, { destination_conf: HTTPS }), { status: 403, body: { errors: [{ code: 1004 }] } })
})
