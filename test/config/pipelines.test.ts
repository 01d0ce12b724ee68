import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../../src/config/load.js'
import { systemClock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import { configChanges } from '../../src/daemon/config/changes.js'
import { destinationChecks } from '../../src/daemon/pipelines/destinations.js'
import { batchOf } from '../../pipelines/run/batch-of.js'
import { mmdb } from '../helpers/mmdb.js'
import { ACCOUNT, faults, zone, ZONE } from './setup.js'

const pipeline = (source: string, more = '') =>
  zone(`pipelines:\n  - source: ${source}\n    dataset: http_requests\n    destination_conf: file:logs/{DATE}\n${more}`)

t.test('pipelines are read like those of pipeline files, with the records of the daemon as a source', async (t) => {
  const [read] = readConfig(pipeline(`{ zone: ${ZONE} }`), '/etc/edged/f.yaml', {}).pipelines
  t.match(read, {
    name: 'pipeline-1',
    source: { zone: ZONE },
    destination_conf: 'file:///etc/edged/logs/{DATE}',
    outputs: [{ route: undefined, job: { dataset: { name: 'http_requests' } } }],
  })
  const digits = pipeline(
    '{ http: "127.0.0.1:1" }',
    '    filter: { where: { key: ClientASN, operator: eq, value: 18446744073709551615 } }',
  )
  t.match(readConfig(digits, 'f.yaml', {}).pipelines[0]?.filter, '18446744073709551615')
})

t.test('pipelines of the daemon have a name of their own, and the lists and databases of the daemon', async (t) => {
  const folder = t.testdir({ 'city.mmdb': mmdb({ '192.0.2.0/24': { country: { iso_code: 'DE' } } }) })
  const text = `geo: { country_file: ./city.mmdb }
lists: [{ name: office, kind: ip, items: [192.0.2.0/24] }]
pipelines:
  - { source: { file: a }, dataset: any, destination_conf: 'file:out' }
  - source: { file: b }
    dataset: any
    geo: { field: ip, set: { country: country } }
    lookup: [{ field: ip, list: office, set: known }]
    set: { pipeline: { from: pipeline } }
    destination_conf: 'file:out'
`
  const checks = destinationChecks({ clock: systemClock, log: silentLog })
  const { pipelines } = readConfig(text, join(folder, 'f.yaml'), {}, checks)
  t.strictSame(
    pipelines.map(({ name }) => name),
    ['pipeline-1', 'pipeline-2'],
  )
  const records = ['{"ip":"192.0.2.7"}', '{"ip":"198.51.100.1"}', '{"ip":"nowhere"}', '{}']
  const { text: written } = batchOf(pipelines[1]!.outputs[0]!.job, records)
  t.equal(
    written,
    '{"ip":"192.0.2.7","country":"DE","known":true,"pipeline":"pipeline-2"}\n' +
      '{"ip":"198.51.100.1","known":false,"pipeline":"pipeline-2"}\n' +
      '{"ip":"nowhere","known":false,"pipeline":"pipeline-2"}\n' +
      '{"pipeline":"pipeline-2"}\n',
  )
  const digits = text.replace('{ from: pipeline }', '{ from: pipeline }, n: 12345678901234567890')
  const read = (yaml: string) => readConfig(yaml, join(folder, 'f.yaml'), {}, checks)
  const changes = async (yaml: string) => await configChanges(read(digits), read(yaml), async () => undefined)
  t.strictSame((await changes(digits)).changed, [], 'also with numbers beyond 2^53')
  t.match((await changes(digits.replace('890', '891'))).restartNeeded, ['pipelines'])
  const unknown = () => readConfig(text.replace('list: office', 'list: home'), 'f.yaml', {})
  t.throws(unknown, /pipelines.1.lookup.0.list home is not a list of the configuration; add it to lists/)
})

t.test('an option without effect on a pipeline of a zone is rejected', async (t) => {
  const text = pipeline(`{ zone: ${ZONE} }`, '    retry_for: 5m\n    spool_bytes: 1GB\n    on_invalid: skip\n')
  t.match(faults(text), [
    /pipelines.0.retry_for is for pipelines that end/,
    /pipelines.0.spool_bytes is for records that come from outside/,
    /pipelines.0.on_invalid is for records that come from outside/,
  ])
  t.same(faults(pipeline('{ file: a }', '    retry_for: 5m\n')), [])
})

const WRONG: [what: string, text: string, message: RegExp][] = [
  [
    'of an unknown zone',
    pipeline(`{ zone: ${'f'.repeat(32)} }`),
    /^f.yaml:8:\d+: pipelines.0.source.zone f+ is not a zone here$/,
  ],
  [
    'of a dataset of zones',
    pipeline(`{ account: ${ACCOUNT} }`),
    /source.account http_requests is not a dataset of accounts$/,
  ],
  ['of standard input', pipeline('{ stdin: true }'), /source.stdin is a source of pipelines of files only$/],
  ['without a source', pipeline('{}'), /must have one of file, http, redis_stream, .*syslog, otlp,.* zone, account$/],
  [
    'with a wrong field',
    pipeline(`{ zone: ${ZONE} }`, '    output_options: { field_names: [RayIDs] }'),
    /^f.yaml:11:37: .*field_names.0 is not a field of http_requests/,
  ],
  [
    'with the name of another',
    pipeline(
      `{ zone: ${ZONE} }`,
      '    name: a\n  - { name: a, source: { http: "127.0.0.1:1" }, dataset: dns_logs, destination_conf: file:x }',
    ),
    /duplicate pipeline name a$/,
  ],
]
for (const [what, text, message] of WRONG)
  t.test(`a pipeline ${what} is an issue`, async (t) => t.match(faults(text), [message]))

t.test('a pipeline of an unknown dataset has all its other issues reported too', async (t) => {
  const options = '    output_options: { sample_rate: 9, output_type: csv, record_template: "{{.x" }\n    filter: "{"'
  t.match(faults(pipeline(`{ zone: ${ZONE} }`, options).replace('http_requests', 'nope')), [
    /pipelines.0.dataset is not a dataset: nope$/,
    /pipelines.0.output_options.sample_rate must be at most 1/,
    /pipelines.0.output_options.record_template/,
    /pipelines.0.filter is not JSON text, as in /,
  ])
})
