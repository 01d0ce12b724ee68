import { join } from 'node:path'
import t from 'tap'
import { readConfig } from '../../src/config/load.js'
import { silentLog } from '../../src/core/log.js'
import { startDaemon } from '../../src/daemon/index.js'
import { testFolder } from '../helpers/folder.js'

/** Metrics of Node.js and of the process have names of their own (prom-client, Prometheus). */
const FOREIGN = /^(nodejs|process)_/
const UNITS = /_(ms|millis|milliseconds|minutes|hours|kb|mb|gb|kib|mib|kilobytes|megabytes|percent)(_|$)/
/** Words of help texts that say less than the field's own. */
const VAGUE = /\b(told|became of|under way|is none|whoever|meanwhile|tries|answered|answers)\b/i

t.test('the metrics of a daemon have the names, units and help texts that Prometheus requires', async (t) => {
  const folder = testFolder(t)
  const daemon = await startDaemon(
    readConfig(
      `data: ./data
proxy: { listen: "127.0.0.1:0" }
control: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
accounts: [{ id: 023e105f4ecef8ad9ca31a8372d0c353, name: Example }]
zones:
  - id: 9f1839b6152d298aca64c4e906b6d074
    account: 023e105f4ecef8ad9ca31a8372d0c353
    name: example.test
    origin: http://127.0.0.1:9
pipelines:
  - name: own
    source: { zone: 9f1839b6152d298aca64c4e906b6d074 }
    dataset: http_requests
    destination_conf: 'file:${folder}/logs'`,
      join(folder, 'test.yaml'),
      {},
    ),
    { log: silentLog },
  )
  t.teardown(() => daemon.close())
  const text = await (await fetch(`${daemon.admin}/metrics`)).text()
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]))
  const helps = new Map([...text.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name, help]) => [name!, help!]))
  const own = [...types].filter(([name]) => !FOREIGN.test(name))
  t.ok(own.length > 50, 'the metrics are found')
  // Alerts and dashboards rely on these.
  for (const name of [
    'records_read_total',
    'records_invalid_total',
    'records_delivered_total',
    'records_dropped_total',
  ])
    t.equal(types.get(`edged_pipeline_${name}`), 'counter', name)
  for (const name of ['lag_records', 'lag_seconds', 'batches_in_flight'])
    t.equal(types.get(`edged_pipeline_${name}`), 'gauge', name)
  for (const [name, type] of own) {
    t.match(name, /^edged_[a-z][a-z0-9]*(_[a-z0-9]+)*$/, `${name}: prefix and snake case`)
    t.equal(name.endsWith('_total'), type === 'counter', `${name}: _total is for counters, and for all of them`)
    t.notMatch(name, UNITS, `${name}: seconds and bytes are the units`)
    if (type === 'histogram') t.match(name, /_(seconds|bytes)$/, `${name}: the unit is last`)
    const help = helps.get(name) ?? ''
    t.match(help, /^[A-Z0-9].*[^.]\.$/, `${name}: a sentence or noun phrase with a full stop: ${help}`)
    t.notMatch(help, VAGUE, `${name}: ${help}`)
    t.ok(help.length <= 160, `${name}: at most 160 characters`)
  }
})
