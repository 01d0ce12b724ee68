/**
 * Packs `edged/markdown` as a package of its own: one module with the two small parsers that it uses inside, and its types.
 * `npm run package:markdown [-- FOLDER]` after `npm run build`. The same sources give the same bytes.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { copyDeclarations } from './declarations.mjs'
import { bundle, pack, ROOT } from './pack.mjs'
import { licenceTexts } from './third-party.mjs'

const LIBRARY = join(ROOT, 'dist/pipelines/markdown')

await pack(resolve(process.argv[2] ?? join(ROOT, 'dist-release')), async (folder) => {
  const packages = await bundle({ index: 'pipelines/markdown/index' }, { outdir: folder, splitting: false })
  copyDeclarations(['index'], LIBRARY, folder)
  writeFileSync(join(folder, 'README.md'), readme())
  writeFileSync(join(folder, 'LICENSE'), `${readFileSync(join(ROOT, 'LICENSE'), 'utf8')}\n${licenceTexts(packages)}`)
  return manifest()
})

function manifest() {
  const { version, license, author, engines } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return {
    name: '@edged/markdown',
    version,
    description: 'HTML to Markdown for agents, exactly as the edged proxy writes it',
    license,
    author,
    type: 'module',
    sideEffects: false,
    engines,
    exports: { '.': { types: './index.d.ts', default: './index.js' } },
  }
}

/** The part about the library in the manual, under the name of this package. */
function readme() {
  const manual = readFileSync(join(ROOT, 'docs/markdown.md'), 'utf8')
  const [, part = ''] = /\n## As a library\n([\s\S]*?```ts[\s\S]*?```\n)/.exec(manual) ?? []
  return `# @edged/markdown\n\nHTML to Markdown for agents.\n${part.replaceAll('edged/markdown', '@edged/markdown')}`
}
