import fc from 'fast-check'
import t from 'tap'
import { DATASETS } from '../../../pipelines/records/index.js'
import { BOTH, csv, formats, httpRequests, names, RAY, TWO, written, type FormatCase } from './helper.js'

const NDJSON: FormatCase[] = [
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
]
formats(t, NDJSON)

const CSV: FormatCase[] = [
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
]
formats(t, CSV)

/** A value of each type: its field in `http_requests`, how it comes in, and how it stands in csv; in ndjson it stays as it is. */
const TYPES: [type: string, field: string, value: string, inCsv: string][] = [
  ['string', 'ClientIP', '"192.0.2.1"', '"192.0.2.1"'],
  ['string', 'ClientIP', '""', '""'],
  ['string', 'ClientIP', '"a\\"b\\\\c, \\td"', '"a""b\\c, \td"'],
  ['int', 'ClientASN', '13335', '13335'],
  ['int', 'ClientASN', '-9223372036854775808', '-9223372036854775808'],
  ['int', 'ClientASN', '18446744073709551615', '18446744073709551615'],
  ['int', 'ClientASN', '1E+2', '1E+2'],
  ['float', 'EdgeResponseCompressionRatio', '0.1', '0.1'],
  ['float', 'EdgeResponseCompressionRatio', '-0', '-0'],
  ['float', 'EdgeResponseCompressionRatio', '5e-324', '5e-324'],
  ['bool', 'CacheReserveUsed', 'true', 'true'],
  ['bool', 'CacheReserveUsed', 'false', 'false'],
  ['timestamp', 'EdgeStartTimestamp', '1506702504433000200', '1506702504433000200'],
  ['object', 'RequestHeaders', '{"a":{"b":[1,"c"]}}', '"{""a"":{""b"":[1,""c""]}}"'],
  ['object', 'RequestHeaders', '{}', '"{}"'],
  ['array[string]', 'SecuritySources', '["a","b\\"c"]', '"[""a"",""b\\""c""]"'],
  ['array[string]', 'SecuritySources', '[]', '"[]"'],
  ['array[int]', 'BotDetectionIDs', '[1,18446744073709551615]', '"[1,18446744073709551615]"'],
  ['array[object]', 'Subrequests', '[{"RayID":"a"}]', '"[{""RayID"":""a""}]"'],
]
for (const [type, field, value, inCsv] of TYPES) {
  t.test(`${value} as ${type}`, async (t) => {
    t.equal(httpRequests.fields[field], type)
    const line = `{"${field}":${value}}`
    t.equal(written(names(field), [line]), `{"${field}":${value}}\n`, 'ndjson')
    t.equal(written(csv(field), [line]), `${inCsv}\n`, 'csv')
    const template = { record_prefix: '', record_suffix: ';', record_template: `[{{.${field}}}]` }
    t.equal(written({ ...names(field), ...template }, [line]), `[${value}];`, 'a template')
    t.equal(written({ ...csv(field), ...template }, [line]), `[${inCsv}];`, 'a template of csv')
    const nulls = [`{"${field}":null}`, '{}']
    t.equal(written(names(field), nulls), `{"${field}":null}\n`.repeat(2), 'null and missing')
    t.equal(written(csv(field), nulls), '\n\n', 'null and missing in csv')
  })
}

t.test('every type that a field can have is tried', async (t) => {
  const types = new Set([...DATASETS.values()].flatMap(({ fields }) => Object.values(fields)))
  t.strictSame([...new Set(TYPES.map(([type]) => type))].sort(), [...types].sort())
})

t.test('without field_names the defaults of the dataset are written', async (t) => {
  const record = JSON.parse(written({}, [RAY])) as object
  t.strictSame(Object.keys(record), httpRequests.defaults)
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

t.test('strings of every length, with an escape at every place', async (t) => {
  const letters = 'abcdefghijklmnopqrstuvwxyz'.repeat(20)
  for (let length = 0; length < 520; length += length < 24 || length >= 250 ? 1 : 17) {
    const text = letters.slice(0, length)
    t.equal(written(names('RayID'), [`{"RayID":"${text}"}`]), `{"RayID":"${text}"}\n`)
    for (let at = 0; at <= Math.min(length, 12); at++) {
      const [before, behind] = [text.slice(0, at), text.slice(at)]
      const line = `{"RayID":"${before}\\"${behind}","EdgeResponseStatus":7}`
      t.equal(written(csv('RayID', 'EdgeResponseStatus'), [line]), `"${before}""${behind}",7\n`)
    }
  }
})
