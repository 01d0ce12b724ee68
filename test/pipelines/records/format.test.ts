import fc from 'fast-check'
import t from 'tap'
import type { InvalidInput } from '../../../src/core/errors.js'
import {
  BatchText,
  compileFormat,
  compileLogpullFormat,
  copied,
  parseLogpullOptions,
  Scanner,
  type TimestampFormat,
} from '../../../pipelines/records/index.js'
import { httpRequests, named, written } from './helper.js'

const RAY = '{"RayID":"r1","EdgeResponseStatus":200}'
const TWO = ['{"RayID":"r1","EdgeResponseStatus":200}', '{"RayID":"r2","EdgeResponseStatus":404}']
const names = (...field_names: string[]) => ({ field_names })
const csv = (...field_names: string[]) => ({ output_type: 'csv', field_names })
const BOTH = ['RayID', 'EdgeResponseStatus']
const GUARD = { 'CVE-2021-44228': true }

const CASES: [what: string, options: object, lines: string[], want: string][] = [
  // ndjson
  ['one field', names('RayID'), [RAY], '{"RayID":"r1"}\n'],
  [
    'the order of field_names',
    names('EdgeResponseStatus', 'RayID'),
    [RAY],
    '{"EdgeResponseStatus":200,"RayID":"r1"}\n',
  ],
  ['a name twice', names('RayID', 'RayID'), [RAY], '{"RayID":"r1","RayID":"r1"}\n'],
  ['two records', names('RayID'), TWO, '{"RayID":"r1"}\n{"RayID":"r2"}\n'],
  ['no record', names('RayID'), [], ''],
  ['a missing field', names('RayID', 'ClientIP'), [RAY], '{"RayID":"r1","ClientIP":null}\n'],
  ['a null', names('RayID'), ['{"RayID":null}'], '{"RayID":null}\n'],
  ['an empty string', names('RayID'), ['{"RayID":""}'], '{"RayID":""}\n'],
  [
    'true and false',
    names('CacheReserveUsed', 'CacheTieredFill'),
    ['{"CacheReserveUsed":true,"CacheTieredFill":false}'],
    '{"CacheReserveUsed":true,"CacheTieredFill":false}\n',
  ],
  ['19 digits', names('ClientASN'), ['{"ClientASN":1506702504433000200}'], '{"ClientASN":1506702504433000200}\n'],
  ['2^64-1', names('ClientASN'), ['{"ClientASN":18446744073709551615}'], '{"ClientASN":18446744073709551615}\n'],
  ['1e21', names('ClientASN'), ['{"ClientASN":1e21}'], '{"ClientASN":1e21}\n'],
  ['0.1', names('ClientASN'), ['{"ClientASN":0.10}'], '{"ClientASN":0.10}\n'],
  ['-0', names('ClientASN'), ['{"ClientASN":-0}'], '{"ClientASN":-0}\n'],
  ['escapes as they are', names('RayID'), ['{"RayID":"a\\u0041\\/\\n\\""}'], '{"RayID":"a\\u0041\\/\\n\\""}\n'],
  ['UTF-8', names('RayID'), ['{"RayID":"café 日 😀"}'], '{"RayID":"café 日 😀"}\n'],
  ['a list', names('SecuritySources'), ['{"SecuritySources":["a", "b"]}'], '{"SecuritySources":["a", "b"]}\n'],
  [
    'an object',
    names('RequestHeaders'),
    ['{"RequestHeaders":{"b":1, "a":[{}]}}'],
    '{"RequestHeaders":{"b":1, "a":[{}]}}\n',
  ],
  [
    'an object on several lines',
    names('RequestHeaders'),
    ['{"RequestHeaders":{\n\t"b": 1,\r\n"a":[ ]}}'],
    '{"RequestHeaders":{"b": 1,"a":[ ]}}\n',
  ],
  [
    'an object as a string',
    { ...names('RequestHeaders'), stringify_object: true },
    ['{"RequestHeaders":{"a":"\\"\\n"}}'],
    '{"RequestHeaders":"{\\"a\\":\\"\\\\\\"\\\\n\\"}"}\n',
  ],
  [
    'a list, where objects become strings',
    { ...names('SecuritySources'), stringify_object: true },
    ['{"SecuritySources":["a"]}'],
    '{"SecuritySources":["a"]}\n',
  ],
  [
    'a null object, where objects become strings',
    { ...names('RequestHeaders'), stringify_object: true },
    ['{"RequestHeaders":null}'],
    '{"RequestHeaders":null}\n',
  ],
  [
    'a value of another type',
    names('EdgeResponseStatus'),
    ['{"EdgeResponseStatus":"200"}'],
    '{"EdgeResponseStatus":"200"}\n',
  ],
  ['output_type ndjson', { ...names('RayID'), output_type: 'ndjson' }, [RAY], '{"RayID":"r1"}\n'],
  ['output_type null', { ...names('RayID'), output_type: null }, [RAY], '{"RayID":"r1"}\n'],
  [
    'null options',
    { ...names('RayID'), record_prefix: null, timestamp_format: null, sample_rate: null },
    [RAY],
    '{"RayID":"r1"}\n',
  ],
  // around records and batches, ndjson
  [
    'field_delimiter',
    { ...names(...BOTH), field_delimiter: ', ' },
    [RAY],
    '{"RayID":"r1", "EdgeResponseStatus":200}\n',
  ],
  ['field_delimiter ""', { ...names(...BOTH), field_delimiter: '' }, [RAY], '{"RayID":"r1""EdgeResponseStatus":200}\n'],
  ['record_prefix', { ...names('RayID'), record_prefix: '{"v":1,' }, [RAY], '{"v":1,"RayID":"r1"}\n'],
  ['record_prefix ""', { ...names('RayID'), record_prefix: '' }, [RAY], '"RayID":"r1"}\n'],
  ['record_suffix', { ...names('RayID'), record_suffix: '}}' }, [RAY], '{"RayID":"r1"}}'],
  ['record_suffix ""', { ...names('RayID'), record_suffix: '' }, [RAY], '{"RayID":"r1"'],
  [
    'record_delimiter',
    { ...names('RayID'), record_suffix: '}', record_delimiter: ',\n' },
    TWO,
    '{"RayID":"r1"},\n{"RayID":"r2"}',
  ],
  ['record_delimiter with one record', { ...names('RayID'), record_delimiter: ';' }, [RAY], '{"RayID":"r1"}\n'],
  ['batch_prefix', { ...names('RayID'), batch_prefix: '# ' }, TWO, '# {"RayID":"r1"}\n{"RayID":"r2"}\n'],
  ['batch_suffix', { ...names('RayID'), batch_suffix: 'end' }, TWO, '{"RayID":"r1"}\n{"RayID":"r2"}\nend'],
  [
    'one JSON array',
    { ...names('RayID'), batch_prefix: '[', batch_suffix: ']', record_suffix: '}', record_delimiter: ',' },
    TWO,
    '[{"RayID":"r1"},{"RayID":"r2"}]',
  ],
  [
    'a batch without records',
    { ...names('RayID'), batch_prefix: '[', batch_suffix: ']', record_delimiter: ',' },
    [],
    '[]',
  ],
  [
    'texts beyond ASCII',
    { ...names('RayID'), batch_prefix: 'é', field_delimiter: '日', record_delimiter: '😀' },
    TWO,
    'é{"RayID":"r1"}\n😀{"RayID":"r2"}\n',
  ],
  // csv
  ['csv', csv(...BOTH), TWO, '"r1",200\n"r2",404\n'],
  ['csv of a missing field', csv('RayID', 'ClientIP', 'EdgeResponseStatus'), [RAY], '"r1",,200\n'],
  ['csv of null', csv('RayID', 'EdgeResponseStatus'), ['{"RayID":null}'], ',\n'],
  ['csv of an empty string', csv('RayID', 'ClientIP'), ['{"RayID":""}'], '"",\n'],
  ['csv of booleans', csv('CacheReserveUsed'), ['{"CacheReserveUsed":true}'], 'true\n'],
  ['csv of a comma', csv('RayID'), ['{"RayID":"a,b"}'], '"a,b"\n'],
  ['csv of quotes', csv('RayID'), ['{"RayID":"a\\"b\\""}'], '"a""b"""\n'],
  ['csv of an escaped quote', csv('RayID'), ['{"RayID":"a\\u0022b"}'], '"a""b"\n'],
  ['csv of a backslash', csv('RayID'), ['{"RayID":"c:\\\\d"}'], '"c:\\d"\n'],
  ['csv of a slash', csv('RayID'), ['{"RayID":"a\\/b"}'], '"a/b"\n'],
  ['csv of line breaks', csv('RayID'), ['{"RayID":"a\\r\\nb\\tc\\b\\f"}'], '"a\r\nb\tc\b\f"\n'],
  ['csv of \\u below 0x80', csv('RayID'), ['{"RayID":"\\u0041\\u0000"}'], '"A\0"\n'],
  ['csv of \\u with two bytes', csv('RayID'), ['{"RayID":"caf\\u00e9"}'], '"café"\n'],
  ['csv of \\u with three bytes', csv('RayID'), ['{"RayID":"\\u65e5\\uFFFD"}'], '"日\ufffd"\n'],
  ['csv of a surrogate pair', csv('RayID'), ['{"RayID":"\\ud83d\\ude00!"}'], '"😀!"\n'],
  ['csv of a lone high surrogate', csv('RayID'), ['{"RayID":"\\ud83d!"}'], '"\ufffd!"\n'],
  ['csv of a lone low surrogate', csv('RayID'), ['{"RayID":"\\ude00"}'], '"\ufffd"\n'],
  ['csv of two high surrogates', csv('RayID'), ['{"RayID":"\\ud83d\\ud83d\\ude00"}'], '"\ufffd😀"\n'],
  ['csv of UTF-8', csv('RayID'), ['{"RayID":"café 日 😀"}'], '"café 日 😀"\n'],
  ['csv of a long string', csv('RayID'), [`{"RayID":"${'x'.repeat(5000)}"}`], `"${'x'.repeat(5000)}"\n`],
  ['csv of a list', csv('SecuritySources'), ['{"SecuritySources":["a","b"]}'], '"[""a"",""b""]"\n'],
  ['csv of an object', csv('RequestHeaders'), ['{"RequestHeaders":{"a":"\\"\\\\"}}'], '"{""a"":""\\""\\\\""}"\n'],
  ['csv of an empty list', csv('SecuritySources'), ['{"SecuritySources":[]}'], '"[]"\n'],
  ['csv of a spread list', csv('BotDetectionIDs'), ['{"BotDetectionIDs":[1,\n 2]}'], '"[1, 2]"\n'],
  ['csv of 19 digits', csv('ClientASN'), ['{"ClientASN":1506702504433000200}'], '1506702504433000200\n'],
  ['csv of 1e21 and 0.1', csv('ClientASN', 'BotScore'), ['{"BotScore":0.1,"ClientASN":1e21}'], '1e21,0.1\n'],
  [
    'a csv header by batch_prefix',
    { ...csv(...BOTH), batch_prefix: 'RayID,EdgeResponseStatus\n' },
    TWO,
    'RayID,EdgeResponseStatus\n"r1",200\n"r2",404\n',
  ],
  ['csv with tabs', { ...csv(...BOTH), field_delimiter: '\t' }, [RAY], '"r1"\t200\n'],
  ['csv with CRLF', { ...csv(...BOTH), record_suffix: '\r\n' }, TWO, '"r1",200\r\n"r2",404\r\n'],
  ['csv without record_suffix', { ...csv('RayID'), record_suffix: '' }, TWO, '"r1""r2"'],
  ['csv with record_prefix', { ...csv('RayID'), record_prefix: '> ' }, TWO, '> "r1"\n> "r2"\n'],
  ['csv with record_delimiter', { ...csv('RayID'), record_suffix: '', record_delimiter: '\n' }, TWO, '"r1"\n"r2"'],
  ['csv with field_delimiter ""', { ...csv(...BOTH), field_delimiter: '' }, [RAY], '"r1"200\n'],
  [
    'csv of an object that may become a string',
    { ...csv('RequestHeaders'), stringify_object: true },
    ['{"RequestHeaders":{"a":1}}'],
    '"{""a"":1}"\n',
  ],
  // templates
  [
    'a template',
    { ...names(...BOTH), record_template: '"ray":{{.RayID}},"s":{{.EdgeResponseStatus}}' },
    [RAY],
    '{"ray":"r1","s":200}\n',
  ],
  [
    'a template with its own braces',
    { ...names('RayID'), record_prefix: '', record_suffix: '\n', record_template: 'ray={{.RayID}}' },
    [RAY],
    'ray="r1"\n',
  ],
  [
    'field_delimiter beside a template',
    { ...names(...BOTH), field_delimiter: '|', record_template: '{{.RayID}}{{.EdgeResponseStatus}}' },
    [RAY],
    '{"r1"200}\n',
  ],
  [
    'a field that is not listed',
    { ...names('RayID'), record_template: '{{.EdgeResponseStatus}}{{.RayID}}' },
    [RAY],
    '{null"r1"}\n',
  ],
  ['a field that no dataset has', { ...names('RayID'), record_template: '{{.Nothing}}' }, [RAY], '{null}\n'],
  ['a missing field in a template', { ...names('ClientIP'), record_template: '{{.ClientIP}}' }, [RAY], '{null}\n'],
  ['a null in a template', { ...names('RayID'), record_template: '{{.RayID}}' }, ['{"RayID":null}'], '{null}\n'],
  [
    'a csv template',
    { ...csv(...BOTH), record_template: '{{.EdgeResponseStatus}};{{.RayID}}' },
    ['{"RayID":"a\\"","EdgeResponseStatus":1}'],
    '1;"a"""\n',
  ],
  ['a missing field in a csv template', { ...csv('ClientIP'), record_template: '[{{.ClientIP}}]' }, [RAY], '[null]\n'],
  ['constants and comments', { ...names('RayID'), record_template: '{{"{{"}}{{/* c */}}{{`}}`}}' }, [RAY], '{{{}}}\n'],
  [
    'a byte by its number',
    { ...names('RayID'), record_prefix: '', record_suffix: '', record_template: '{{"\\xc3\\251"}}' },
    [RAY],
    'é',
  ],
  ['a template without fields and without names', { field_names: [], record_template: 'x' }, TWO, '{x}\n{x}\n'],
  [
    'a timestamp in a template',
    { ...names('EdgeStartTimestamp'), timestamp_format: 'rfc3339', record_template: '{{.EdgeStartTimestamp}}' },
    ['{"EdgeStartTimestamp":1506702504433000200}'],
    '{"2017-09-29T16:28:24Z"}\n',
  ],
  ['an empty template', { ...names('RayID'), record_template: '' }, [RAY], '{"RayID":"r1"}\n'],
  // CVE-2021-44228
  ['${ off', names('RayID'), ['{"RayID":"${jndi}"}'], '{"RayID":"${jndi}"}\n'],
  ['${ in a value', { ...names('RayID'), ...GUARD }, ['{"RayID":"${jndi}$${"}'], '{"RayID":"x{jndi}$x{"}\n'],
  ['${ in csv', { ...csv('RayID'), ...GUARD }, ['{"RayID":"${a}${b}"}'], '"x{a}x{b}"\n'],
  ['${ from an escape in csv', { ...csv('RayID'), ...GUARD }, ['{"RayID":"\\u0024\\u007b"}'], '"x{"\n'],
  [
    '${ in a nested value',
    { ...names('RequestHeaders'), ...GUARD },
    ['{"RequestHeaders":{"${":"${"}}'],
    '{"RequestHeaders":{"x{":"x{"}}\n',
  ],
  [
    '${ over a nested value',
    { ...names('RequestHeaders'), field_delimiter: '$', record_template: '${{.RequestHeaders}}', ...GUARD },
    ['{"RequestHeaders":{}}'],
    '{x{}}\n',
  ],
  ['${ over records', { ...names('RayID'), record_suffix: '$', ...GUARD }, TWO, '{"RayID":"r1"x{"RayID":"r2"$'],
  [
    '${ over a delimiter',
    { ...names('RayID'), record_suffix: '}', record_delimiter: '$', ...GUARD },
    TWO,
    '{"RayID":"r1"}x{"RayID":"r2"}',
  ],
  [
    '${ over a field delimiter',
    { ...csv('RequestHeaders'), record_prefix: '$', record_template: '{{.RequestHeaders}}{', ...GUARD },
    [RAY],
    '$null{\n',
  ],
  [
    '${ over batch_prefix',
    { ...names('RayID'), batch_prefix: '$', ...GUARD },
    TWO,
    'x{"RayID":"r1"}\n{"RayID":"r2"}\n',
  ],
  ['${ within batch_prefix', { ...names('RayID'), batch_prefix: '${', ...GUARD }, [RAY], 'x{{"RayID":"r1"}\n'],
  [
    '${ over batch_suffix',
    { ...names('RayID'), record_suffix: '$', batch_suffix: '{', ...GUARD },
    [RAY],
    '{"RayID":"r1"x{',
  ],
  ['${ within batch_suffix', { ...names('RayID'), batch_suffix: '${}', ...GUARD }, [RAY], '{"RayID":"r1"}\nx{}'],
  ['${ in a template', { ...names('RayID'), record_template: '{{"${"}}', ...GUARD }, [RAY], '{x{}\n'],
  ['${ without records', { ...names('RayID'), batch_prefix: '$', batch_suffix: '{', ...GUARD }, [], 'x{'],
  // merge_subrequests
  ['Subrequests, none', { ...names('RayID'), merge_subrequests: true }, [RAY], '{"RayID":"r1","Subrequests":[]}\n'],
  [
    'Subrequests where listed',
    { ...names('Subrequests', 'RayID'), merge_subrequests: true },
    [RAY],
    '{"Subrequests":[],"RayID":"r1"}\n',
  ],
  [
    'Subrequests that came',
    { ...names('RayID'), merge_subrequests: true },
    ['{"RayID":"r1","Subrequests":[{"RayID":"r2"}]}'],
    '{"RayID":"r1","Subrequests":[{"RayID":"r2"}]}\n',
  ],
  ['Subrequests in csv', { ...csv('RayID'), merge_subrequests: true }, [RAY], '"r1",[]\n'],
]
for (const [what, options, lines, want] of CASES) t.test(what, async (t) => t.equal(written(options, lines), want))

