import t from 'tap'
import { compileJob, type JobSettings } from '../../../pipelines/logpush/settings/compiled-job.js'
import { batchOf } from '../../../pipelines/run/batch-of.js'
import type { Reshape } from '../../../pipelines/records/index.js'
import { InvalidInput } from '../../../src/core/errors.js'

const written = (
  reshape: Reshape,
  records: readonly string[],
  { dataset = 'any', ...more }: Partial<JobSettings> = {},
): string => {
  const { text, rejected } = batchOf(compileJob({ dataset, reshape, ...more }, 'seed'), records)
  if (rejected.length > 0) throw new Error(rejected[0]!.message)
  return text
}

t.test('what is not named keeps its bytes, order and blanks', async (t) => {
  const CASES: [what: string, reshape: Reshape, before: string, after: string][] = [
    ['drop the first', { drop: ['a'] }, '{ "a" : 1,  "b":2.50 }', '{"b":2.50 }'],
    ['set over an inherited name', { set: { constructor: '1' } }, '{"constructor":2}', '{"constructor":1}'],
    ['rename to an inherited name', { rename: { a: 'valueOf' } }, '{"valueOf":2,"a":1}', '{"valueOf":1}'],
    ['drop the last', { drop: ['b'] }, '{"a":1 , "b":2}', '{"a":1}'],
    [
      'drop one in between',
      { drop: ['b'] },
      '{"a":1, "b":{"x":[1,2]}, "c":19007199254740993}',
      '{"a":1, "c":19007199254740993}',
    ],
    ['drop neighbours', { drop: ['a', 'b', 'd'] }, '{"a":1,"b":2,"c":3,"d":4}', '{"c":3}'],
    ['drop all', { drop: ['a', 'b'] }, '{"a":1,"b":2}', '{}'],
    ['drop what is not there', { drop: ['x'] }, '{"a":1e3}', '{"a":1e3}'],
    ['drop every copy', { drop: ['a'] }, '{"a":1,"b":2,"a":3,"\\u0061":4}', '{"b":2}'],
    ['drop inside', { drop: ['/u/pw', '/l/0'] }, '{"u":{"pw":"s","id":1},"l":[1,2]}', '{"u":{"id":1},"l":[2]}'],
    ['drop all inside', { drop: ['/u/pw'] }, '{"u":{"pw":"s"}}', '{"u":{}}'],
    ['drop inside what is no object', { drop: ['/u/pw'] }, '{"u":"pw"}', '{"u":"pw"}'],
    ['rename', { rename: { a: 'b' } }, '{"a":1,"c":2}', '{"b":1,"c":2}'],
    ['rename over another', { rename: { a: 'b' } }, '{"b":0,"a":1}', '{"b":1}'],
    ['rename nothing over another', { rename: { a: 'b' } }, '{"b":0}', '{"b":0}'],
    ['rename crosswise', { rename: { a: 'b', b: 'a' } }, '{"a":1,"b":2}', '{"b":1,"a":2}'],
    ['rename from inside', { rename: { '/u/id': 'user_id' } }, '{"u":{"id":7,"n":1}}', '{"u":{"n":1},"user_id":7}'],
    [
      'set',
      { set: { env: '"prod"', n: '12345678901234567890' } },
      '{"a":1}',
      '{"a":1,"env":"prod","n":12345678901234567890}',
    ],
    ['set in an empty record', { set: { env: '"prod"' } }, '{}', '{"env":"prod"}'],
    ['set over another', { set: { a: '2' } }, '{"a":1}', '{"a":2}'],
    [
      'mask',
      { redact: { a: 'mask', '/b/c': 'mask' } },
      '{"a":{"x":1},"b":{"c":5,"d":6}}',
      '{"a":"***","b":{"c":"***","d":6}}',
    ],
    ['mask every copy', { redact: { a: 'mask' } }, '{"a":"x","a":"y"}', '{"a":"***","a":"***"}'],
    ['null stays', { redact: { a: 'mask' } }, '{"a":null}', '{"a":null}'],
    ['rename and redact', { rename: { a: 'b' }, redact: { a: 'mask' } }, '{"a":"x"}', '{"b":"***"}'],
    [
      'move and redact inside',
      { rename: { '/u/i': 'i' }, redact: { '/u/i/m': 'mask' } },
      '{"u":{"i":{"m":"x","n":1}}}',
      '{"u":{},"i":{"m":"***","n":1}}',
    ],
  ]
  for (const [what, reshape, before, after] of CASES) t.equal(written(reshape, [before]), `${after}\n`, what)
})

