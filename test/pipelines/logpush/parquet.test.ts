import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parquetMetadata, parquetReadObjects } from 'hyparquet'
import t, { type Test } from 'tap'
import type { Column } from '../../../pipelines/logpush/parquet/columns.js'
import { ParquetEncoder } from '../../../pipelines/logpush/parquet/encoder.js'
import { BatchBuffer } from '../../../pipelines/logpush/batches/batch-buffer.js'
import { asParquet, compileJob } from '../../../pipelines/logpush/settings/compiled-job.js'
import { DATASETS, type FieldType } from '../../../pipelines/records/index.js'
import { batchOf } from '../../../pipelines/run/batch-of.js'
import { RunStats } from '../../../pipelines/sources/intake/run-stats.js'
import { objectSink, type ObjectStore } from '../../../sinks/objects/object-sink.js'
import { folder as folderAt } from '../../../sinks/objects/folder.js'
import { readPipelines } from '../../../src/config/pipeline-file.js'
import { BadConfig } from '../../../src/config/yaml.js'
import { systemClock as clock } from '../../../src/core/clock.js'
import { silentLog as log } from '../../../src/core/log.js'
import { destinationChecks } from '../../../src/daemon/pipelines/destinations.js'
import { runPipeline } from '../../../src/daemon/pipelines/run.js'
import { duckdb, NO_DUCKDB } from '../../helpers/duckdb.js'
import { testFolder } from '../../helpers/folder.js'

const checks = destinationChecks({ clock, log })

/** For each type two values as JSON text, and what is read of them. Times are given and read as nanoseconds. */
const VALUES: Readonly<Record<Exclude<FieldType, 'any'>, readonly [json: string, read: unknown][]>> = {
  string: [
    ['"a \\"b\\" \\n\\u00e9é"', 'a "b" \néé'],
    ['""', ''],
  ],
  int: [
    ['9223372036854775807', 9223372036854775807n],
    ['-1', -1n],
  ],
  float: [
    ['1.5', 1.5],
    ['-1e10', -1e10],
  ],
  bool: [
    ['true', true],
    ['false', false],
  ],
  timestamp: [
    ['1795266000123456789', 1795266000123456n],
    ['"2026-11-21T13:00:00.5Z"', 1795266000500000n],
  ],
  object: [
    ['{"a":12345678901234567890,"b":[1]}', '{"a":12345678901234567890,"b":[1]}'],
    ['{}', '{}'],
  ],
  'array[string]': [
    ['["x",null,"\\"y"]', ['x', null, '"y']],
    ['[]', []],
  ],
  'array[int]': [
    ['[1,9007199254740993]', [1n, 9007199254740993n]],
    ['[]', []],
  ],
  'array[object]': [
    ['[{"n":1.0},{}]', '[{"n":1.0},{}]'],
    ['[]', '[]'],
  ],
}

/** Returns the bytes of a file, from text that is cut into pieces of a size. */
function encoded(columns: readonly Column[], text: string, piece = 1000, groupBytes?: number): Buffer {
  const encoder = new ParquetEncoder(columns, groupBytes)
  const bytes = Buffer.from(text)
  const parts: Uint8Array[] = []
  for (let at = 0; at < bytes.length; at += piece) parts.push(encoder.add(bytes.subarray(at, at + piece)))
  return Buffer.concat([...parts, encoder.end()])
}

const fileOf = ({ buffer, byteOffset, byteLength }: Buffer): ArrayBuffer =>
  buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer

/** Returns the rows that hyparquet reads, with times as microseconds. */
async function rowsOf(file: Buffer): Promise<Record<string, unknown>[]> {
  const rows = await parquetReadObjects({ file: fileOf(file) })
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        value instanceof Date ? BigInt(value.getTime()) * 1000n : ((value as unknown) ?? null),
      ]),
    ),
  )
}

/** hyparquet returns times in milliseconds. */
const toMs = (value: unknown, type: FieldType): unknown =>
  type === 'timestamp' && value !== null ? ((value as bigint) / 1000n) * 1000n : value