const NS = '1506702504433000200'
const FORMATS: readonly TimestampFormat[] = ['unixnano', 'unix', 'rfc3339', 'rfc3339ms', 'rfc3339ns']
/** What a value reads as in each of the formats. */
const TIMES: [value: string, ...want: [string, string, string, string, string]][] = [
  [NS, NS, '1506702504', '"2017-09-29T16:28:24Z"', '"2017-09-29T16:28:24.433Z"', '"2017-09-29T16:28:24.433000200Z"'],
  [
    '1506702504433999',
    '1506702504433999000',
    '1506702504',
    '"2017-09-29T16:28:24Z"',
    '"2017-09-29T16:28:24.433Z"',
    '"2017-09-29T16:28:24.433999000Z"',
  ],
  [
    '1506702504999',
    '1506702504999000000',
    '1506702504',
    '"2017-09-29T16:28:24Z"',
    '"2017-09-29T16:28:24.999Z"',
    '"2017-09-29T16:28:24.999000000Z"',
  ],
  [
    '1506702504',
    '1506702504000000000',
    '1506702504',
    '"2017-09-29T16:28:24Z"',
    '"2017-09-29T16:28:24.000Z"',
    '"2017-09-29T16:28:24.000000000Z"',
  ],
  [
    '1506702504.4330002009',
    NS,
    '1506702504',
    '"2017-09-29T16:28:24Z"',
    '"2017-09-29T16:28:24.433Z"',
    '"2017-09-29T16:28:24.433000200Z"',
  ],
  [
    `"${NS}"`,
    NS,
    '1506702504',
    '"2017-09-29T16:28:24Z"',
    '"2017-09-29T16:28:24.433Z"',
    '"2017-09-29T16:28:24.433000200Z"',
  ],
  [
    '"2017-09-29T16:28:24Z"',
    '1506702504000000000',
    '1506702504',
    '"2017-09-29T16:28:24Z"',
    '"2017-09-29T16:28:24.000Z"',
    '"2017-09-29T16:28:24.000000000Z"',
  ],
  [
    '"2017-09-29t18:28:24.4330002009+02:00"',
    NS,
    '1506702504',
    '"2017-09-29T16:28:24Z"',
    '"2017-09-29T16:28:24.433Z"',
    '"2017-09-29T16:28:24.433000200Z"',
  ],
  [
    '"2016-02-29T23:59:60-00:30"',
    '1456792200000000000',
    '1456792200',
    '"2016-03-01T00:30:00Z"',
    '"2016-03-01T00:30:00.000Z"',
    '"2016-03-01T00:30:00.000000000Z"',
  ],
  ['0', '0', '0', '"1970-01-01T00:00:00Z"', '"1970-01-01T00:00:00.000Z"', '"1970-01-01T00:00:00.000000000Z"'],
  [
    '-1',
    '-1000000000',
    '-1',
    '"1969-12-31T23:59:59Z"',
    '"1969-12-31T23:59:59.000Z"',
    '"1969-12-31T23:59:59.000000000Z"',
  ],
  [
    '-0.25',
    '-250000000',
    '-1',
    '"1969-12-31T23:59:59Z"',
    '"1969-12-31T23:59:59.750Z"',
    '"1969-12-31T23:59:59.750000000Z"',
  ],
  [
    '"1970-01-01T00:00:00.000000007Z"',
    '7',
    '0',
    '"1970-01-01T00:00:00Z"',
    '"1970-01-01T00:00:00.000Z"',
    '"1970-01-01T00:00:00.000000007Z"',
  ],
  [
    '18446744073709551615',
    '18446744073709551615',
    '18446744073',
    '"2554-07-21T23:34:33Z"',
    '"2554-07-21T23:34:33.709Z"',
    '"2554-07-21T23:34:33.709551615Z"',
  ],
  [
    '"0000-01-01T00:00:00Z"',
    '-62167219200000000000',
    '-62167219200',
    '"0000-01-01T00:00:00Z"',
    '"0000-01-01T00:00:00.000Z"',
    '"0000-01-01T00:00:00.000000000Z"',
  ],
  [
    '"9999-12-31T23:59:59.9Z"',
    '253402300799900000000',
    '253402300799',
    '"9999-12-31T23:59:59Z"',
    '"9999-12-31T23:59:59.900Z"',
    '"9999-12-31T23:59:59.900000000Z"',
  ],
  ['null', 'null', 'null', 'null', 'null', 'null'],
]
for (const [value, ...want] of TIMES) {
  for (const [index, timestamp_format] of FORMATS.entries()) {
    t.test(`${value} as ${timestamp_format}`, async (t) => {
      const options = { ...names('EdgeStartTimestamp'), timestamp_format, record_template: '{{.EdgeStartTimestamp}}' }
      t.equal(written(options, [`{"EdgeStartTimestamp":${value}}`]), `{${want[index]}}\n`)
    })
  }
}

