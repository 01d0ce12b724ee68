import t from 'tap'
import type { InvalidInput } from '../../../src/core/errors.js'
import {
  BatchText,
  compileFormat,
  compileLogpullFormat,
  compileTemplate,
  parseLogpullOptions,
  Scanner,
} from '../../../pipelines/records/index.js'
import { BOTH, csv, formats, httpRequests, named, names, RAY, TWO, type FormatCase } from './helper.js'

const AROUND: FormatCase[] = [
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
]
formats(t, AROUND)

const TEMPLATES: FormatCase[] = [
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
]
formats(t, TEMPLATES)

const MERGED: FormatCase[] = [
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
formats(t, MERGED)

const ALL = ['batch_prefix', 'batch_suffix', 'record_prefix', 'record_suffix', 'record_delimiter', 'field_delimiter']
/** The text of a batch of two records where an option is "", which deletes its default. */
const DELETED: Record<string, [ndjson: string, csv: string]> = {
  batch_prefix: [
    '{"RayID":"r1","EdgeResponseStatus":200}\n{"RayID":"r2","EdgeResponseStatus":404}\n',
    '"r1",200\n"r2",404\n',
  ],
  batch_suffix: [
    '{"RayID":"r1","EdgeResponseStatus":200}\n{"RayID":"r2","EdgeResponseStatus":404}\n',
    '"r1",200\n"r2",404\n',
  ],
  record_prefix: [
    '"RayID":"r1","EdgeResponseStatus":200}\n"RayID":"r2","EdgeResponseStatus":404}\n',
    '"r1",200\n"r2",404\n',
  ],
  record_suffix: ['{"RayID":"r1","EdgeResponseStatus":200{"RayID":"r2","EdgeResponseStatus":404', '"r1",200"r2",404'],
  record_delimiter: [
    '{"RayID":"r1","EdgeResponseStatus":200}\n{"RayID":"r2","EdgeResponseStatus":404}\n',
    '"r1",200\n"r2",404\n',
  ],
  field_delimiter: [
    '{"RayID":"r1""EdgeResponseStatus":200}\n{"RayID":"r2""EdgeResponseStatus":404}\n',
    '"r1"200\n"r2"404\n',
  ],
  record_template: [
    '{"RayID":"r1","EdgeResponseStatus":200}\n{"RayID":"r2","EdgeResponseStatus":404}\n',
    '"r1",200\n"r2",404\n',
  ],
}
for (const [option, [ndjson, inCsv]] of Object.entries(DELETED))
  formats(t, [
    [`"" as ${option}`, { ...names(...BOTH), [option]: '' }, TWO, ndjson],
    [`"" as ${option} of csv`, { ...csv(...BOTH), [option]: '' }, TWO, inCsv],
  ])
formats(t, [
  [
    '"" as everything',
    { ...names(...BOTH), ...Object.fromEntries(ALL.map((option) => [option, ''])) },
    TWO,
    '"RayID":"r1""EdgeResponseStatus":200"RayID":"r2""EdgeResponseStatus":404',
  ],
  [
    '"" as everything of csv',
    { ...csv(...BOTH), ...Object.fromEntries(ALL.map((option) => [option, ''])) },
    TWO,
    '"r1"200"r2"404',
  ],
  [
    'all of them at once',
    { ...names(...BOTH), ...Object.fromEntries(ALL.map((option, at) => [option, String(at)])) },
    TWO,
    '02"RayID":"r1"5"EdgeResponseStatus":200342"RayID":"r2"5"EdgeResponseStatus":40431',
  ],
])

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

t.test('a value that is not a string is named', async (t) => {
  const expected = { name: 'TypeError', message: 'expected a string, but got a value of type number' }
  t.throws(() => compileTemplate(5 as never), expected)
  t.throws(() => parseLogpullOptions(httpRequests, 5 as never), expected)
})
