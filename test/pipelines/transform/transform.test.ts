import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parquetReadObjects } from 'hyparquet'
import t from 'tap'
import { RunStats } from '../../../pipelines/sources/intake/run-stats.js'
import { readPipelines } from '../../../src/config/pipeline-file.js'
import type { BadConfig } from '../../../src/config/yaml.js'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog as log } from '../../../src/core/log.js'
import { runPipeline } from '../../../src/daemon/pipelines/run.js'
import { Transforms } from '../../../src/daemon/pipelines/transforms.js'
import { changedBatchOf } from '../../../pipelines/run/batch-of.js'
import { loadTransform } from '../../../src/workers/transform/load.js'
import { testFolder, textsBelow } from '../../helpers/folder.js'
import { checks, NO_RUNTIME, transformed } from './transform-helper.js'

const lines = (...records: unknown[]): string => records.map((record) => `${JSON.stringify(record)}\n`).join('')

t.test('a module changes, drops and multiplies records', { skip: NO_RUNTIME }, async (t) => {
  const { run } = transformed(
    t,
    `export default {
      record(record) {
        if (record.n === 2) return null
        if (record.n === 3) return [{ n: 3, copy: 1 }, { n: 3, copy: 2 }]
        if (record.n === 4) return []
        if (record.n === 5) return Promise.resolve({ n: 5, late: true })
        return { ...record, seen: true }
      },
    }`,
  )
  const { records, stats } = await run(lines({ n: 1 }, { n: 2 }, { n: 3 }, { n: 4 }, { n: 5 }))
  t.same(records, [
    { n: 1, seen: true },
    { n: 3, copy: 1 },
    { n: 3, copy: 2 },
    { n: 5, late: true },
  ])
  t.equal(stats.read, 5)
  t.equal(stats.rejected, 0)
  t.equal(stats.kept, 4)
  t.equal(stats.delivered, 4)
  const { transform } = stats.output(undefined)
  t.match(transform, { given: 5, returned: 4, invalid: 0, restarts: 0 })
  t.ok(transform!.seconds > 0)
})

t.test(
  'the filter sees the record before the module, and other stages the record after it',
  { skip: NO_RUNTIME },
  async (t) => {
    const { run } = transformed(
      t,
      `export default { record: (record) => ({ ...record, keep: false, secret: 'of ' + record.name, plus: record.n + 1 }) }`,
      `dataset: any
filter: { where: { key: keep, operator: eq, value: true } }
dedupe: { field: n }
redact: { secret: mask }
drop: [keep]
rename: { plus: more }
set: { from: here }
output_options: { field_names: [name, secret, more, from], output_type: csv }`,
    )
    const { text } = await run(
      lines({ name: 'a', n: 1, keep: true }, { name: 'b', n: 1, keep: true }, { name: 'c', n: 2, keep: false }),
    )
    t.equal(text, '"a","***",2,"here"\n')
  },
)

t.test('records of a dataset keep the types of its fields, and get others', { skip: NO_RUNTIME }, async (t) => {
  const { run } = transformed(
    t,
    `export default {
      record(record) {
        record.Seconds = Number(record.EdgeEndTimestamp - record.EdgeStartTimestamp) / 1e9
        record.Until = record.EdgeEndTimestamp + 1n
        return record
      },
    }`,
    `dataset: http_requests
schema: { Until: timestamp }
output_options: { field_names: [RayID, EdgeStartTimestamp, Until, Seconds], timestamp_format: rfc3339ns }`,
  )
  const start = '1795266000123456789'
  const { text } = await run(`{"RayID":"a","EdgeStartTimestamp":${start},"EdgeEndTimestamp":1795266000623456789}\n`)
  t.equal(
    text,
    '{"RayID":"a","EdgeStartTimestamp":"2026-11-21T13:00:00.123456789Z","Until":"2026-11-21T13:00:00.623456790Z","Seconds":0.5}\n',
  )
})

t.test('what a module returned is written by JSON pointers', { skip: NO_RUNTIME }, async (t) => {
  const module = 'export default { record: ({ n }) => ({ n, user: { id: [n, n + 1] } }) }'
  const { run } = transformed(t, module, 'dataset: any\noutput_options: { field_names: [/user/id/1, /n] }')
  const { text, invalid } = await run('{"n":1}\n')
  t.same(invalid, [])
  t.equal(text, '{"/user/id/1":2,"/n":1}\n')
})

t.test('integers keep all digits, whatever is around them', { skip: NO_RUNTIME }, async (t) => {
  const { run } = transformed(t, 'export default { record: (record) => record }')
  const texts = [
    '{"t":1795266000123456789,"n":1}',
    '{"t" : 1795266000123456789 , "s":"1234567890123456789"}',
    '{"deep":{"t":[1795266000123456789,-9007199254740993]}}',
    '{"t":9007199254740991,"u":1795266000123456}',
    '{"s":"\\"t\\":1795266000123456789,","t":1795266000123456788}',
    '{"__proto__":1795266000123456789,"toString":1}',
    '{"ü\\n":12345678901234567890}',
  ]
  const { text } = await run(texts.map((line) => `${line}\n`).join(''))
  t.equal(text, texts.map((line) => `${line.replaceAll(' ', '')}\n`).join(''))
})