/** No times, or none that RFC 3339 can write: they stay what they are. */
const NO_TIMES = ['"soon"', '""', 'true', '"2017-02-29T00:00:00Z"', '"2017-13-01T00:00:00Z"', '"2017-01-01"']
NO_TIMES.push(
  '"2017-01-01T24:00:00Z"',
  '123456789012345678901',
  '1e18',
  '-99999999999',
  '{"a":1}',
  `"${'1'.repeat(5000)}"`,
)
NO_TIMES.push('"2017-01-01T00:00:00"', '"2017-01-01T00:00:00.Z"', '"1900-02-29T00:00:00Z"', '"1."', '"12-45-789"')
for (const value of NO_TIMES) {
  t.test(`${value.slice(0, 30)} is not a time and stays as it is`, async (t) => {
    const options = { ...names('EdgeStartTimestamp'), timestamp_format: 'rfc3339' }
    t.equal(written(options, [`{"EdgeStartTimestamp":${value}}`]), `{"EdgeStartTimestamp":${value}}\n`)
  })
}

t.test('a time and a number of other datasets', async (t) => {
  const options = { field_names: ['EventTimestampMs'], timestamp_format: 'rfc3339' }
  const line = '{"EventTimestampMs":1506702504433}'
  t.equal(written(options, [line], named('workers_trace_events')), `${line}\n`)
})

