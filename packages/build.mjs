/**
 * Builds the product in `dist`: the modules (only changed ones are compiled), the programs that join them, the dashboard and the
 * documentation. Does nothing if no source has changed since the last build, because even that takes seconds otherwise.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { globSync } from 'tinyglobby'

const ROOT = join(import.meta.dirname, '..')
const SOURCES = [
  '{src,pipelines,sinks,control,ui}/**/*',
  'packages/*.mjs',
  'docs/*.{md,svg,png}',
  'docs/receivers/*',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
]
const MARK = join(ROOT, 'dist/.built')
const PRODUCT = ['dist/src/cli.js', 'dist/ui/index.html', 'dist/docs/search.json']

const hash = createHash('sha256').update(process.version)
for (const file of globSync(SOURCES, { cwd: ROOT }).sort())
  hash.update(`${file}\0`).update(readFileSync(join(ROOT, file)))
const content = hash.digest('hex')

const isBuilt = PRODUCT.every((file) => existsSync(join(ROOT, file)))
if (!isBuilt || !existsSync(MARK) || readFileSync(MARK, 'utf8') !== content) {
  rmSync(MARK, { force: true })
  // What is missing would not be written again, because the compiler believes that it is there.
  if (!isBuilt) rmSync(join(ROOT, 'dist/.tsbuildinfo'), { force: true })
  run('node_modules/typescript/bin/tsc')
  run('packages/validators.mjs')
  run('packages/programs.mjs')
  run('ui/build.mjs')
  run('ui/docs/build.mjs')
  writeFileSync(MARK, content)
}
mkdirSync(join(ROOT, 'dist'), { recursive: true })
writeFileSync(join(ROOT, 'dist/commit'), commit())

function run(script) {
  try {
    execFileSync(process.execPath, [join(ROOT, script)], { cwd: ROOT, stdio: 'inherit' })
  } catch ({ status }) {
    process.exit(status ?? 1)
  }
}

/** Returns the commit that is built; a package without a repository has none. */
function commit() {
  try {
    return execFileSync('git', ['rev-parse', '--short=12', 'HEAD'], { cwd: ROOT, stdio: ['ignore', 'pipe', 'ignore'] })
      .toString()
      .trim()
  } catch {
    return process.env.EDGED_COMMIT ?? 'unknown'
  }
}