t.test('values are hidden by method', async (t) => {
  const redacted = (method: 'query' | 'address', value: string) =>
    written({ redact: { v: method } }, [`{"v":${value}}`]).slice(5, -2)
  const QUERIES: [before: string, after: string][] = [
    ['"/a?token=1#x"', '"/a"'],
    ['"/a"', '"/a"'],
    ['"/a\\u003ftoken=1"', '"/a"'],
    ['"/\\u00e4?b"', '"/ä"'],
    ['5', '5'],
    ['["/a?b"]', '"***"'],
  ]
  for (const [before, after] of QUERIES) t.equal(redacted('query', before), after, before)
  const ADDRESSES: [before: string, after: string][] = [
    ['"192.0.2.77"', '"192.0.2.0"'],
    ['"2001:db8:1:2:3:4:5:6"', '"2001:db8:1::"'],
    ['"2001:db8::6"', '"2001:db8::"'],
    ['"::1"', '"::"'],
    ['"::ffff:192.0.2.77"', '"::ffff:192.0.2.0"'],
    ['"192.0.2.77:443"', '"***"'],
    ['"host 192.0.2.77"', '"***"'],
    ['"fe80::1%eth0"', '"***"'],
    ['{"ip":"192.0.2.77"}', '"***"'],
    ['3221226061', '"***"'],
    ['""', '"***"'],
  ]
  for (const [before, after] of ADDRESSES) t.equal(redacted('address', before), after, before)
  const key = { hash: 'a key of some length' }
  const [one, two, three] = written({ redact: { v: key } }, ['{"v":"a"}', '{"v":"\\u0061"}', '{"v":"b"}']).split('\n')
  t.match(one, /^\{"v":"[0-9a-f]{32}"\}$/)
  t.equal(one, two, 'an escape is the same text')
  t.not(one, three)
})

t.test('the filter sees records as they arrive, the format as they leave', async (t) => {
  const filter = { where: { key: 'status', operator: 'geq', value: 500 } }
  const reshape = {
    rename: { status: 'code', '/user/mail': 'mail' },
    redact: { '/user/mail': 'mask' as const },
    set: { env: '"p"' },
  }
  const records = ['{"status":503,"user":{"mail":"x@y","id":1}}', '{"status":200}']
  const text = written(reshape, records, {
    filter,
    output_options: { output_type: 'csv', field_names: ['code', 'mail', 'env', '/user', 'status'] },
  })
  t.equal(text, '503,"***","p","{""id"":1}",\n')
  const template = { record_template: '{{.code}} {{.env}}', record_prefix: '', record_suffix: '\n' }
  t.equal(written(reshape, records, { filter, output_options: template }), '503 "p"\n')
  const schema = { time: 'timestamp' } as const
  const options = { field_names: ['at'], timestamp_format: 'rfc3339' }
  t.equal(
    written({ rename: { time: 'at' } }, ['{"time":1795266000}'], { schema, output_options: options }),
    '{"at":"2026-11-21T13:00:00Z"}\n',
  )
})