t.test('a record that fails is invalid, with its line and the place in the module', { skip: NO_RUNTIME }, async (t) => {
  const { run } = transformed(
    t,
    `export default {
  record(record) {
    if (record.how === 'throw') return record.missing.field
    if (record.how === 'nothing') return
    if (record.how === 'text') return 'text'
    if (record.how === 'list') return [record, 5]
    if (record.how === 'type') return { n: 'text' }
    if (record.how === 'reject') return Promise.reject(new TypeError('late'))
    return record
  },
}`,
    'dataset: any\nschema: { n: int }\noutput_options: { field_names: [n] }',
  )
  const { text, invalid, stats } = await run(
    `{"n":1}\n${lines({ how: 'throw' }, { how: 'nothing' }, { how: 'text' }, { how: 'list' })}broken\n` +
      `${lines({ how: 'type' }, { how: 'reject' })}{"n":9}\n`,
  )
  t.equal(text, '{"n":1}\n{"n":9}\n')
  t.same(invalid.filter((message) => message.startsWith('in.ndjson:6:')).length, 1, 'the line that is not JSON')
  t.same(
    invalid.filter((message) => !message.startsWith('in.ndjson:6:')),
    [
      "in.ndjson:2: transform: TypeError: Cannot read properties of undefined (reading 'field') (clean.js:3:55)",
      'in.ndjson:3: transform: record() returned undefined; return the record, an array of records, or null to drop it',
      'in.ndjson:4: transform: the returned value is not an object',
      'in.ndjson:5: transform: item 1 of the returned array is not an object',
      'in.ndjson:7: transform: record() returned: n must be a number',
      'in.ndjson:8: transform: TypeError: late (clean.js:8:56)',
    ],
  )
  t.equal(stats.read, 9)
  t.equal(stats.rejected, 7)
  t.equal(stats.output(undefined).transform?.invalid, 6)
})

t.test('all records of one record are in one batch, whatever the limits', { skip: NO_RUNTIME }, async (t) => {
  const { run } = transformed(
    t,
    `export default { record: ({ n }) => Array.from({ length: n % 5 }, (_, part) => ({ n, part })) }`,
    'dataset: any\nmax_upload_records: 3\nin_flight: 1',
  )
  const { files, records } = await run(lines(...Array.from({ length: 700 }, (_, n) => ({ n }))))
  t.same(
    records
      .map(({ n, part }) => [n, part])
      .toSorted(([a, b], [c, d]) => Number(a) - Number(c) || Number(b) - Number(d)),
    Array.from({ length: 700 }, (_, n) => Array.from({ length: n % 5 }, (__, part) => [n, part])).flat(),
  )
  for (const { bytes } of files) {
    const batch = bytes
      .toString()
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { n: number }).n)
    t.ok(batch.length <= 3 || new Set(batch).size === 1, `${batch.length} records of ${new Set(batch).size}`)
  }
})

t.test('a module imports others by relative paths', { skip: NO_RUNTIME }, async (t) => {
  const folder = testFolder(t, {
    rules: { 'clean.js': `import { mark } from '../lib/mark.js'\nexport default { record: mark }` },
    lib: {
      'mark.js': `import { mark as m } from './name.mjs'\nexport const mark = (r) => ({ ...r, [m]: 1 })`,
      'name.mjs': `export const mark = 'seen'`,
    },
  })
  const module = loadTransform(join(folder, 'rules/clean.js'))
  t.same(module.modules.map(({ name }) => name).toSorted(), ['lib/mark.js', 'lib/name.mjs', 'rules/clean.js'])
  const text = `source: stdin\ndataset: any\ntransform: ./rules/clean.js\ndestination_conf: 'stdout:'\n`
  const [pipeline] = readPipelines(text, join(folder, 'p.yaml'), checks, {})
  const { job } = pipeline!.outputs[0]!
  const transform = new Transforms(systemClock).opener(folder)(job.settings.transform!, 'test')
  t.teardown(async () => await transform.close())
  t.match(await changedBatchOf(job, ['{"a":1}'], transform), { text: '{"a":1,"seen":1}\n', rejected: [] })
})