/** Records of a dataset: two with each field, one of nulls, one that is empty. */
function recordsOf(name: string) {
  const { names, types } = DATASETS.get(name)!
  const record = (at: number) =>
    `{${names.map((field, place) => `${JSON.stringify(field)}:${VALUES[types[place] as 'string'][at]![0]}`).join(',')}}`
  const nulls = `{${names.map((field) => `${JSON.stringify(field)}:null`).join(',')}}`
  return { names, types, records: [record(0), record(1), nulls, '{}'] }
}

/** The file of the records of a dataset, and the rows that it must have, with times as nanoseconds. */
function fileOfDataset(t: Test, name: string) {
  const { names, types, records } = recordsOf(name)
  const job = compileJob({ dataset: name, output_options: { field_names: names }, parquet: true }, '')
  const { text, rejected } = batchOf(job, records)
  t.strictSame(rejected, [], name)
  const file = encoded(job.columns!, text)
  const expected = [0, 1].map((at) =>
    Object.fromEntries(names.map((field, place) => [field, VALUES[types[place] as 'string'][at]![1]])),
  )
  const none = Object.fromEntries(names.map((field) => [field, null]))
  return { names, types, file, rows: [...expected, none, none] }
}

t.test('records of every dataset are read back equal', async (t) => {
  t.ok(DATASETS.size >= 37)
  for (const name of DATASETS.keys()) {
    const { types, file, rows } = fileOfDataset(t, name)
    const inMs = rows.map((row) =>
      Object.fromEntries(Object.entries(row).map(([field, value], place) => [field, toMs(value, types[place]!)])),
    )
    t.strictSame(await rowsOf(file), inMs, name)
  }
})

t.test('DuckDB reads the records of every dataset equal', { skip: NO_DUCKDB }, async (t) => {
  const folder = testFolder(t)
  const query = await duckdb()
  const asJson = (value: unknown): unknown =>
    typeof value === 'bigint' ? String(value) : Array.isArray(value) ? value.map(asJson) : value
  for (const name of DATASETS.keys()) {
    const { names, types, file, rows } = fileOfDataset(t, name)
    const path = join(folder, `${name}.parquet`)
    writeFileSync(path, file)
    const columns = names.map((field, place) => (types[place] === 'timestamp' ? `epoch_us("${field}")` : `"${field}"`))
    const found = await query(`select ${columns.join(',')} from '${path}'`)
    t.strictSame(
      found,
      rows.map((row) => names.map((field) => asJson(row[field]))),
      name,
    )
  }
})

t.test('the bytes of a file depend on its text alone, and row groups have statistics', async (t) => {
  const columns: Column[] = [
    { name: 'n', type: 'int' },
    { name: 's', type: 'string' },
  ]
  const lines = Array.from({ length: 1000 }, (_, n) => `{"n":${n},"s":"value ${n % 7}"}`).join('\n')
  const [whole, ...others] = [1e6, 1, 77].map((piece) => encoded(columns, lines, piece, 8000))
  for (const other of others) t.ok(other.equals(whole!))
  const { row_groups: groups, num_rows: rows } = parquetMetadata(fileOf(whole!))
  t.equal(rows, 1000n)
  t.ok(groups.length > 1)
  const { statistics, codec } = groups[1]!.columns[0]!.meta_data!
  t.match(statistics, { null_count: 0n })
  t.ok(Number(statistics?.min_value) > 0 && Number(statistics?.max_value) > Number(statistics?.min_value))
  t.equal(codec, 'SNAPPY')
  t.equal((await rowsOf(encoded(columns, ''))).length, 0, 'without records')
})

t.test('values that do not have the type of their column are null', async (t) => {
  const columns: Column[] = (['int', 'float', 'bool', 'micros', 'string', 'array[string]', 'array[int]'] as const).map(
    (type) => ({ name: type, type }),
  )
  const odd = ['"x"', '9223372036854775808', '1e30', '{}', '[1]', 'true']
  for (const value of odd) {
    const line = `{${columns.map(({ name }) => `"${name}":${value}`).join(',')}}`
    const [row] = await rowsOf(encoded(columns, line))
    t.equal(row?.['int'], null, value)
    if (value !== '9223372036854775808') t.equal(row?.['micros'], null, value)
    t.equal(row?.['string'], value === '"x"' ? 'x' : value, 'a string can be any JSON text')
  }
})

