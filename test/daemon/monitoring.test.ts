import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t, { type Test } from 'tap'
import { globSync } from 'tinyglobby'
import { parse, stringify } from 'yaml'
import { readConfig } from '../../src/config/load.js'
import { silentLog } from '../../src/core/log.js'
import { startDaemon } from '../../src/daemon/index.js'
import { readSamples } from '../../src/telemetry/samples.js'
import { testFolder } from '../helpers/folder.js'

const RULES = 'config/prometheus/edged.rules.yaml'
const BOARDS = globSync('config/grafana/*.json')
const NO_PROMTOOL = spawnSync('promtool', ['--version']).error !== undefined && 'promtool is not installed'

interface Expression {
  /** Where it is used. */
  readonly place: string
  readonly text: string
}

interface Panel {
  readonly id: number
  readonly title: string
  readonly gridPos: { readonly x: number; readonly w: number }
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[]
}
interface Board {
  readonly uid: string
  readonly title: string
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly { readonly name: string; readonly query: string }[] }
}
interface Alert {
  readonly alert: string
  readonly expr: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string }
}

const boards = BOARDS.map((file) => ({ file, board: JSON.parse(readFileSync(file, 'utf8')) as Board }))
const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: readonly { readonly rules: readonly Alert[] }[] }
const alerts = groups.flatMap(({ rules }) => rules)

/** Every expression of dashboards and alerts. */
const expressions: readonly Expression[] = [
  ...alerts.map(({ alert, expr }) => ({ place: alert, text: expr })),
  ...boards.flatMap(({ file, board }) => [
    ...board.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ place: `${file}: ${title}`, text: expr })),
    ),
    ...board.templating.list.map(({ name, query }) => ({ place: `${file}: ${name}`, text: query })),
  ]),
]

/** Metrics of Prometheus itself, and labels that it adds to each series. */
const FOREIGN = new Set(['up'])
const ADDED = new Set(['instance', 'job', 'le'])

/** Returns the metrics of a daemon that has served a few requests, as Prometheus text. */
async function liveMetrics(t: Test): Promise<string> {
  const folder = testFolder(t)
  const zone = '9f1839b6152d298aca64c4e906b6d074'
  const daemon = await startDaemon(
    readConfig(
      stringify({
        data: './data',
        proxy: { listen: '127.0.0.1:0' },
        control: { listen: '127.0.0.1:0' },
        admin: { listen: '127.0.0.1:0' },
        accounts: [{ id: '023e105f4ecef8ad9ca31a8372d0c353', name: 'Example' }],
        zones: [
          {
            id: zone,
            account: '023e105f4ecef8ad9ca31a8372d0c353',
            name: 'example.test',
            hostnames: ['*'],
            origin: 'demo',
            settings: { content_converter: 'on' },
          },
        ],
        pipelines: [
          { name: 'own', source: { zone }, dataset: 'http_requests', destination_conf: `file:${folder}/logs` },
        ],
      }),
      join(folder, 'test.yaml'),
      {},
    ),
    { log: silentLog },
  )
  t.teardown(() => daemon.close())
  for (const accept of ['text/html', 'text/markdown'])
    await (await fetch(`${daemon.proxy}/`, { headers: { accept } })).text()
  await fetch(`${daemon.control}/user/tokens/verify`)
  return await (await fetch(`${daemon.admin}/metrics`)).text()
}

t.test('every metric of the dashboards and alerts is on /metrics, with its labels', async (t) => {
  const text = await liveMetrics(t)
  const types = new Map([...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].map(([, name, type]) => [name!, type!]))
  const labels = new Map<string, Set<string>>()
  for (const { name, labels: own } of readSamples(text))
    for (const label of ['', ...Object.keys(own)]) labels.set(name, (labels.get(name) ?? new Set()).add(label))
  t.ok(expressions.length > 50)
  for (const { place, text: expression } of expressions)
    for (const [, name = '', , selector = ''] of expression.matchAll(
      /\b((edged|nodejs|process)_\w+|up\b)(?:\{([^}]*)\})?/g,
    )) {
      if (FOREIGN.has(name)) continue
      const base = name.replace(/_(bucket|sum|count)$/, '')
      t.ok(types.has(name) || types.get(base) === 'histogram', `${place}: ${name}`)
      const known = labels.get(name)
      if (known === undefined) continue
      for (const [, label = ''] of selector.matchAll(/(\w+)(?==~?|!)/g))
        t.ok(known.has(label) || ADDED.has(label), `${place}: label ${label} of ${name}`)
    }

  t.test('promtool has nothing against the metrics', { skip: NO_PROMTOOL }, async (t) => {
    const { status, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: text, encoding: 'utf8' })
    t.equal(status, 0, stderr)
  })
})

t.test('dashboards have unique ids, panels inside the grid, and a legend for each query', async (t) => {
  t.equal(new Set(boards.map(({ board }) => board.uid)).size, boards.length)
  for (const { file, board } of boards) {
    t.match(board.title, /^edged: /)
    t.equal(new Set(board.panels.map(({ id }) => id)).size, board.panels.length, `${file}: ids`)
    for (const { title, gridPos, targets = [] } of board.panels) {
      t.ok(gridPos.x + gridPos.w <= 24, `${file}: ${title}`)
      for (const { legendFormat } of targets) t.type(legendFormat, 'string')
    }
  }
})

t.test('each alert has a severity, a summary and what to look at', async (t) => {
  t.equal(new Set(alerts.map(({ alert }) => alert)).size, alerts.length)
  for (const { alert, labels, annotations } of alerts) {
    t.match(alert, /^Edged[A-Z]/)
    t.match(labels.severity, /^(warning|critical)$/)
    t.match(annotations, { summary: /./, description: /./ }, alert)
  }
})

t.test('promtool accepts the alerts and every query of the dashboards', { skip: NO_PROMTOOL }, async (t) => {
  const queries = boards.flatMap(({ board }) => board.panels.flatMap(({ targets = [] }) => targets))
  const rules = queries.map(({ expr }, at) => ({
    record: `query:${at}`,
    expr: expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, 'x'),
  }))
  const folder = testFolder(t)
  const file = join(folder, 'queries.yaml')
  writeFileSync(file, stringify({ groups: [{ name: 'queries', rules }] }))
  for (const each of [RULES, file]) {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'rules', each], { encoding: 'utf8' })
    t.equal(status, 0, `${basename(each)}: ${stdout}${stderr}`)
  }
  const config = spawnSync('promtool', ['check', 'config', 'config/prometheus/prometheus.yaml'], { encoding: 'utf8' })
  t.equal(config.status, 0, config.stderr)
})