t.test('without field_names the defaults of the dataset are written', async (t) => {
  const record = JSON.parse(written({}, [RAY])) as object
  t.strictSame(Object.keys(record), httpRequests.defaults)
})

const REFUSED: [what: string, options: unknown, pointer: string][] = [
  ['an unknown option', { feild_names: [] }, '/feild_names'],
  ['a field of another dataset', { field_names: ['RayID', 'QueryName'] }, '/field_names/1'],
  ['__proto__ as a field', { field_names: ['__proto__'] }, '/field_names/0'],
  ['an empty list of fields', { field_names: [] }, '/field_names'],
  ['a number as a field', { field_names: [1] }, '/field_names/0'],
  ['an unknown output type', { output_type: 'xml' }, '/output_type'],
  ['a template with an if', { record_template: '{{if .RayID}}' }, '/record_template'],
  ['a sample rate of 0', { sample_rate: 0 }, '/sample_rate'],
  ['a sample rate above 1', { sample_rate: 1.1 }, '/sample_rate'],
  ['an unknown timestamp format', { timestamp_format: 'rfc822' }, '/timestamp_format'],
  ['a text as a flag', { 'CVE-2021-44228': 'true' }, '/CVE-2021-44228'],
  ['a number as a delimiter', { field_delimiter: 1 }, '/field_delimiter'],
  ['a text of a megabyte', { batch_prefix: 'x'.repeat(1_000_000) }, '/batch_prefix'],
  ['no object', 'csv', ''],
]
for (const [what, options, pointer] of REFUSED) {
  t.test(`${what} is refused`, async (t) => {
    try {
      compileFormat(httpRequests, options)
      t.fail('it is accepted')
    } catch (error) {
      t.ok(
        (error as InvalidInput).issues.some((issue) => issue.pointer === pointer),
        (error as Error).message,
      )
    }
  })
}

