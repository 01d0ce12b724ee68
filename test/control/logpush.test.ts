import t from 'tap'
import { LOGPUSH_JOBS, LOGPUSH_STATUS } from '../../src/core/model/logpush-job.js'
import { account, zone } from '../../src/core/scope.js'
import { ACCOUNT, ADMIN, NOWHERE, OTHER_ZONE, ZONE } from './client.js'
import { logpushClient } from './logpush-helper.js'

const JOBS = `/zones/${ZONE}/logpush/jobs`
const ACCOUNT_JOBS = `/accounts/${ACCOUNT}/logpush/jobs`
const HTTPS = 'https://logs.example.com/in?header_Authorization=Bearer%20hunter2&x=1'

t.test('a job is created with its defaults, and told as it was given', async (t) => {
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
  })
  t.strictSame((await call('GET', `${JOBS}/1`)).body.result, created.body.result)
  const list = await call('GET', JOBS)
  t.strictSame(list.body.result, [created.body.result])
  t.match(list.body.result_info, { count: 1, total_count: 1 })
  t.strictSame((await call('GET', ACCOUNT_JOBS)).body.result, [])
  t.notMatch(JSON.stringify([...store.records()]), /hunter2|logs\.example\.com/)
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
  t.strictSame(result, { ...given, id: 1, last_complete: null, last_error: null, error_message: null })
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

t.test('how a job fares is told with it, and goes with it', async (t) => {
  const { call, store } = await logpushClient(t)
  await call('POST', JOBS, { destination_conf: HTTPS })
  const status = {
    last_complete: '2026-11-21T12:00:00Z',
    last_error: '2026-11-21T12:00:30Z',
    error_message: 'logs.example.com answered 503',
    failing_since: '2026-11-21T12:00:30Z',
  }
  await store.batch([{ kind: LOGPUSH_STATUS, scope: zone(ZONE), id: '1', value: status }])
  const { failing_since: _since, ...told } = status
  const { result } = (await call('GET', `${JOBS}/1`)).body
  t.match(result, told)
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
  const answers = await Promise.all(
    Array.from({ length: 8 }, async () => await call('POST', JOBS, { destination_conf: HTTPS })),
  )
  t.equal(answers.filter(({ status }) => status === 200).length, 4)
  for (const { status, body } of answers) {
    if (status === 200) continue
    t.match(body.errors, [
      { code: 1004, message: 'creating a new job is not allowed: exceeded max jobs allowed', source: undefined },
    ])
    t.equal(status, 403)
  }
  t.equal(store.count(LOGPUSH_JOBS), 4)
  t.equal((await call('POST', ACCOUNT_JOBS, { destination_conf: HTTPS })).status, 200, 'others have their own')
})

const LONG = `https://logs.example.com/${'a'.repeat(4096)}`.slice(0, 4096)
const KEY = { key: 'RayID', operator: 'eq', value: 'a' }

