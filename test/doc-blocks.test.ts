import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse, stringify } from 'yaml'
import { readConfig } from '../src/config/load.js'
import { readPipelines } from '../src/config/pipeline-file.js'
import { systemClock as clock } from '../src/core/clock.js'
import { silentLog as log } from '../src/core/log.js'
import { destinationChecks } from '../src/daemon/pipelines/destinations.js'
import { check } from '../src/expr/index.js'
import { DATASETS } from '../pipelines/records/index.js'
import { BLOCKS, blocksTested, howOf, type Block } from './helpers/doc-blocks.js'
import { testFolder } from './helpers/folder.js'

const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = { id: '9f1839b6152d298aca64c4e906b6d074', account: ACCOUNT, name: 'example.test', origin: 'demo' }

const nameOf = ({ page, line }: Block): string => `${page}:${line}`

t.test('every block of the documentation is tested, or says why not', async (t) => {
  t.ok(BLOCKS.length > 60)
  for (const block of BLOCKS) {
    const how = howOf(block)
    const where = `${nameOf(block)}: add a row for ${block.heading}, ${block.language} to test/helpers/doc-blocks.ts`
    if (how === undefined) t.fail(where)
    else if (typeof how === 'object' && 'by' in how)
      t.ok(existsSync(how.by) && readFileSync(how.by, 'utf8').includes(block.page), `${how.by} reads ${block.page}`)
    else if (typeof how === 'object') t.comment(`${nameOf(block)} is not run: ${how.not}`)
  }
})

/** Returns an environment with the variables that a text names. */
const namedIn = (text: string) =>
  Object.fromEntries([...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, 'x']))

type Members = Record<string, unknown>

/** Returns a whole configuration: the options of a block, and what every configuration has if the page leaves it out. */
function whole(text: string): string {
  const ids = text.replaceAll('YOUR_ACCOUNT_ID', ACCOUNT).replaceAll('YOUR_ZONE_ID', ZONE.id)
  const { zones, ...options } = parse(ids) as Members & { zones?: (Members | null)[] }
  const completed = zones?.map((zone) => {
    if (zone?.['id'] !== undefined) return zone
    const { origin: _, ...rest } = ZONE
    const own = zone?.['origins'] ?? zone?.['root']
    return { ...(own === undefined ? ZONE : rest), ...zone }
  })
  return stringify({
    ...(zones !== undefined && { accounts: [{ id: ACCOUNT, name: 'Example' }], zones: completed }),
    ...options,
  })
}

t.test('configurations of the documentation are valid', async (t) => {
  const blocks = blocksTested('config')
  t.ok(blocks.length > 10)
  for (const block of blocks)
    t.doesNotThrow(() => readConfig(whole(block.text), '/edged/edged.yaml', namedIn(block.text)), nameOf(block))
})

t.test('pipelines of the documentation are valid', async (t) => {
  const checks = { ...destinationChecks({ clock, log }), locator: () => () => undefined }
  const output = "dataset: any\ndestination_conf: 'stdout:'\n"
  const sources = blocksTested('source').map((block) => ({ ...block, text: block.text + output }))
  t.ok(sources.length > 2)
  for (const block of [...blocksTested('pipeline'), ...sources])
    t.doesNotThrow(() => readPipelines(block.text, '/edged/p.yaml', checks, namedIn(block.text)), nameOf(block))
})

t.test('expressions of the documentation are valid', async (t) => {
  for (const block of blocksTested('expressions'))
    for (const line of block.text.trim().split('\n')) {
      const expression = line.replace(/\s{2,}#.*/, '')
      t.match(check(expression), { error: undefined }, `${nameOf(block)}: ${expression}`)
    }
})

t.test('records of the documentation have fields of their dataset', async (t) => {
  const fields = DATASETS.get('http_requests')!.fields
  for (const block of blocksTested('records'))
    for (const line of block.text
      .trim()
      .split('\n')
      .filter((one) => one !== '...'))
      for (const name of Object.keys(JSON.parse(line) as object)) t.ok(name in fields, `${nameOf(block)}: ${name}`)
})

interface Package {
  readonly version: string
  readonly scripts: Readonly<Record<string, string>>
}

t.test('scripts and releases that the documentation names exist', async (t) => {
  const { scripts, version } = JSON.parse(readFileSync('package.json', 'utf8')) as Package
  const menus: Record<string, string> = {
    bench: readFileSync('test/bench/run.mjs', 'utf8'),
    drills: readFileSync('test/drills/run.mjs', 'utf8'),
    conformance: readFileSync('test/conformance/run.ts', 'utf8'),
  }
  for (const block of BLOCKS)
    for (const [, script = '', , argument] of block.text.matchAll(/\bnpm run ([\w:-]+)( -- ([a-z]\w*))?/g)) {
      t.ok(script in scripts, `${nameOf(block)}: npm run ${script}`)
      if (argument !== undefined) t.match(menus[script], argument, `${nameOf(block)}: npm run ${script} -- ${argument}`)
    }
  for (const block of BLOCKS)
    for (const [, found] of block.text.matchAll(/edged-(\d[\w.]*)\.tgz/g)) t.equal(found, version, nameOf(block))
})

/** Checks of other servers' configurations by the name in the comment of their first line. */
const SERVERS: Readonly<Record<string, readonly [command: string, version: string, args: (file: string) => string[]]>> =
  {
    Caddyfile: ['caddy', 'version', (file) => ['validate', '--adapter', 'caddyfile', '--config', file]],
    nginx: ['nginx', '-v', (file) => ['-t', '-q', '-c', file]],
  }

for (const block of blocksTested('server')) {
  const [, name = ''] = /^# (\w+)\n/.exec(block.text) ?? []
  const [command, version, args] = SERVERS[name] ?? ['', '', () => []]
  const skip = spawnSync(command, [version]).error !== undefined && `${command} is not installed`
  t.test(`the configuration of ${name} is valid`, { skip }, async (t) => {
    const folder = testFolder(t)
    const file = join(folder, name)
    const nginx = `pid ${folder}/pid;\nerror_log stderr;\nevents {}\nhttp { access_log off; server { listen 127.0.0.1:1;\n${block.text}} }\n`
    writeFileSync(file, name === 'nginx' ? nginx : block.text)
    const { status, stdout, stderr } = spawnSync(command, args(file), {
      encoding: 'utf8',
      env: { ...process.env, HOME: folder },
    })
    t.equal(status, 0, `${stdout}${stderr}`)
  })
}