t.test('check starts the module and says what is wrong, with its place', { skip: NO_RUNTIME }, async (t) => {
  const folder = testFolder(t, { 'clean.js': '' })
  const CASES: [source: string | undefined, message: RegExp][] = [
    [undefined, /p\.yaml:3:1: transform clean\.js does not exist/],
    ['export default {\n  record(record {\n', /transform clean\.js:2:16: SyntaxError: /],
    ['export const record = (r) => r', /transform clean\.js: has no default export/],
    ['export default { recrd() {} }', /transform clean\.js: has a default export without a function record\(record\)/],
    ['export default (record) => record', /without a function record\(record\)/],
    ['\nthrow new Error("at the start")', /transform clean\.js:2:7: at the start/],
    ['for (;;);', /transform clean\.js: did not start within 5 s/],
    ['import x from "./gone.js"\nexport default { record: x }', /gone\.js does not exist, which clean\.js imports/],
    [
      'import x from "lodash"\nexport default { record: x }',
      /clean\.js: No such module "lodash".*bundle them to one file/,
    ],
    [
      'await fetch("http://127.0.0.1/")\nexport default { record(r) { return r } }',
      /clean\.js:1:7: Disallowed operation/,
    ],
  ]
  for (const [source, message] of CASES) {
    const file = source === undefined ? 'absent/clean.js' : 'clean.js'
    if (source !== undefined) writeFileSync(join(folder, 'clean.js'), source)
    const text = `source: stdin\ndataset: any\ntransform: ${file}\ndestination_conf: 'stdout:'\n`
    try {
      readPipelines(text, join(folder, 'p.yaml'), checks, {})
      t.fail(`was accepted: ${source}`)
    } catch (error) {
      t.match((error as BadConfig).message, message, source ?? 'a missing file')
    }
  }
})

t.test('without the runtime a file with a transform is rejected with the command that installs it', async (t) => {
  const folder = testFolder(t, { 'clean.js': 'export default { record: (r) => r }' })
  const text = `source: stdin\ndataset: any\ntransform: clean.js\ndestination_conf: 'stdout:'\n`
  const without = { ...checks, transform: () => 'needs the runtime of Workers: npm install' }
  t.throws(() => readPipelines(text, join(folder, 'p.yaml'), without, {}), {
    message: /p\.yaml:3:1: transform needs the runtime of Workers: npm install/,
  })
})

t.test('members that a transform excludes are rejected', { skip: NO_RUNTIME }, async (t) => {
  const folder = testFolder(t, { 'clean.js': 'export default { record: (r) => r }' })
  const rejected = (more: string, message: RegExp) =>
    t.throws(
      () => readPipelines(`source: stdin\ndestination_conf: 'stdout:'\n${more}`, join(folder, 'p.yaml'), checks, {}),
      {
        message,
      },
    )
  rejected(
    'dataset: http_requests\ntransform: clean.js\noutput_options: { merge_subrequests: true }',
    /merge_subrequests/,
  )
  rejected('dataset: http_requests\nschema: { a: int }', /schema is for dataset: any and for transform/)
  rejected(
    `dataset: any\ntransform: clean.js\nroutes: [{ name: a, destination_conf: 'stdout:' }]`,
    /transform is for pipelines without routes/,
  )
  rejected('dataset: any\nscript: clean.js', /use transform \(a JavaScript module\)/)
})

t.test('Parquet files have the records of the module', { skip: NO_RUNTIME }, async (t) => {
  const { run } = transformed(
    t,
    'export default { record: (r) => [{ ...r, twice: false }, { ...r, twice: true }] }',
    'dataset: any\nschema: { n: int, twice: bool }\noutput_options: { output_type: parquet }',
  )
  const { files } = await run(lines({ n: 1 }, { n: 2 }))
  const { buffer, byteOffset, byteLength } = files[0]!.bytes
  const file = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer
  t.same(await parquetReadObjects({ file }), [
    { n: 1n, twice: false },
    { n: 1n, twice: true },
    { n: 2n, twice: false },
    { n: 2n, twice: true },
  ])
})

t.test('routes have transforms of their own', { skip: NO_RUNTIME }, async (t) => {
  const folder = testFolder(t, {
    'a.js': `export default { record: ({ n }) => ({ a: n }) }`,
    'b.js': `export default { record: ({ n }) => (n === 2 ? null : { b: n }) }`,
    'in.ndjson': lines({ n: 1 }, { n: 2 }),
  })
  const text = `source: { file: ./in.ndjson }
dataset: any
routes:
  - { name: a, transform: ./a.js, destination_conf: file:a }
  - { name: b, transform: ./b.js, destination_conf: file:b }
  - { name: plain, destination_conf: file:plain }
`
  const [pipeline] = readPipelines(text, join(folder, 'p.yaml'), checks, {})
  const alive = setInterval(() => {}, 2 ** 30)
  await runPipeline(pipeline!, {
    state: join(folder, 'state'),
    resume: false,
    stats: new RunStats(() => {}),
    tell: () => {},
    size: () => {},
    stop: new AbortController().signal,
    clock: systemClock,
    log,
  })
  clearInterval(alive)
  t.same(await textsBelow(join(folder, 'a')), ['{"a":1}\n{"a":2}\n'])
  t.same(await textsBelow(join(folder, 'b')), ['{"b":1}\n'])
  t.same(await textsBelow(join(folder, 'plain')), [readFileSync(join(folder, 'in.ndjson'), 'utf8')])
})
