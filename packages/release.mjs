/**
 * Packs the daemon as releases have it: all code in a few modules, so that `npx` installs one package.
 * `npm run package [-- FOLDER]` after `npm run build`. The same sources give the same bytes.
 */
import { copyFileSync, cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { copyDeclarations } from './declarations.mjs'
import { bundle, pack, packagesOf, PROGRAMS, ROOT, VALIDATORS } from './pack.mjs'
import { licenceTexts, materials } from './third-party.mjs'

const DIST = join(ROOT, 'dist')

/** Modules that others import, by the name that they have in the package. */
const LIBRARIES = {
  markdown: 'pipelines/markdown/index',
  expr: 'src/expr/index',
  records: 'pipelines/records/index',
  plugin: 'src/plugins/index',
}

/** Read while the daemon runs, or by people. */
const FILES = ['config', 'demo', 'docs', 'dist/ui', 'dist/docs', 'dist/commit', VALIDATORS]
const TEXTS = ['README.md', 'ARCHITECTURE.md', 'SECURITY.md', 'CHANGELOG.md', 'CONTRIBUTING.md', 'LICENSE']

/** Machines for which the package has the compiled part of the store. */
const MACHINES = /^(?:linux|darwin|win32-x64)/

const to = resolve(process.argv[2] ?? join(ROOT, 'dist-release'))
const ours = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
let packages = []
const tarball = await pack(to, async (folder) => {
  // In one folder, so that modules find the compiled part of the store and the files of the package too.
  const bundled = await bundle({ ...PROGRAMS, ...LIBRARIES }, { outdir: join(folder, 'dist/src') })
  const pages = ['ui-modules.json', 'docs-modules.json'].flatMap((name) =>
    JSON.parse(readFileSync(join(DIST, name), 'utf8')),
  )
  packages = packagesOf([...bundled, ...pages])
  copyPrebuilt(join(folder, 'dist/src/prebuilds'))
  copyDeclarations(Object.values(LIBRARIES), DIST, join(folder, 'dist'))
  for (const path of FILES) cpSync(join(ROOT, path), join(folder, path), { recursive: true, filter: isShipped })
  for (const name of TEXTS) copyFileSync(join(ROOT, name), join(folder, name))
  writeFileSync(join(folder, 'THIRD-PARTY.txt'), licenceTexts(packages))
  return manifest()
})
const list = join(to, `${basename(tarball, '.tgz')}.cdx.json`)
writeFileSync(list, `${JSON.stringify(materials(packages, tarball), undefined, 2)}\n`)
console.log(`${list}: ${packages.length} packages`)

function copyPrebuilt(folder) {
  const from = join(ROOT, 'node_modules/classic-level/prebuilds')
  for (const machine of readdirSync(from).filter((name) => MACHINES.test(name)))
    cpSync(join(from, machine), join(folder, machine), { recursive: true })
}

function isShipped(path) {
  return !/\/docs\/screenshots$|\/\.built$/.test(path)
}

function manifest() {
  const { name, version, description, license, author, type, engines, bin, optionalDependencies } = ours
  return {
    name,
    version,
    description,
    license,
    author,
    type,
    engines,
    bin,
    exports: Object.fromEntries(
      Object.entries(LIBRARIES).map(([name, path]) => [
        `./${name}`,
        { types: `./dist/${path}.d.ts`, default: `./dist/src/${name}.js` },
      ]),
    ),
    // The runtime of Workers is 30 times as large as all the rest: whoever runs Workers installs it too.
    peerDependencies: optionalDependencies,
    peerDependenciesMeta: Object.fromEntries(
      Object.keys(optionalDependencies).map((other) => [other, { optional: true }]),
    ),
  }
}