t.test('merge_subrequests is refused off http_requests', async (t) => {
  t.throws(() => compileFormat(named('dns_logs'), { merge_subrequests: true }), /\/merge_subrequests/)
})

t.test('the deprecated logpull_options', async (t) => {
  const fields = 'fields=RayID,EdgeStartTimestamp&timestamps=rfc3339&sample=0.5&CVE-2021-44228=true'
  const want = {
    field_names: ['RayID', 'EdgeStartTimestamp'],
    timestamp_format: 'rfc3339',
    sample_rate: 0.5,
    'CVE-2021-44228': true,
  }
  for (const text of [fields, `?${fields}`, `https://api.example.test/logs?start=1&end=2&${fields}#x`])
    t.strictSame(parseLogpullOptions(httpRequests, text), want, text)
  const batch = new BatchText(compileLogpullFormat(httpRequests, fields))
  batch.add(new Scanner(httpRequests).scan(Buffer.from('{"RayID":"${","EdgeStartTimestamp":1}')))
  t.equal(Buffer.from(batch.close()).toString(), '{"RayID":"x{","EdgeStartTimestamp":"1970-01-01T00:00:01Z"}\n')

  for (const [text, message] of [
    ['fields=RayID,Nope', /fields: Nope is not a field/],
    ['sample=2', /sample: /],
    ['sample=', /sample: /],
    ['timestamps=never', /timestamps: /],
    ['feilds=RayID', /feilds is not a known option/],
    ['__proto__=1', /__proto__ is not a known option/],
    ['CVE-2021-44228=maybe', /CVE-2021-44228: /],
  ] as const)
    t.throws(() => parseLogpullOptions(httpRequests, text), message, text)
})