/** What is sent beside a destination, and where it is refused; undefined: it is taken. */
const TABLE: [what: string, body: object, pointer: string | undefined][] = [
  ['no destination', { destination_conf: undefined }, '/destination_conf'],
  ['null as destination', { destination_conf: null }, '/destination_conf'],
  ['an empty destination', { destination_conf: '' }, '/destination_conf'],
  ['a destination of an unknown kind', { destination_conf: 'gopher://a/b' }, '/destination_conf'],
  ['a destination of 4096 characters', { destination_conf: LONG }, undefined],
  ['a destination of 4097 characters', { destination_conf: `${LONG}a` }, '/destination_conf'],
  ['an unknown member', { destination: 's3://b' }, '/destination'],
  ['an id', { id: 7 }, '/id'],
  ['last_complete', { last_complete: '2026-11-21T12:00:00Z' }, '/last_complete'],
  ['an unknown dataset', { dataset: 'http_request' }, '/dataset'],
  ['a dataset of accounts', { dataset: 'gateway_dns' }, '/dataset'],
  ['null as dataset', { dataset: null }, undefined],
  ['a number as enabled', { enabled: 1 }, '/enabled'],
  ['null as enabled', { enabled: null }, '/enabled'],
  ['a name of 512 characters', { name: 'n'.repeat(512) }, undefined],
  ['a name of 513 characters', { name: 'n'.repeat(513) }, '/name'],
  ['null as name', { name: null }, undefined],
  ['medium as frequency', { frequency: 'medium' }, '/frequency'],
  ['null as frequency', { frequency: null }, undefined],
  ['another kind', { kind: 'push' }, '/kind'],
  ['kind edge', { kind: 'edge' }, undefined],
  ['kind edge for another dataset', { kind: 'edge', dataset: 'firewall_events' }, '/kind'],
  ['kind edge with a size', { kind: 'edge', max_upload_bytes: 5_000_000 }, '/max_upload_bytes'],
  ['logpull_options of 4096 characters', { logpull_options: `fields=RayID#${'a'.repeat(4083)}` }, undefined],
  ['logpull_options of 4097 characters', { logpull_options: `fields=RayID#${'a'.repeat(4084)}` }, '/logpull_options'],
  ['logpull_options that are no URI reference', { logpull_options: 'fields=<RayID>' }, '/logpull_options'],
  ['logpull_options with an unknown field', { logpull_options: 'fields=RayID,Nope' }, '/logpull_options'],
  [
    'logpull_options that nothing heeds',
    { logpull_options: 'fields=Nope', output_options: { field_names: ['RayID'] } },
    undefined,
  ],
  ['a whole URL as logpull_options', { logpull_options: 'https://a/b?fields=RayID&start=1&end=2' }, undefined],
  ['0 as interval', { max_upload_interval_seconds: 0 }, undefined],
  ['29 seconds', { max_upload_interval_seconds: 29 }, '/max_upload_interval_seconds'],
  ['30 seconds', { max_upload_interval_seconds: 30 }, undefined],
  ['300 seconds', { max_upload_interval_seconds: 300 }, undefined],
  ['301 seconds', { max_upload_interval_seconds: 301 }, '/max_upload_interval_seconds'],
  ['30.5 seconds', { max_upload_interval_seconds: 30.5 }, '/max_upload_interval_seconds'],
  ['a text of seconds', { max_upload_interval_seconds: '30' }, '/max_upload_interval_seconds'],
  ['minus one second', { max_upload_interval_seconds: -1 }, '/max_upload_interval_seconds'],
  ['null as interval', { max_upload_interval_seconds: null }, undefined],
  ['0 records', { max_upload_records: 0 }, undefined],
  ['999 records', { max_upload_records: 999 }, '/max_upload_records'],
  ['1000 records', { max_upload_records: 1000 }, undefined],
  ['1,000,000 records', { max_upload_records: 1_000_000 }, undefined],
  ['1,000,001 records', { max_upload_records: 1_000_001 }, '/max_upload_records'],
  ['0 bytes', { max_upload_bytes: 0 }, undefined],
  ['4,999,999 bytes', { max_upload_bytes: 4_999_999 }, '/max_upload_bytes'],
  ['5,000,000 bytes', { max_upload_bytes: 5_000_000 }, undefined],
  ['1 GB', { max_upload_bytes: 1_000_000_000 }, undefined],
  ['1 GB and a byte', { max_upload_bytes: 1_000_000_001 }, '/max_upload_bytes'],
  ['a challenge of 4096 characters', { ownership_challenge: 'a'.repeat(4096) }, undefined],
  ['a challenge of 4097 characters', { ownership_challenge: 'a'.repeat(4097) }, '/ownership_challenge'],
  ['a challenge with a blank', { ownership_challenge: 'a b' }, '/ownership_challenge'],
  ['an empty filter', { filter: '' }, undefined],
  ['null as filter', { filter: null }, undefined],
  ['an object as filter', { filter: { where: KEY } }, '/filter'],
  ['a filter that is not JSON', { filter: '{' }, '/filter'],
  ['a filter without where', { filter: '{}' }, '/filter/where'],
  ['a filter of 1000 bytes', { filter: JSON.stringify({ where: KEY }).padEnd(1000) }, undefined],
  ['a filter of 1001 bytes', { filter: JSON.stringify({ where: KEY }).padEnd(1001) }, '/filter'],
  [
    'a filter on an unknown field',
    { filter: '{"where":{"key":"Nope","operator":"eq","value":1}}' },
    '/filter/where/key',
  ],
  [
    'a filter with an unknown operator',
    { filter: '{"where":{"and":[{"key":"RayID","operator":"like","value":"a"}]}}' },
    '/filter/where/and/0/operator',
  ],
  ['attack traffic of http_requests', { filter_attack_traffic: true }, undefined],
  ['attack traffic of dns_logs', { dataset: 'dns_logs', filter_attack_traffic: true }, '/filter_attack_traffic'],
  ['no attack traffic filter for dns_logs', { dataset: 'dns_logs', filter_attack_traffic: false }, undefined],
  ['null as filter_attack_traffic', { filter_attack_traffic: null }, '/filter_attack_traffic'],
  ['an unknown option', { output_options: { fields: [] } }, '/output_options/fields'],
  ['xml as output_type', { output_options: { output_type: 'xml' } }, '/output_options/output_type'],
  ['a text as sample_rate', { output_options: { sample_rate: '1' } }, '/output_options/sample_rate'],
  ['null as sample_rate', { output_options: { sample_rate: null } }, undefined],
  ['0 as sample_rate', { output_options: { sample_rate: 0 } }, '/output_options/sample_rate'],
  ['a tiny sample_rate', { output_options: { sample_rate: 1e-9 } }, undefined],
  ['1 as sample_rate', { output_options: { sample_rate: 1 } }, undefined],
  ['1.01 as sample_rate', { output_options: { sample_rate: 1.01 } }, '/output_options/sample_rate'],
  ['an unknown field', { output_options: { field_names: ['RayID', 'Nope'] } }, '/output_options/field_names/1'],
  ['an unknown time format', { output_options: { timestamp_format: 'iso' } }, '/output_options/timestamp_format'],
  [
    'a template with a function',
    { output_options: { record_template: '{{ len .RayID }}' } },
    '/output_options/record_template',
  ],
  ['merging', { output_options: { merge_subrequests: true } }, undefined],
  [
    'merging elsewhere',
    { dataset: 'firewall_events', output_options: { merge_subrequests: true } },
    '/output_options/merge_subrequests',
  ],
  [
    'merging elsewhere by its other name',
    { dataset: 'firewall_events', subrequest_merging: true },
    '/subrequest_merging',
  ],
  [
    'merging that contradicts itself',
    { output_options: { merge_subrequests: true }, subrequest_merging: false },
    '/subrequest_merging',
  ],
  [
    'merging beside logpull_options',
    { logpull_options: 'fields=RayID', subrequest_merging: true },
    '/subrequest_merging',
  ],
  ['null as output_options', { output_options: null }, undefined],
  ['a list as output_options', { output_options: [] }, '/output_options'],
]

