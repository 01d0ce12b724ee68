/** Builds the dashboard that the control listener serves (`dist/ui`). */
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { globSync } from 'tinyglobby'
import { build } from 'vite'

const ROOT = join(import.meta.dirname, '..')
const SOURCES = ['ui/*', 'ui/src/**/*', 'package.json']
const MARK = join(ROOT, 'dist/ui/.built')

/** The same sources give the same files, so an unchanged build is skipped: it takes seconds. */
const hash = createHash('sha256')
for (const file of globSync(SOURCES, { cwd: ROOT }).sort())
  hash.update(`${file}\0`).update(readFileSync(join(ROOT, file)))
const content = hash.digest('hex')

if (read(MARK) !== content) {
  const { output } = await build({ configFile: join(ROOT, 'ui/vite.config.mjs') })
  const modules = output.flatMap(({ moduleIds = [] }) => moduleIds.flatMap((id) => /node_modules\/.*/.exec(id) ?? []))
  writeFileSync(join(ROOT, 'dist/ui-modules.json'), JSON.stringify(modules.sort()))
  writeFileSync(MARK, content)
}
function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
