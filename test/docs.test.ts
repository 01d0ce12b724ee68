import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { globSync } from 'tinyglobby'
import { SETTINGS } from '../control/zones/setting-types.js'
import { pipelineManual, stageTable } from '../src/config/pipeline-manual.js'
import { readYaml } from '../src/config/yaml.js'
import { setCacheSettings } from '../src/rules/actions/set-cache-settings.js'
import { setConfig } from '../src/rules/actions/set-config.js'

const PAGES = [
  'README.md',
  'CONTRIBUTING.md',
  'ARCHITECTURE.md',
  'SECURITY.md',
  ...globSync(['docs/*.md', 'docs/architecture/*.md']),
]

t.test('the README is short', async (t) => {
  t.ok(readFileSync('README.md', 'utf8').split('\n').length <= 150)
})

t.test('each page of the architecture is short, and has its decisions', async (t) => {
  const pages = globSync('docs/architecture/*.md')
  t.ok(pages.length > 10)
  const overview = readFileSync('ARCHITECTURE.md', 'utf8')
  for (const page of pages) {
    const text = readFileSync(page, 'utf8')
    t.ok(overview.includes(`(${page})`), `ARCHITECTURE.md leads to ${page}`)
    t.ok(text.split('\n').length <= 151, `${page} has at most 150 lines`)
    t.match(text, /^## Decisions$/m, `${page} has decisions`)
  }
})

t.test('links between pages lead to files', async (t) => {
  for (const page of PAGES) {
    const text = readFileSync(page, 'utf8').replaceAll(/^```.*?^```$/gms, '')
    for (const [, target = ''] of text.matchAll(/\]\(([^)\s]+)\)/g)) {
      if (/^[a-z]+:/.test(target)) continue
      t.ok(existsSync(join(dirname(page), target.replace(/#.*/, ''))), `${page}: ${target}`)
    }
  }
})

/** Returns an environment with the variables that a text names. */
const namedIn = (text: string) =>
  Object.fromEntries([...text.matchAll(/\$\{(\w+)\}/g)].map(([, name = '']) => [name, 'x']))

t.test('configuration in the documentation is YAML', async (t) => {
  for (const page of PAGES)
    for (const [, text = ''] of readFileSync(page, 'utf8').matchAll(/^```yaml\n(.*?)^```$/gms))
      t.doesNotThrow(() => readYaml(text, page, namedIn(text)), `${page}: ${text.slice(0, 60)}`)
})

t.test('the documentation has the reference of pipelines that the schemas print', async (t) => {
  const page = readFileSync('docs/pipelines.md', 'utf8')
  const part = (name: string) => new RegExp(`<!-- ${name} -->\\n([^]*)<!-- /${name} -->`).exec(page)?.[1] ?? ''
  // Without the padding of columns and the breaks of lines.
  const plain = (text: string) => text.trim().replaceAll(/\s+/g, ' ').replaceAll(/-{3,}/g, '---')
  t.equal(plain(part('stages')), plain(stageTable()), 'run: edged schema pipeline --markdown')
  t.equal(plain(part('reference')), plain(pipelineManual()), 'run: edged schema pipeline --markdown')
})

/** Returns the words in backticks of a row in docs/no-effect.md. */
function namesOf(row: string): Set<string> {
  const line = readFileSync('docs/no-effect.md', 'utf8')
    .split('\n')
    .find((one) => one.startsWith(`| ${row} `))
  return new Set([...(line?.split('|')[2] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name))
}

t.test('the documentation lists the settings of zones that act', async (t) => {
  const names = namesOf('Zone settings')
  for (const { id, schema, hasEffect } of SETTINGS.values()) {
    const { enum: values = [undefined] } = schema as { readonly enum?: readonly unknown[] }
    t.equal(names.has(id), values.some(hasEffect), id)
  }
})

t.test('the documentation lists the members of set_config and set_cache_settings that act', async (t) => {
  const acting = namesOf('`set_config`')
  for (const [name, schema] of Object.entries(setConfig.params.properties)) {
    const { enum: values = [true] } = schema as { readonly enum?: readonly unknown[] }
    const acts = values.some((value) => setConfig.inert({ [name]: value }).length === 0)
    t.equal(acting.has(name), acts, name)
  }
  const inert = namesOf('`set_cache_settings`')
  for (const name of Object.keys(setCacheSettings.params.properties))
    t.equal(inert.has(name), setCacheSettings.inert({ [name]: true }).length > 0, name)
})