t.test('what a job may be, at each of its bounds', async (t) => {
  const { call, store, destinations } = await logpushClient(t, { jobs: 1000 })
  for (const [what, body, pointer] of TABLE) {
    const before = store.count(LOGPUSH_JOBS)
    const reached = destinations.reached.length
    const answer = await call('POST', JOBS, { destination_conf: HTTPS, ...body })
    if (pointer === undefined) {
      t.equal(answer.status, 200, `${what} is taken: ${JSON.stringify(answer.body.errors)}`)
      continue
    }
    t.match(answer, { status: 400, body: { success: false, result: null, errors: [{ code: 1002 }] } }, what)
    const pointers = answer.body.errors.map(({ source }: { source: { pointer: string } }) => source.pointer)
    t.same(pointers, [pointer], `${what} is told where it stands`)
    t.equal(store.count(LOGPUSH_JOBS), before, `${what}: nothing is stored`)
    t.equal(destinations.reached.length, reached, `${what}: nothing is tried out`)
  }
})

t.test('all that is wrong is told at once', async (t) => {
  const { call } = await logpushClient(t)
  const { body } = await call('POST', JOBS, {
    destination_conf: HTTPS,
    filter: '[]',
    output_options: { field_names: ['Nope'] },
    dataset: 'http_requests',
    kind: 'edge',
    max_upload_bytes: 5_000_000,
  })
  const pointers = body.errors.map(({ source }: { source: { pointer: string } }) => source.pointer)
  t.same(pointers.toSorted(), ['/filter', '/max_upload_bytes', '/output_options/field_names/0'])
})

t.test('a limit is told with all that it may be', async (t) => {
  const { call } = await logpushClient(t)
  const refused = async (body: object) =>
    (await call('POST', JOBS, { destination_conf: HTTPS, ...body })).body.errors[0].message
  const seconds = 'must be 0 or an integer from 30 to 300'
  t.equal(await refused({ max_upload_interval_seconds: 29 }), seconds)
  t.equal(await refused({ max_upload_interval_seconds: '30' }), seconds)
  t.equal(await refused({ output_options: { sample_rate: '1' } }), 'must be number or null')
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
    [{ id: 1 }, '/id'],
  ] as const) {
    const before = store.get(LOGPUSH_JOBS, zone(ZONE), '1')
    const answer = await call('PUT', `${JOBS}/1`, body)
    t.match(answer, { status: 400, body: { errors: [{ code: 1002, source: { pointer } }] } })
    t.equal(store.get(LOGPUSH_JOBS, zone(ZONE), '1'), before)
  }
  for (const id of ['2', '0', '-1', '1.0', '01', 'a', '9'.repeat(30)])
    t.match(await call('PUT', `${JOBS}/${id}`, { name: 'x' }), { status: 404, body: { errors: [{ code: 20301 }] } }, id)
  t.match(await call('GET', `/zones/${OTHER_ZONE}/logpush/jobs/1`), { status: 404 }, 'it belongs to its zone')
})

