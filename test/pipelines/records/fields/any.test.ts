import t from 'tap'
import { batchOf } from '../../../../pipelines/run/batch-of.js'
import { compileJob, type JobSettings } from '../../../../pipelines/logpush/settings/compiled-job.js'
import { InvalidInput } from '../../../../src/core/errors.js'

const textOf = (settings: Omit<JobSettings, 'dataset'>, ...records: string[]): string =>
  batchOf(compileJob({ dataset: 'any', ...settings }, 'p'), records).text

t.test('without field_names records of any shape stay as they are, each on one line', (t) => {
  const records = [
    '{"a":1e400,"b":"\\u00e9","a":2}',
    '{}',
    ' { "z" : [1 ,\n 2], "k":{"x":"\\n"} } ',
    '{"":0,"\\u0061b":12345678901234567890}',
  ]
  t.equal(
    textOf({}, ...records),
    '{"a":1e400,"b":"\\u00e9","a":2}\n{}\n{ "z" : [1 , 2], "k":{"x":"\\n"} }\n{"":0,"\\u0061b":12345678901234567890}\n',
  )
  t.end()
})

t.test('fields are top-level names or JSON pointers', (t) => {
  const VALUES: [field: string, value: string][] = [
    ['a', '1'],
    ['/a', '1'],
    ['/o/x', '"deep"'],
    ['/o/list/1', '{"y":2}'],
    ['/o/list/1/y', '2'],
    ['/o/list/9', 'null'],
    ['/o/x/no', 'null'],
    ['/s~1lash', 'true'],
    ['/til~0de', '5'],
    ['/', '"empty"'],
    ['/o/caf\u00e9', '7'],
    ['missing', 'null'],
    ['o', '{"x":"deep","list":[1,{"y":2}],"caf\\u00e9":7}'],
  ]
  const record =
    '{"a":1,"o":{"x":"deep","list":[1,{"y":2}],"caf\\u00e9":7},"s/lash":true,"til~de":5,"":"empty","/a":"not this"}'
  for (const [field, value] of VALUES)
    t.equal(
      textOf({ output_options: { field_names: [field] } }, record),
      `{${JSON.stringify(field)}:${value}}\n`,
      field,
    )
  t.equal(
    textOf({ output_options: { output_type: 'csv', field_names: ['/o/x', 'missing', '/o/list'] } }, record),
    '"deep",,"[1,{""y"":2}]"\n',
  )
  t.equal(textOf({ output_options: { record_template: '"d":{{./o/x}},"a":{{.a}}' } }, record), '{"d":"deep","a":1}\n')
  t.end()
})

t.test('a filter compares values of undeclared fields by what they are', (t) => {
  const CASES: [operator: string, value: unknown, kept: string[]][] = [
    ['eq', 'x', ['"x"', '"\\u0078"']],
    ['!eq', 'x', ['1', '1.0', 'true', '["x",1]', 'null']],
    ['eq', 1, ['1', '1.0']],
    ['eq', true, ['true']],
    ['gt', 0, ['1', '1.0']],
    ['in', ['x', 1], ['"x"', '"\\u0078"', '1', '1.0']],
    ['contains', 'x', ['"x"', '"\\u0078"', '["x",1]']],
    ['contains', 1, ['["x",1]']],
    ['startsWith', 'x', ['"x"', '"\\u0078"']],
  ]
  const values = ['"x"', '"\\u0078"', '1', '1.0', 'true', '["x",1]', 'null']
  for (const [operator, value, kept] of CASES) {
    const filter = { where: { key: '/v/w', operator, value } }
    const text = textOf(
      { filter, output_options: { field_names: ['/v/w'] } },
      ...values.map((each) => `{"v":{"w":${each}}}`),
    )
    t.equal(text, kept.map((each) => `{"/v/w":${each}}\n`).join(''), `${operator} ${JSON.stringify(value)}`)
  }
  t.end()
})

t.test('declared times follow timestamp_format; csv needs names', (t) => {
  const output_options = { field_names: ['t'], timestamp_format: 'rfc3339' }
  t.equal(
    textOf({ schema: { t: 'timestamp' }, output_options }, '{"t":1795266000123456789}'),
    '{"t":"2026-11-21T13:00:00Z"}\n',
  )
  t.equal(textOf({ output_options }, '{"t":1795266000123456789}'), '{"t":1795266000123456789}\n')
  t.throws(
    () => compileJob({ dataset: 'any', output_options: { output_type: 'csv' } }, ''),
    new InvalidInput([
      { pointer: '/output_options/field_names', message: 'is required for csv of records of any shape' },
    ]),
  )
  t.end()
})
