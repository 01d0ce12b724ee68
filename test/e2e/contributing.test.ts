import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { appendFile, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'

/** The parts of the repository that its unit tests need. */
const PARTS = ['src', 'control', 'pipelines', 'sinks', 'test', 'docs', 'config', 'demo', 'packages']
const FILES = ['package.json', 'tsconfig.json', '.oxlintrc.json', 'README.md', 'ARCHITECTURE.md', 'CONTRIBUTING.md']

/** A new thing as CONTRIBUTING.md says: one file, and rows in tables. */
interface Addition {
  readonly file?: readonly [path: string, content: string]
  /** Text that is inserted before a text of a file. */
  readonly rows: readonly (readonly [path: string, before: string, row: string])[]
  /** Text at the end of a page of the documentation. */
  readonly page?: readonly [path: string, text: string]
  readonly tests: readonly string[]
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

const run = async (cwd: string, ...args: string[]): Promise<{ failed: boolean; out: string }> =>
  await new Promise((done) => {
    execFile(process.execPath, args, { cwd, maxBuffer: 64 * 1024 * 1024 }, (error, out, err) => {
      done({ failed: error !== null, out: out + err })
    })
  })

t.test('one new thing of each type, added as CONTRIBUTING.md says, compiles and passes the near tests', async (t) => {
  const copy = mkdtempSync(join(tmpdir(), 'edged-contributing-'))
  t.teardown(() => rmSync(copy, { recursive: true }))
  for (const part of [...PARTS, ...FILES]) cpSync(part, join(copy, part), { recursive: true })
  symlinkSync(resolve('node_modules'), join(copy, 'node_modules'))
  const tests = new Set<string>()
  for (const [name, { file, rows, page, tests: near }] of Object.entries(ADDITIONS)) {
    if (file) await writeFile(join(copy, file[0]), file[1], { flag: 'wx' })
    for (const [path, before, row] of rows) {
      const text = await readFile(join(copy, path), 'utf8')
      t.ok(text.includes(before), `${name}: ${path} has ${JSON.stringify(before)}`)
      await writeFile(
        join(copy, path),
        text.replace(before, () => row + before),
      )
    }
    if (page) await appendFile(join(copy, page[0]), `\n${page[1]}`)
    for (const test of near) tests.add(test)
  }
  const types = await run(copy, resolve('node_modules/typescript/bin/tsc'), '--noEmit', '-p', '.')
  t.notOk(types.failed, types.out)
  const { failed, out } = await run(copy, 'test/run.mjs', ...tests)
  t.notOk(failed, out)
  t.match(out, /\d+ files, \d+ passed, 0 failed/)
})
