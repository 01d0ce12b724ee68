import t from 'tap'
import { DATASETS } from '../../../pipelines/records/index.js'
import { LOGPUSH_JOBS } from '../../../src/core/model/logpush-job.js'
import type { TestResponse } from '../client.js'
import { ACCOUNT_JOBS, HTTPS, JOBS, logpushClient } from './helper.js'

const LONG = `https://logs.example.com/${'a'.repeat(4096)}`.slice(0, 4096)
const KEY = { key: 'RayID', operator: 'eq', value: 'a' }

/** Options of any text. */
const TEXTS = [
  'batch_prefix',
  'batch_suffix',
  'record_prefix',
  'record_suffix',
  'record_delimiter',
  'field_delimiter',
  'record_template',
]

/** What is sent beside a destination, and where it is refused; undefined: it is taken. */
const TABLE: [what: string, body: object, pointer: string | undefined][] = [
  ['no destination', { destination_conf: undefined }, '/destination_conf'],
  ['null as destination', { destination_conf: null }, '/destination_conf'],
  ['an empty destination', { destination_conf: '' }, '/destination_conf'],
  ['a destination of an unknown kind', { destination_conf: 'gopher://a/b' }, '/destination_conf'],
  ['a destination of 4096 characters', { destination_conf: LONG }, undefined],
  ['a destination of 4097 characters', { destination_conf: `${LONG}a` }, '/destination_conf'],
  ['an unknown member', { destination: 's3://b' }, '/destination'],
  ['an id', { id: 999_999 }, '/id'],
  ['last_complete', { last_complete: '2026-11-21T12:00:00Z' }, '/last_complete'],
  ['an unknown dataset', { dataset: 'http_request' }, '/dataset'],
  ['a dataset of accounts', { dataset: 'gateway_dns' }, '/dataset'],
  ['null as dataset', { dataset: null }, undefined],
  ['a number as enabled', { enabled: 1 }, '/enabled'],
  ['null as enabled', { enabled: null }, '/enabled'],
  ['an empty name', { name: '' }, undefined],
  ['a number as name', { name: 1 }, '/name'],
  ['a name of 512 characters', { name: 'n'.repeat(512) }, undefined],
  ['a name of 513 characters', { name: 'n'.repeat(513) }, '/name'],
  ['null as name', { name: null }, undefined],
  ['medium as frequency', { frequency: 'medium' }, '/frequency'],
  ['null as frequency', { frequency: null }, undefined],
  ['another kind', { kind: 'push' }, '/kind'],
  ['kind edge', { kind: 'edge' }, undefined],
  ['kind edge for another dataset', { kind: 'edge', dataset: 'firewall_events' }, '/kind'],
  ['kind edge with a size', { kind: 'edge', max_upload_bytes: 5_000_000 }, '/max_upload_bytes'],
  ['empty logpull_options', { logpull_options: '' }, undefined],
  ['null as logpull_options', { logpull_options: null }, undefined],
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
  ['minus one record', { max_upload_records: -1 }, '/max_upload_records'],
  ['one record', { max_upload_records: 1 }, '/max_upload_records'],
  ['1000.5 records', { max_upload_records: 1000.5 }, '/max_upload_records'],
  ['a text of records', { max_upload_records: '1000' }, '/max_upload_records'],
  ['null as records', { max_upload_records: null }, undefined],
  ['0 records', { max_upload_records: 0 }, undefined],
  ['999 records', { max_upload_records: 999 }, '/max_upload_records'],
  ['1000 records', { max_upload_records: 1000 }, undefined],
  ['1,000,000 records', { max_upload_records: 1_000_000 }, undefined],
  ['1,000,001 records', { max_upload_records: 1_000_001 }, '/max_upload_records'],
  ['minus one byte', { max_upload_bytes: -1 }, '/max_upload_bytes'],
  ['one byte', { max_upload_bytes: 1 }, '/max_upload_bytes'],
  ['null as bytes', { max_upload_bytes: null }, undefined],
  ['0 bytes', { max_upload_bytes: 0 }, undefined],
  ['4,999,999 bytes', { max_upload_bytes: 4_999_999 }, '/max_upload_bytes'],
  ['5,000,000 bytes', { max_upload_bytes: 5_000_000 }, undefined],
  ['1 GB', { max_upload_bytes: 1_000_000_000 }, undefined],
  ['1 GB and a byte', { max_upload_bytes: 1_000_000_001 }, '/max_upload_bytes'],
  ['no challenge', { ownership_challenge: '' }, undefined],
  ['null as challenge', { ownership_challenge: null }, '/ownership_challenge'],
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
  ['1000 fields', { output_options: { field_names: Array<string>(1000).fill('RayID') } }, undefined],
  [
    '1001 fields',
    { output_options: { field_names: Array<string>(1001).fill('RayID') } },
    '/output_options/field_names',
  ],
  ['no fields', { output_options: { field_names: [] } }, '/output_options/field_names'],
  ...TEXTS.flatMap((option): typeof TABLE => [
    [`64 KiB as ${option}`, { output_options: { [option]: 'x'.repeat(65_536) } }, undefined],
    [
      `64 KiB and a character as ${option}`,
      { output_options: { [option]: 'x'.repeat(65_537) } },
      `/output_options/${option}`,
    ],
    [`a number as ${option}`, { output_options: { [option]: 1 } }, `/output_options/${option}`],
  ]),
  ['an unknown option', { output_options: { fields: [] } }, '/output_options/fields'],
  ['xml as output_type', { output_options: { output_type: 'xml' } }, '/output_options/output_type'],
  ['a text as sample_rate', { output_options: { sample_rate: '1' } }, '/output_options/sample_rate'],
  ['null as sample_rate', { output_options: { sample_rate: null } }, undefined],
  ['-0.1 as sample_rate', { output_options: { sample_rate: -0.1 } }, '/output_options/sample_rate'],
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

const pointersOf = ({ body }: TestResponse): string[] =>
  (body.errors as { source: { pointer: string } }[]).map(({ source }) => source.pointer)

t.test('what a job may be, at each of its bounds', async (t) => {
  const { call, store, destinations } = await logpushClient(t, { jobs: 1000 })
  for (const [what, body, pointer] of TABLE) {
    const before = store.count(LOGPUSH_JOBS)
    const reached = destinations.reached.length
    const response = await call('POST', JOBS, { destination_conf: HTTPS, ...body })
    if (pointer === undefined) {
      t.equal(response.status, 200, `${what} is taken: ${JSON.stringify(response.body.errors)}`)
      continue
    }
    t.match(response, { status: 400, body: { success: false, result: null, errors: [{ code: 1002 }] } }, what)
    t.same(pointersOf(response), [pointer], `${what} is told where it stands`)
    t.equal(store.count(LOGPUSH_JOBS), before, `${what}: nothing is stored`)
    t.equal(destinations.reached.length, reached, `${what}: nothing is tried out`)
  }
})

/** Those that are decided when a job is made. */
const ONCE: ReadonlySet<string> = new Set(['dataset', 'kind'])

t.test('a change keeps to the same bounds', async (t) => {
  const { call } = await logpushClient(t, { jobs: 1000 })
  for (const [what, body, pointer] of TABLE) {
    if (Object.keys(body).some((member) => ONCE.has(member)) || what === 'no destination') continue
    const { result: before } = (await call('POST', JOBS, { destination_conf: HTTPS })).body
    const path = `${JOBS}/${before.id}`
    const response = await call('PUT', path, body)
    if (pointer === undefined) t.equal(response.status, 200, `${what}: ${JSON.stringify(response.body.errors)}`)
    else {
      t.equal(response.status, 400, what)
      t.same(pointersOf(response), [pointer], what)
      t.strictSame((await call('GET', path)).body.result, before, `${what}: nothing has changed`)
    }
  }
})

t.test('every dataset has jobs in the scopes that it belongs to, and no others', async (t) => {
  const { call } = await logpushClient(t, { jobs: 1000 })
  t.ok(DATASETS.size >= 37, 'at least the datasets of the public API')
  for (const [dataset, { scopes }] of DATASETS)
    for (const [scope, path] of [
      ['zone', JOBS],
      ['account', ACCOUNT_JOBS],
    ] as const) {
      const response = await call('POST', path, { destination_conf: HTTPS, dataset })
      if (scopes.includes(scope)) t.match(response, { status: 200, body: { result: { dataset } } })
      else t.same(pointersOf(response), ['/dataset'], `${dataset} is none of a ${scope}`)
    }
})

/** What an enumeration may be. */
const CHOICES: [member: string, values: readonly string[]][] = [
  ['output_type', ['ndjson', 'csv']],
  ['timestamp_format', ['unixnano', 'unix', 'rfc3339', 'rfc3339ms', 'rfc3339ns']],
]

t.test('each choice of an option is taken as it is', async (t) => {
  const { call } = await logpushClient(t, { jobs: 1000 })
  for (const [member, values] of CHOICES)
    for (const value of values) {
      const output_options = { [member]: value }
      const { body } = await call('POST', JOBS, { destination_conf: HTTPS, output_options })
      t.strictSame(body.result.output_options, output_options)
    }
  for (const frequency of ['high', 'low'])
    t.match((await call('POST', JOBS, { destination_conf: HTTPS, frequency })).body.result, { frequency })
})

t.test('all errors are reported together', async (t) => {
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

t.test('an invalid limit is reported with its permitted values', async (t) => {
  const { call } = await logpushClient(t)
  const refused = async (body: object) =>
    (await call('POST', JOBS, { destination_conf: HTTPS, ...body })).body.errors[0].message
  const seconds = 'must be 0 or an integer from 30 to 300'
  t.equal(await refused({ max_upload_interval_seconds: 29 }), seconds)
  t.equal(await refused({ max_upload_interval_seconds: '30' }), seconds)
  t.equal(await refused({ output_options: { sample_rate: '1' } }), 'must be a number or null')
})