t.test('a batch tells its size, gives up its last record and is taken piece by piece', async (t) => {
  const scanner = new Scanner(httpRequests)
  const record = (id: string) => scanner.scan(Buffer.from(`{"RayID":"${id}"}`))
  const options = { ...names('RayID'), batch_suffix: '{end', record_suffix: '$', ...GUARD }
  const batch = new BatchText(compileFormat(httpRequests, options))
  batch.add(record('r1'))
  const { size } = batch
  t.equal(size, '{"RayID":"r1"$'.length + '{end'.length)
  batch.add(record('r2'))
  t.equal(batch.records, 2)
  batch.removeLast()
  t.strictSame([batch.size, batch.records], [size, 1])
  t.throws(() => batch.removeLast(), /no record/)

  const first = Buffer.from(batch.take(copied)).toString()
  t.equal(batch.size, size, 'taking does not change the size')
  batch.add(record('r3'))
  const rest = Buffer.from(batch.close()).toString()
  t.equal(first + rest, '{"RayID":"r1"x{"RayID":"r3"x{end')
  t.strictSame([batch.records, batch.size], [0, '{end'.length], 'the next batch begins')
  batch.add(record('r4'))
  t.equal(Buffer.from(batch.close()).toString(), '{"RayID":"r4"x{end')
})