/** Runs a pipeline of a file with 300 records. */
async function ran(t: Test, more: string, folder = testFolder(t)): Promise<string> {
  const records = Array.from({ length: 300 }, (_, n) => `{"id":"${n}","at":"2026-11-21T13:00:00.${n + 100}Z","n":${n}}`)
  writeFileSync(join(folder, 'a.ndjson'), `${records.join('\n')}\n`)
  const text = `name: p\nsource: { file: ./a.ndjson }\ndataset: any\nschema: { id: string, at: timestamp, n: int }\n${more}`
  await started(t, text, folder)
  return folder
}

/** Runs a pipeline to the end of its input. */
async function started(t: Test, text: string, folder: string): Promise<void> {
  const [pipeline] = readPipelines(text, join(folder, 'p.yaml'), checks, {})
  const stats = new RunStats((place, message) => t.fail(`${place}: ${message}`))
  const stop = new AbortController().signal
  const alive = setInterval(() => {}, 2 ** 30)
  const options = { state: join(folder, 'state'), resume: false, stats, tell() {}, size() {}, stop, clock, log }
  await runPipeline(pipeline!, options).finally(() => clearInterval(alive))
  const { parquet, batches } = stats.output(undefined)
  t.match(parquet, { files: batches })
  t.ok(parquet!.groups >= batches && parquet!.bytes > 0 && parquet!.seconds > 0)
}

const filesBelow = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()

t.test('a pipeline writes files, by its output type or by the destination', async (t) => {
  const options = 'output_options: { output_type: parquet }\ndestination_conf: file:out\nmax_upload_records: 200'
  const folder = await ran(t, options)
  const found = filesBelow(join(folder, 'out'))
  t.equal(found.length, 2)
  t.ok(found.every((path) => path.endsWith('.parquet')))
  const rows = (await Promise.all(found.map(async (path) => await rowsOf(readFileSync(path))))).flat()
  t.strictSame(
    rows.map(({ n }) => Number(n)).sort((a, b) => a - b),
    Array.from({ length: 300 }, (_, n) => n),
  )
  t.match(
    rows.find(({ n }) => n === 7n),
    { id: '7', at: 1795266000107000n },
  )
  const other = await ran(t, 'filter: { where: { key: n, operator: lt, value: 5 } }\noutput_options: { field_names: [n] }\ndestination_conf: file:o2?format=parquet') // prettier-ignore
  const [path] = filesBelow(join(other, 'o2'))
  t.strictSame(
    await rowsOf(readFileSync(path!)),
    [0n, 1n, 2n, 3n, 4n].map((n) => ({ n })),
  )
})

t.test('the statements of the documentation read the files of its pipeline', { skip: NO_DUCKDB }, async (t) => {
  const page = readFileSync('docs/pipelines.md', 'utf8')
  const part = page.slice(page.indexOf('\n## Parquet\n'))
  const [, text = ''] = /```yaml\n(.*?)```/s.exec(part) ?? []
  const [, sql = ''] = /```sql\n(.*?)```/s.exec(part) ?? []
  const folder = testFolder(t)
  const time = new Date().toUTCString().replace(/^\w+, (\d+) (\w+) (\d+) ([\d:]+) GMT$/, '$1/$2/$3:$4 +0000')
  const line = (target: string, status: number) =>
    `192.0.2.1 - - [${time}] "GET ${target} HTTP/1.1" ${status} 5 "-" "a"\n`
  writeFileSync(join(folder, 'access.log'), line('/a', 502) + line('/b', 200) + line('/a', 503))
  await started(t, text, folder)
  const query = await duckdb()
  const [view = '', select = ''] = sql.replaceAll('warehouse/', `${folder}/warehouse/`).split(';\n')
  await query(view)
  t.strictSame(await query(select), [['/a', '2']])
})