t.test('fields of a dataset are reshaped without the text of their record', async (t) => {
  const dataset = 'http_requests'
  const record =
    '{"RayID":"a\\"b","ClientIP":"192.0.2.7","EdgeResponseStatus":503,"ClientRequestURI":"/p?q","EdgeStartTimestamp":1795266000123456789}'
  const reshape: Reshape = {
    drop: ['EdgeResponseStatus'],
    rename: { RayID: 'ray', EdgeStartTimestamp: 'at' },
    redact: { ClientIP: 'address', ClientRequestURI: 'query' },
    set: { env: '"prod"' },
    geo: {
      field: 'ClientIP',
      set: { country: 'country', city: 'city' },
      locate: (ip) => ({ country: ip === '192.0.2.7' ? 'DE' : undefined, city: undefined }),
    },
    lookup: [{ field: 'ClientIP', set: 'known', has: (value) => value === '192.0.2.7' }],
  }
  const names = ['ray', 'ClientIP', 'ClientRequestURI', 'at', 'country', 'city', 'known', 'env']
  const output_options = { field_names: names, timestamp_format: 'rfc3339' }
  t.equal(
    written(reshape, [record], { dataset, output_options }),
    '{"ray":"a\\"b","ClientIP":"192.0.2.0","ClientRequestURI":"/p","at":"2026-11-21T13:00:00Z","country":"DE","city":null,"known":true,"env":"prod"}\n',
  )
  t.equal(
    written(reshape, [record], { dataset, output_options: { ...output_options, output_type: 'csv' } }),
    '"a""b","192.0.2.0","/p","2026-11-21T13:00:00Z","DE",,true,"prod"\n',
  )
  const whole = JSON.parse(written(reshape, [record], { dataset })) as Record<string, unknown>
  t.notOk('RayID' in whole || 'EdgeResponseStatus' in whole)
  t.match(whole, { ray: 'a"b', env: 'prod', country: 'DE' })
})

t.test('repeated records are left out, also when they are read again', async (t) => {
  const job = compileJob({ dataset: 'any', dedupe: { field: 'id', window: 1000, entries: 3 } }, 'seed')
  const dedupe = job.dedupe!()
  const scanner = job.view!()
  const repeats = (json: string, position: number, at: number) =>
    dedupe.repeats(scanner.scan(Buffer.from(json)), position, at)
  t.notOk(repeats('{"id":"a"}', 0, 0))
  t.ok(repeats('{"id":"a"}', 1, 10))
  t.ok(repeats('{"id":"\\u0061"}', 2, 10))
  t.notOk(repeats('{"id":"a"}', 0, 0), 'the first one, read again')
  t.notOk(repeats('{"id":1}', 3, 10))
  t.notOk(repeats('{"id":"1"}', 4, 10), 'a text is not a number')
  t.notOk(repeats('{}', 5, 10))
  t.notOk(repeats('{}', 6, 10))
  t.notOk(repeats('{"id":"a"}', 7, 1001), 'after the window')
  t.ok(repeats('{"id":"a"}', 8, 1500))
  for (const id of [21, 22, 23]) t.notOk(repeats(`{"id":${id}}`, id, 1500))
  t.notOk(repeats('{"id":"a"}', 30, 1500), 'beyond the number of entries the oldest is forgotten')
  const long = 'x'.repeat(500)
  t.notOk(repeats(`{"id":"${long}"}`, 40, 1500))
  t.ok(repeats(`{"id":"${long}"}`, 41, 1500))
})

t.test('what does not fit is reported with its place', async (t) => {
  const issues = (settings: Partial<JobSettings>): readonly string[] => {
    try {
      compileJob({ dataset: 'http_requests', ...settings }, 'seed')
      return []
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error
      return error.issues.map(({ pointer, message }) => `${pointer} ${message}`)
    }
  }
  t.match(issues({ reshape: { drop: ['RayIDs'] } }), [
    /^\/drop\/0 is not a field of http_requests; did you mean RayID\?/,
  ])
  t.match(issues({ reshape: { rename: { RayID: 'ClientIP' } } }), [/^\/rename\/RayID ClientIP is a field/])
  t.match(issues({ reshape: { rename: { RayID: 'a' }, drop: ['RayID'] } }), [/^\/rename\/RayID is dropped/])
  t.match(issues({ reshape: { rename: { RayID: 'a' }, set: { a: '1' } } }), [/^\/set\/a a is the name of another/])
  t.match(issues({ reshape: { set: { '/a': '1' } } }), [/^\/set\/~1a .*top-level/])
  t.match(issues({ reshape: { rename: { RayID: 'a' } }, output_options: { field_names: ['RayID'] } }), [
    /field_names\/0/,
  ])
  t.match(issues({ dedupe: { field: 'No', window: 1, entries: 1 } }), [/^\/dedupe\/field/])
  t.match(issues({ reshape: { drop: ['RayID'] }, output_options: { merge_subrequests: true } }), [
    /merge_subrequests cannot be used/,
  ])
})