const pieces = fc.string({ unit: fc.constantFrom('$', '{', '}', 'x', '"', '\n', 'é'), maxLength: 4 })

t.test('no ${ is left where it must not be', async () => {
  const option = fc.record({
    batch_prefix: pieces,
    batch_suffix: pieces,
    record_prefix: pieces,
    record_suffix: pieces,
    record_delimiter: pieces,
    field_delimiter: pieces,
    output_type: fc.constantFrom('csv', 'ndjson'),
  })
  fc.assert(
    fc.property(
      option,
      fc.array(fc.tuple(pieces, pieces), { maxLength: 4 }),
      fc.boolean(),
      (options, values, taking) => {
        const all = { ...options, ...names('RayID', 'ClientIP') }
        const lines = values.map(([RayID, ClientIP]) => JSON.stringify({ RayID, ClientIP }))
        const scanner = new Scanner(httpRequests)
        const batch = new BatchText(compileFormat(httpRequests, { ...all, ...GUARD }))
        const parts: Uint8Array[] = []
        for (const line of lines) {
          batch.add(scanner.scan(Buffer.from(line)))
          if (taking) parts.push(batch.take(copied))
        }
        const guarded = Buffer.concat([...parts, batch.close()]).toString()
        return !guarded.includes('${') && guarded === written(all, lines).replaceAll('${', 'x{')
      },
    ),
  )
})