t.test('a destination is tried out when it is new and when a job is enabled, never when it is disabled', async (t) => {
  const { call, destinations, store } = await logpushClient(t)
  const refused = {
    status: 400,
    body: {
      errors: [
        {
          code: 1002,
          message:
            /^error validating destination: error writing object: error uploading: logs\.example\.com answered 403$/,
          source: { pointer: '/destination_conf' },
        },
      ],
    },
  }
  t.match(await call('POST', JOBS, { destination_conf: 'down://a' }), refused)
  t.same(store.list(LOGPUSH_JOBS), [])
  destinations.reached.length = 0

  const put = async (body: object) => await call('PUT', `${JOBS}/1`, body)
  await call('POST', JOBS, { destination_conf: HTTPS, enabled: true })
  t.same(destinations.reached.splice(0), [HTTPS], 'on creation')
  destinations.down.add(HTTPS)
  t.equal((await put({ name: 'b' })).status, 200)
  t.equal((await put({ enabled: true, destination_conf: HTTPS })).status, 200, 'nothing of it changes')
  t.equal((await put({ enabled: false })).status, 200)
  t.same(destinations.reached.splice(0), [], 'not while its receiver is down')
  t.match(await put({ enabled: true }), refused)
  t.match((await call('GET', `${JOBS}/1`)).body.result, { enabled: false })
  destinations.down.clear()
  t.equal((await put({ enabled: true })).status, 200)
  t.same(destinations.reached.splice(0), [HTTPS, HTTPS], 'on enabling')
  t.match(await put({ destination_conf: 'down://b' }), refused)
  t.match((await call('GET', `${JOBS}/1`)).body.result, { destination_conf: HTTPS })
  t.equal((await put({ enabled: false, destination_conf: 'down://b' })).status, 200, 'disabling always works')
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

const S3 = 's3://bucket/logs?region=eu-central-1'

t.test('an ownership challenge proves whose a destination is', async (t) => {
  const { call, destinations, clock } = await logpushClient(t)
  const wanted = { status: 400, body: { errors: [{ code: 1002, source: { pointer: '/ownership_challenge' } }] } }
  t.match(await call('POST', JOBS, { destination_conf: S3 }), wanted)
  t.match((await call('POST', JOBS, { destination_conf: S3, ownership_challenge: 'abc' })).body.errors, [
    { message: 'incorrect ownership challenge' },
  ])
  const asked = await call('POST', `/zones/${ZONE}/logpush/ownership`, { destination_conf: S3 })
  t.strictSame(asked.body.result, { filename: 'bucket/logs/ownership-challenge.txt', message: '', valid: true })
  const token = destinations.files.get('bucket/logs/ownership-challenge.txt') ?? ''
  t.match(token, /^[\w-]+\.[\w-]+\.[\w-]+$/)

  const valid = async (path: string, body: object) =>
    (await call('POST', `${path}/logpush/ownership/validate`, body)).body.result
  const zonePath = `/zones/${ZONE}`
  const proof = { destination_conf: S3, ownership_challenge: token }
  t.strictSame(await valid(zonePath, proof), { valid: true })
  t.strictSame(
    await valid(zonePath, { ...proof, destination_conf: `${S3}&sse=AES256` }),
    { valid: false },
    'all of it counts',
  )
  t.strictSame(await valid(`/zones/${OTHER_ZONE}`, proof), { valid: false }, 'of another zone')
  t.strictSame(await valid(`/accounts/${ACCOUNT}`, proof), { valid: false }, 'of the account')
  const [head, claims, signature = ''] = token.split('.')
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${claims}.`
  for (const forged of ['', 'a', none, `${head}.${claims}.${signature.replace(/^./, (c) => (c === 'A' ? 'B' : 'A'))}`])
    t.strictSame(await valid(zonePath, { ...proof, ownership_challenge: forged }), { valid: false })

  t.equal((await call('POST', JOBS, proof)).status, 200)
  const keys = `${S3}&access-key-id=AK&secret-access-key=hunter2`
  t.equal((await call('POST', JOBS, { destination_conf: keys })).status, 200, 'none where there are keys')
  t.equal((await call('PUT', `${JOBS}/1`, { name: 'b' })).status, 200, 'none where the destination stays')
  t.match(await call('PUT', `${JOBS}/2`, { destination_conf: `${S3}&sse=AES256` }), wanted)
  t.equal((await call('PUT', `${JOBS}/2`, proof)).status, 200)

  clock.advance(7 * 24 * 3600 * 1000 - 1000)
  t.strictSame(await valid(zonePath, proof), { valid: true })
  clock.advance(2000)
  t.strictSame(await valid(zonePath, proof), { valid: false }, 'after seven days')
})

t.test('a challenge tells nothing of the credentials in its destination', async (t) => {
  const { call, destinations } = await logpushClient(t)
  const secret = `${S3}&access-key-id=AKIAEXAMPLE&secret-access-key=hunter2`
  await call('POST', `/zones/${ZONE}/logpush/ownership`, { destination_conf: secret })
  const [, claims = ''] = [...destinations.files.values()][0]?.split('.') ?? []
  const read = JSON.parse(Buffer.from(claims, 'base64url').toString()) as Record<string, unknown>
  t.match(read, { object_type: 'zone', object_id: ZONE, destination: /^[0-9a-f]{64}$/, fingerprint: /^[0-9a-f]{64}$/ })
  t.equal(Number(read['exp']) - Number(read['iat']), 7 * 24 * 3600)
  t.notMatch(JSON.stringify(read), /hunter2|AKIA/)
})

t.test('a challenge cannot be asked for where there are no files, or nobody takes them', async (t) => {
  const { call, destinations } = await logpushClient(t)
  const path = `/accounts/${ACCOUNT}/logpush/ownership`
  const refused = { status: 400, body: { errors: [{ code: 1002, source: { pointer: '/destination_conf' } }] } }
  t.match(await call('POST', path, { destination_conf: HTTPS }), refused)
  t.match(await call('POST', path, { destination_conf: 'nowhere' }), refused)
  t.match(await call('POST', path, {}), refused)
  destinations.down.add(S3)
  t.match(await call('POST', path, { destination_conf: S3 }), refused)
})

t.test('destinations and options can be tried out', async (t) => {
  const { call } = await logpushClient(t)
  const ask = async (what: string, body: object) => await call('POST', `/zones/${ZONE}/logpush/validate/${what}`, body)
  t.strictSame((await ask('destination', { destination_conf: HTTPS })).body.result, { valid: true, message: '' })
  t.match((await ask('destination', { destination_conf: 'down://a' })).body.result, {
    valid: false,
    message: /answered 403/,
  })
  t.match((await ask('destination', { destination_conf: 'nowhere' })).body.result, { valid: false, message: /scheme/ })
  t.match(await ask('destination', {}), { status: 400, body: { errors: [{ code: 1002 }] } })

  t.strictSame((await ask('destination/exists', { destination_conf: HTTPS })).body.result, { exists: false })
  await call('POST', JOBS, { destination_conf: HTTPS })
  const exists = async (destination_conf: string) => (await ask('destination/exists', { destination_conf })).body.result
  t.strictSame(await exists(HTTPS), { exists: true })
  t.strictSame(await exists(HTTPS.replace('x=1', 'x=2')), { exists: false })
  t.strictSame(
    (await call('POST', `/accounts/${ACCOUNT}/logpush/validate/destination/exists`, { destination_conf: HTTPS })).body
      .result,
    { exists: false },
    'jobs of others are not told',
  )

  const options = 'fields=RayID,ClientIP,EdgeStartTimestamp&timestamps=rfc3339'
  t.strictSame((await ask('origin', { logpull_options: options })).body.result, { valid: true, message: '' })
  t.match((await ask('origin', { logpull_options: 'fields=Nope' })).body.result, { valid: false, message: /Nope/ })
  t.match((await ask('origin', { logpull_options: options, dataset: 'dns_logs' })).body.result, { valid: false })
  t.match(await ask('origin', { logpull_options: options, dataset: 'nope' }), { status: 400 })
  t.match(await ask('origin', {}), { status: 400, body: { errors: [{ source: { pointer: '/logpull_options' } }] } })
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