t.test('bodies that are discarded leave the thread usable', async (t) => {
  const buffer = await BatchBuffer.open(join(testFolder(t), 'batches'))
  const columns: Column[] = [{ name: 'n', type: 'int' }]
  const dropped = buffer.begin('parquet', 1, columns)
  await dropped.write(Buffer.from('{"n":1}\n'))
  await dropped.discard()
  const broken = buffer.begin('parquet', 1, columns)
  await t.rejects(broken.end(Buffer.from('{"n":\n')), /cannot write Parquet/)
  await broken.discard()
  const body = await buffer.begin('parquet', 1, columns).end(Buffer.from('{"n":2}\n'))
  t.equal(body.encoding, 'parquet')
  t.strictSame(await rowsOf(Buffer.from(await body.bytes())), [{ n: 2n }])
  await body.discard()
})

t.test(
  'a job whose destination asks for Parquet has the columns of its fields, whatever its text would be',
  async (t) => {
    const output_options = {
      output_type: 'csv',
      field_names: ['RayID', 'EdgeStartTimestamp', 'Cookies'],
      record_prefix: 'x',
    }
    const job = asParquet(compileJob({ dataset: 'http_requests', output_options, filter: '' }, 'id'), 'id')
    t.strictSame(job.columns, [
      { name: 'RayID', type: 'string' },
      { name: 'EdgeStartTimestamp', type: 'micros' },
      { name: 'Cookies', type: 'object' },
    ])
    t.equal(batchOf(job, ['{"RayID":"a","EdgeStartTimestamp":1}']).text, '{"RayID":"a","EdgeStartTimestamp":1000000000,"Cookies":null}\n') // prettier-ignore
    const pulled = asParquet(
      compileJob({ dataset: 'http_requests', logpull_options: 'fields=RayID&sample=0.5' }, 'id'),
      'id',
    )
    t.strictSame([pulled.columns, pulled.format.sampleRate], [[{ name: 'RayID', type: 'string' }], 0.5])
  },
)

t.test('object stores get the type and the extension', async (t) => {
  const put: unknown[] = []
  const store = {
    label: 'b',
    put: async (...[key, , type]: Parameters<ObjectStore['put']>) => void put.push([key, type]),
    upload: async () => {},
    close() {},
  }
  const sink = objectSink(store, folderAt('x'), clock, 'parquet')
  t.equal(sink.encoding, 'parquet')
  const body = { length: 1, encoding: 'parquet' as const, bytes: async () => new Uint8Array(1), async *read() {} }
  const now = new Date()
  await sink.write({ name: 'n', records: 1, from: now, to: now, size: 1, body }, new AbortController().signal)
  t.strictSame(put, [['x/n.parquet', 'application/vnd.apache.parquet']])
})

t.test('check names what Parquet cannot have', async (t) => {
  const issues = (more: string, dataset = 'any') => {
    try {
      readPipelines(`source: stdin\ndataset: ${dataset}\n${more}`, '/p.yaml', checks, {})
      return ''
    } catch (error) {
      if (!(error instanceof BadConfig)) throw error
      return error.message
    }
  }
  const out = 'output_options: { output_type: parquet }'
  t.match(issues(`${out}\ndestination_conf: file:out`), /schema.* is required for parquet/)
  t.match(
    issues(
      'schema: { a: int }\noutput_options: { output_type: parquet, field_names: [a, b] }\ndestination_conf: file:out',
    ),
    /schema.* needs a type for each column of parquet: b/,
  )
  t.match(
    issues(`${out}\nschema: { a: int }\ndestination_conf: 'stdout:'`),
    /destination_conf.* cannot be parquet; use file:/,
  )
  t.match(issues(`${out}\ndestination_conf: file:out?gzip=true`, 'http_requests'), /gzip=true and format=parquet/)
  t.match(
    issues('output_options: { output_type: parquet, record_prefix: "x" }\ndestination_conf: file:out', 'http_requests'),
    /record_prefix.* has no effect on parquet/,
  )
  t.match(
    issues('output_options: { output_type: parquet, field_name: [a] }\ndestination_conf: file:out', 'http_requests'),
    /field_name/,
  )
  t.match(
    issues(
      'output_options: { output_type: parquet, timestamp_format: x }\ndestination_conf: file:out',
      'http_requests',
    ),
    /timestamp_format/,
  )
  t.match(issues('destination_conf: file:out?format=orc', 'http_requests'), /format/)
  t.equal(issues(`${out}\ndestination_conf: s3://b/x?region=eu-central-1`, 'http_requests'), '')
})
