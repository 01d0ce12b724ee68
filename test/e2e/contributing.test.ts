import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { appendFile, mkdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import t, { type Test } from 'tap'

/** The parts of the repository that its unit tests need. */
const PARTS = ['src', 'control', 'pipelines', 'sinks', 'ui', 'test', 'docs', 'config', 'demo', 'packages']
const FILES = [
  'package.json',
  'tsconfig.json',
  '.oxlintrc.json',
  'README.md',
  'ARCHITECTURE.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
]

/** A new thing as CONTRIBUTING.md says: one file, and rows in tables. */
interface Addition {
  readonly file?: readonly [path: string, content: string]
  /** Text that is inserted before a text of a file. */
  readonly rows: readonly (readonly [path: string, before: string, row: string])[]
  /** Text at the end of a page of the documentation. */
  readonly page?: readonly [path: string, text: string]
  readonly tests: readonly string[]
  /** A use of the new thing: arguments of `edged`, and its output. */
  readonly use?: readonly [args: readonly string[], output: RegExp]
}

const ADDITIONS: Readonly<Record<string, Addition>> = {
  sink: {
    file: [
      'sinks/probe.ts',
      `import { httpSinkType } from './http/http-sink.js'
export const probe = httpSinkType({ scheme: 'probe', form: 'probe://host/path', summary: 'one more' })\n`,
    ],
    rows: [
      ['sinks/index.ts', "import { r2 } from './r2.js'", "import { probe } from './probe.js'\n"],
      ['sinks/index.ts', '  r2,\n', '  probe,\n'],
      ['docs/logpush.md', '| `r2://', '| `probe://host/path` | one more | header_NAME |\n'],
    ],
    tests: ['test/sinks/destinations.test.ts'],
  },
  dataset: {
    file: [
      'pipelines/records/datasets/probes.ts',
      `import { dataset } from '../fields/dataset.js'
export const probes = dataset({ name: 'probes', scopes: ['zone'], clock: 'At', fields: { At: 'timestamp', Name: 'string' } })\n`,
    ],
    rows: [
      [
        'pipelines/records/datasets/index.ts',
        "import { SITE_DATASETS } from './sites.js'",
        "import { probes } from './probes.js'\n",
      ],
      ['pipelines/records/datasets/index.ts', '  firewallEvents,\n', '  probes,\n'],
    ],
    page: ['docs/logpush.md', 'The dataset `probes` has the probes of a test.\n'],
    tests: ['test/pipelines/records/fields', 'test/documented-rows.test.ts'],
  },
  action: {
    file: [
      'src/rules/actions/probe.ts',
      `import { Type } from 'typebox'
import { strict } from '../../core/schema.js'
import { action } from '../action.js'
export const probe = action({
  name: 'probe',
  summary: 'Closes the connection.',
  phases: ['http_request_firewall_custom'],
  optional: true,
  params: Type.Object({}, strict),
  prepare: () => () => ({ kind: 'close' }),
  examples: [{ phase: 'http_request_firewall_custom', params: {} }],
})\n`,
    ],
    rows: [
      [
        'src/rules/actions/index.ts',
        "import { redirect } from './redirect.js'",
        "import { probe } from './probe.js'\n",
      ],
      ['src/rules/actions/index.ts', '  redirect,\n', '  probe,\n'],
    ],
    tests: ['test/rules/actions.test.ts'],
  },
  field: {
    rows: [
      [
        'src/expr/fields/edge.ts',
        "  field('cf.ray_id'",
        "  field('cf.edged.probe', 'Integer', 'cloudflare', 'a number of a test'),\n",
      ],
      ['src/rules/fields/response.ts', "  'http.response.code':", "  'cf.edged.probe': () => 1,\n"],
    ],
    page: ['docs/rules.md', 'The field `cf.edged.probe` is a number of a test.\n'],
    tests: [
      'test/expr/language.test.ts',
      'test/rules/fields.test.ts',
      'test/rules/exchange-fields.test.ts',
      'test/documented-rows.test.ts',
    ],
  },
  function: {
    file: [
      'src/expr/functions/probe.ts',
      `import { INT } from '../language/types.js'
import type { FunctionDef } from '../language/scheme.js'
export const probe: FunctionDef = { name: 'probe', params: [], optional: [], returns: () => INT, prepare: () => () => 1 }\n`,
    ],
    rows: [
      ['src/expr/functions/index.ts', 'import { pluginFunction }', "import { probe } from './probe.js'\n"],
      ['src/expr/functions/index.ts', '  regexReplace,\n', '  probe,\n'],
    ],
    page: ['docs/rules.md', 'The function `probe` returns 1.\n'],
    tests: ['test/expr/language.test.ts', 'test/expr/functions.test.ts'],
  },
  'zone setting': {
    rows: [['control/zones/setting-types.ts', "  inert('webp'", "  inert('probe', ONOFF, 'off'),\n"]],
    tests: ['test/control/zones/settings.test.ts'],
  },
  source: {
    file: [
      'pipelines/sources/probe.ts',
      `import { Readable } from 'node:stream'
import type { Input } from './intake/input.js'
import type { TakingDeps } from './intake/spool-input.js'
import { stdinInput } from './stdin.js'
export const probeInput = async (deps: TakingDeps): Promise<Input> =>
  await stdinInput(Readable.from([Buffer.from('{"a":1}\\n')]), deps)\n`,
    ],
    rows: [
      [
        'src/config/pipeline-sources.ts',
        '/** Sources of the product itself:',
        `const ProbeSource = Type.Object({ probe: Type.Literal(true, { description: 'true.' }) }, { ...strict, description: 'One record.' })\n\n`,
      ],
      ['src/config/pipeline-sources.ts', '  zone: ZoneSource,\n', '  probe: ProbeSource,\n'],
      [
        'src/daemon/pipelines/inputs.ts',
        'import { stdinInput } from',
        "import { probeInput } from '../../../pipelines/sources/probe.js'\n",
      ],
      [
        'src/daemon/pipelines/inputs.ts',
        '  syslog: async (',
        '  probe: async (_source, context) => await probeInput(context),\n',
      ],
    ],
    tests: ['test/docs.test.ts', 'test/config/pipelines.test.ts'],
    use: [['run', 'probe.yaml'], /"delivered":1,/],
  },
  endpoint: {
    file: [
      'control/overview/probe.ts',
      `import { Type } from 'typebox'
import { area } from '../http/area.js'
import { ACCESS } from '../http/permissions.js'
import type { OverviewDeps } from './services.js'
const rows = area<OverviewDeps>({ scopes: ['account'], access: ACCESS.zones })
/** A number of a test. */
export const probe = rows.endpoints([
  rows.get('/edged/probe', { summary: 'Read a number', result: Type.Integer(), handle: () => 1 }),
])\n`,
    ],
    rows: [
      ['control/overview/index.ts', 'import { ruleCounts }', "import { probe } from './probe.js'\n"],
      ['control/overview/index.ts', '  ...tries(deps),\n', '  ...probe(deps),\n'],
    ],
    tests: ['test/control/openapi/openapi.test.ts', 'test/control/http/server/segment-router.test.ts'],
    use: [['schema', 'openapi'], /"\/accounts\/\{account_id\}\/edged\/probe"/],
  },
  'webhook event': {
    rows: [
      [
        'src/webhooks/payload-schema.ts',
        '/** Request body of a test delivery. */',
        `/** Request body of a probe. */
export const ProbePayload = Type.Object({ event_type: Type.Literal('webhook.probe') }, { ...strict, title: 'Webhook probe payload' })
export type ProbePayload = Static<typeof ProbePayload>\n\n`,
      ],
      [
        'src/webhooks/payload.ts',
        'import type { TestPayload,',
        "import type { ProbePayload } from './payload-schema.js'\n",
      ],
      [
        'src/webhooks/payload.ts',
        '/** Returns the body of a test delivery. */',
        `/** Returns the body of a probe. */
export function probePayload(): string {
  const payload: ProbePayload = { event_type: 'webhook.probe' }
  return JSON.stringify(payload)
}\n\n`,
      ],
      [
        'control/openapi/webhooks.ts',
        'import { TestPayload,',
        "import { ProbePayload } from '../../src/webhooks/payload-schema.js'\n",
      ],
      ['control/openapi/webhooks.ts', "  'webhook.test':", "  'webhook.probe': request('A probe', ProbePayload),\n"],
    ],
    page: ['docs/webhooks.md', 'A probe has `event_type: webhook.probe`.\n'],
    tests: ['test/webhooks/webhooks.test.ts', 'test/control/openapi/openapi.test.ts'],
    use: [['schema', 'openapi'], /"webhook\.probe"/],
  },
  'stored kind': {
    file: [
      'src/core/model/probe.ts',
      `import { kind } from '../store.js'
/** A number of a test. */
export const PROBES = kind<{ readonly count: number }>('probe')\n`,
    ],
    rows: [
      [
        'src/daemon/processes/replica.ts',
        'import { WORKER_DEPLOYMENTS',
        "import { PROBES } from '../../core/model/probe.js'\n",
      ],
      [
        'src/daemon/processes/replica.ts',
        '  WORKER_SCRIPTS,\n  WORKER_DEPLOYMENTS,\n  WORKER_VERSIONS,\n]',
        '  PROBES,\n',
      ],
      ['src/store/redis/emptied.ts', "  'acme_challenge',\n", "  'probe',\n"],
    ],
    tests: ['test/store/store.test.ts'],
  },
  'configuration option': {
    rows: [
      [
        'src/config/schema.ts',
        '        level: Type.Union(\n',
        "        probe: Type.Boolean({ default: false, description: 'An option of a test.' }),\n",
      ],
      ['src/daemon/config/changes.ts', "  'admin.listen': (", "  'log.probe': ({ log }) => log.probe,\n"],
    ],
    tests: ['test/config/config.test.ts'],
    use: [['schema', 'config', '--yaml'], /probe: false/],
  },
  command: {
    file: [
      'src/commands/probe.ts',
      `import type { DefineCommand } from './common/command.js'
/** \`edged probe\`: a word of a test. */
export const probe: DefineCommand = (command) => {
  command.action(() => void process.stdout.write('probed\\n'))
}\n`,
    ],
    rows: [
      [
        'src/cli.ts',
        "  ['test', 'run the tests",
        "  ['probe', 'print a word', async () => (await import('./commands/probe.js')).probe],\n",
      ],
    ],
    page: ['docs/configuration.md', '`edged probe` prints a word.\n'],
    tests: ['test/doc-names.test.ts'],
    use: [['probe'], /^probed\n$/],
  },
  'dashboard page': {
    file: [
      'ui/src/pages/probe/probe.tsx',
      `import { Page } from '../../parts/page.tsx'
/** A page of a test. */
export default function Probe() {
  return <Page>A page.</Page>
}\n`,
    ],
    rows: [
      [
        'ui/src/pages/index.ts',
        "  row('a', 'audit'",
        "  row('a', 'probe', 'Probe', 'Account', 'list', [], 'api.html', async () => await import('./probe/probe.tsx')),\n",
      ],
    ],
    tests: [],
  },
  migration: {
    file: [
      'src/store/migrations/004-probe.ts',
      `import type { Migration } from './migration.js'
export const probe: Migration = { name: 'probe', kinds: [], convert: (record) => [record] }\n`,
    ],
    rows: [
      ['src/store/migrations/index.ts', 'import type { MigratedRecord', "import { probe } from './004-probe.js'\n"],
      ['src/store/migrations/index.ts', ']\n\n/** Version of the form', ', probe'],
    ],
    tests: ['test/store/migrations.test.ts'],
  },
}

/** A pipeline with the new source. */
const PIPELINE = `source: { probe: true }
dataset: any
destination_conf: file:out
`

const run = async (cwd: string, ...args: readonly string[]): Promise<{ failed: boolean; out: string }> =>
  await new Promise((done) => {
    execFile(process.execPath, args, { cwd, maxBuffer: 64 * 1024 * 1024 }, (error, out, err) => {
      done({ failed: error !== null, out: out + err })
    })
  })

const edged = async (cwd: string, ...args: readonly string[]) =>
  await run(cwd, '--import', 'tsx', 'src/cli.ts', ...args)

async function add(t: Test, copy: string, name: string, { file, rows, page }: Addition): Promise<void> {
  if (file) {
    await mkdir(dirname(join(copy, file[0])), { recursive: true })
    await writeFile(join(copy, file[0]), file[1], { flag: 'wx' })
  }
  for (const [path, before, row] of rows) {
    const text = await readFile(join(copy, path), 'utf8')
    t.ok(text.includes(before), `${name}: ${path} has ${JSON.stringify(before)}`)
    await writeFile(
      join(copy, path),
      text.replace(before, () => row + before),
    )
  }
  if (page) await appendFile(join(copy, page[0]), `\n${page[1]}`)
}

/** Prints the files again that the schemas print. */
async function print(copy: string): Promise<void> {
  const config = await edged(copy, 'schema', 'config', '--yaml')
  await writeFile(join(copy, 'config/full.yaml'), config.out)
  const { out } = await edged(copy, 'schema', 'pipeline', '--markdown')
  const page = join(copy, 'docs/pipelines.md')
  const reference = out.slice(out.indexOf('### Members of a pipeline'))
  const text = await readFile(page, 'utf8')
  await writeFile(
    page,
    text.replace(
      /(<!-- reference -->\n)[^]*(<!-- \/reference -->)/,
      (_, start, end) => `${start}\n${reference}\n${end}`,
    ),
  )
}

t.test('one new thing of each type, added as CONTRIBUTING.md says, compiles and passes the near tests', async (t) => {
  const copy = mkdtempSync(join(tmpdir(), 'edged-contributing-'))
  t.teardown(() => rmSync(copy, { recursive: true }))
  // The packages are most of the files by far, and stay as they are.
  const filter = (path: string): boolean => basename(path) !== 'node_modules'
  for (const part of [...PARTS, ...FILES]) cpSync(part, join(copy, part), { recursive: true, filter })
  for (const packages of ['node_modules', 'test/peers/node_modules'])
    if (existsSync(packages)) symlinkSync(resolve(packages), join(copy, packages))
  await writeFile(join(copy, 'probe.yaml'), PIPELINE)
  for (const [name, addition] of Object.entries(ADDITIONS)) await add(t, copy, name, addition)
  await print(copy)
  for (const project of ['.', 'ui']) {
    const types = await run(copy, resolve('node_modules/typescript/bin/tsc'), '--noEmit', '-p', project)
    t.notOk(types.failed, types.out)
  }
  const tests = new Set(Object.values(ADDITIONS).flatMap((addition) => addition.tests))
  const { failed, out } = await run(copy, 'test/run.mjs', ...tests)
  t.notOk(failed, out)
  t.match(out, /\d+ files, \d+ passed, 0 failed/)
  for (const [name, { use }] of Object.entries(ADDITIONS)) {
    if (!use) continue
    const used = await edged(copy, ...use[0])
    t.notOk(used.failed, `${name}: ${used.out.slice(-2000)}`)
    t.match(used.out, use[1], name)
  }
})
