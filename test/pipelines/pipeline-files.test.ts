import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import t from 'tap'
import { test as testCommand } from '../../src/commands/test.js'
import { loadPipelines, readPipelines } from '../../src/config/pipeline-file.js'
import { listenerOf, type SourceOf } from '../../src/config/pipeline-sources.js'
import { BadConfig } from '../../src/config/yaml.js'
import { systemClock } from '../../src/core/clock.js'
import { silentLog as log } from '../../src/core/log.js'
import { destinationChecks } from '../../src/daemon/pipelines/destinations.js'
import { testFolder } from '../helpers/folder.js'

/** A day that no test runs to the end of. */
const clock = { ...systemClock, now: () => Date.parse('2026-11-21T12:00:00Z') + performance.now() }
const checks = destinationChecks({ clock, log })

const file = (text: string) => readPipelines(text, '/logs/p.yaml', checks, {})

t.test('what is wrong in a pipeline file is reported with its place', async (t) => {
  const head = 'dataset: http_requests\ndestination_conf: stdout://\n'
  const WRONG: [text: string, fault: string | RegExp][] = [
    ['', /1:1: must be a pipeline/],
    [`${head}source: { fil: a }`, 'p.yaml:3:11: source.fil is not a source; did you mean file?'],
    [`${head}source: { zone: ${'a'.repeat(32)} }`, /3:11: source.zone is a source of pipelines inside the daemon only/],
    [
      `${head}source: stdin\noutput_option: {}`,
      /4:1: output_option is not a known member, did you mean output_options/,
    ],
    [`${head}source: stdin\nretry_for: 10`, /4:1: retry_for must be a number with a unit/],
    [`${head}source: stdin\nmax_upload_records: -1`, /4:1: max_upload_records must be/],
    [`${head}source: stdin\nfilter: { where: { key: No, operator: eq, value: 1 } }`, /filter.where.key is not a field/],
    ['source: stdin\ndataset: http_request\ndestination_conf: stdout://', /2:1: .*did you mean http_requests/],
    ['source: stdin\ndataset: http_requests\ndestination_conf: nope://a', /3:1: destination_conf must begin with/],
    [
      'source: stdin\ndataset: http_requests\ndestination_conf: file:a%zz',
      /3:1: destination_conf has malformed percent-encoding/,
    ],
    ['pipelines: []', /1:1: pipelines/],
    [`${head}source: stdin\nexec: { command: jq }`, /4:1: exec is not a stage: .*Vector/],
    [
      'source: stdin\ndataset: any\nroutes: [{ name: a, lua: x, destination_conf: stdout:// }]',
      /3:\d+: routes.0.lua is not a stage/,
    ],
    [`${head}source: stdin\nredact: { RayID: blur }`, /4:\d+: redact.RayID must be mask, query, address or/],
    [
      `${head}source: stdin\nredact: { RayID: { hash: short } }`,
      /4:\d+: redact.RayID.hash must be at least 16 characters long/,
    ],
    [`${head}source: stdin\nset: { a: { from: moon } }`, /4:\d+: set.a must be a string/],
    [`${head}source: stdin\ngeo: { field: ClientIP, set: { country: c } }`, /4:1: geo needs city_file/],
    [
      `${head}source: stdin\ngeo: { field: ClientIP, set: { country: c }, city_file: ./no.mmdb }`,
      /4:1: geo \/logs\/no.mmdb cannot be read as a MaxMind database/,
    ],
    [
      `${head}source: stdin\nlookup: [{ field: ClientIP, list: office, set: known }]`,
      /4:\d+: lookup.0.list office is not a list of the configuration; only pipelines of the daemon/,
    ],
    [
      `${head}source: stdin\nlookup: [{ field: ClientIP, list: { kind: ip, items: [x] }, set: known }]`,
      /4:\d+: lookup.0.list.items.0/,
    ],
  ]
  for (const [text, fault] of WRONG) {
    try {
      file(text)
      t.fail(`not refused: ${text}`)
    } catch (error) {
      t.type(error, BadConfig)
      t.match((error as Error).message, fault)
    }
  }
  const [pipeline] = file(
    `${head}source: { file: [a, ../b] }\nfilter: { where: { key: EdgeStartTimestamp, operator: eq, value: 1795266000123456789 } }`,
  )
  t.match(pipeline, { name: 'p', source: { file: ['/logs/a', '/b'] }, filter: /1795266000123456789/ })
})

t.test('the notations of a source mean the same', async (t) => {
  const listener = (source: string) => file(`source: ${source}\ndataset: any\ndestination_conf: stdout://`)[0]!.source
  const short = listener('{ http: "127.0.0.1:1", token: 0123456789abcdef }')
  const long = listener('{ http: { listen: "127.0.0.1:1", token: 0123456789abcdef } }')
  t.strictSame(listenerOf(short as SourceOf<'http'>), listenerOf(long as SourceOf<'http'>))
  t.match(listener('{ s3: { bucket: b, prefix: logs/, region: r } }'), { s3: { bucket: 'b', region: 'r' } })
})

t.test('all issues of a pipeline file are reported together, in the order of the file', async (t) => {
  const text = `dataset: http_requests
source: { file: a, folow: true }
destination_conf: nope://a
retry_for: 10
filter: { where: { key: No, operator: eq, value: 1 } }
output_options: { field_names: [Nope], timestamp_format: iso }
max_upload_records: -1
color: red
`
  const faults = (() => {
    try {
      return file(text)
    } catch (error) {
      return (error as BadConfig).faults.map(({ line, message }) => `${line} ${message.split(' ', 1)[0]}`)
    }
  })()
  t.strictSame(faults, [
    '2 source.folow',
    '3 destination_conf',
    '4 retry_for',
    '5 filter.where.key',
    '6 output_options.field_names.0',
    '6 output_options.timestamp_format',
    '7 max_upload_records',
    '8 color',
  ])
  const list = `pipelines:\n  - { source: stdin }\n  - { source: stdin, dataset: nope, destination_conf: 'nope:' }`
  t.throws(() => file(list), /2:5: .*\n.*2:5: .*\n.*3:22: .*dataset.*\n.*3:37: .*destination_conf/)
})

t.test('the worked examples pass their own tests', async (t) => {
  const folder = join(import.meta.dirname, '../../config/pipelines')
  const names = readdirSync(folder)
  t.ok(names.length >= 5)
  for (const name of names) {
    const out = t.capture(process.stdout, 'write', () => true)
    const command = new Command('test').exitOverride()
    testCommand(command)
    await command.parseAsync([join(folder, name)], { from: 'user' })
    const text = out()
      .map(({ args }) => String(args[0]))
      .join('')
    out.restore()
    t.match(text, /^[1-9]\d* passed, 0 failed$/m, name)
  }
})

t.test('a configuration of the daemon is no pipeline file', async (t) => {
  const folder = testFolder(t, { 'edged.yaml': 'data: ./data\n', 'empty.yaml': '' })
  t.throws(() => loadPipelines(join(folder, 'edged.yaml'), checks), {
    message: /:1:1: is not a pipeline file: .* edged serve/,
  })
  t.throws(() => loadPipelines(join(folder, 'empty.yaml'), checks), { message: /:1:1: must be a pipeline/ })
})