t.test('what ndjson says is what came in', async () => {
  const value = fc.jsonValue({ maxDepth: 3 })
  const record = fc.dictionary(fc.constantFrom('RayID', 'ClientIP', 'RequestHeaders', 'BotScore'), value)
  fc.assert(
    fc.property(fc.array(record, { minLength: 1 }), (records) => {
      const field_names = ['RayID', 'ClientIP', 'RequestHeaders', 'BotScore']
      const lines = records.map((each) => JSON.stringify(each))
      const out = written({ field_names }, lines).trimEnd().split('\n')
      return out.every((line, index) => {
        const expected = Object.fromEntries(field_names.map((name) => [name, records[index]?.[name] ?? null]))
        return line === JSON.stringify(expected)
      })
    }),
  )
})

t.test('csv reads back as what came in', async () => {
  const record = fc.record({ RayID: fc.string({ unit: 'grapheme' }), ClientIP: fc.string({ unit: 'binary' }) })
  fc.assert(
    fc.property(record, (values) => {
      // All characters escaped, so that the long way through is taken.
      const escaped = (text: string) =>
        `"${text.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`
      const line = `{"RayID":${escaped(values.RayID)},"ClientIP":${JSON.stringify(values.ClientIP)}}`
      const quoted = (text: string) => `"${text.replaceAll('"', '""')}"`
      return written(csv('RayID', 'ClientIP'), [line]) === `${quoted(values.RayID)},${quoted(values.ClientIP)}\n`
    }),
  )
})
