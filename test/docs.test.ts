import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import t from 'tap'
import { globSync } from 'tinyglobby'
import { pipelineManual, stageTable } from '../src/config/pipeline-manual.js'
import { readYaml } from '../src/config/yaml.js'

const PAGES = ['README.md', 'CONTRIBUTING.md', 'ARCHITECTURE.md', ...globSync('docs/*.md')]

t.test('the README is short', async (t) => {
  t.ok(readFileSync('README.md', 'utf8').split('\n').length <= 150)
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
