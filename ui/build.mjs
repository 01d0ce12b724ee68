/** Builds the dashboard that the control listener serves (`dist/ui`). */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, gzipSync } from 'node:zlib'
import { globSync } from 'tinyglobby'
import { build } from 'vite'

const ROOT = join(import.meta.dirname, '..')
const SOURCES = ['ui/*', 'ui/src/**/*', 'ui/docs/client/manual-index.ts', 'package.json']
const MARK = join(ROOT, 'dist/ui/.built')

const TEXT = /\.(js|css|html|svg|json)$/

/** The same sources give the same files, so an unchanged build is skipped: it takes seconds. */
const hash = createHash('sha256')
for (const file of globSync(SOURCES, { cwd: ROOT }).sort())
  hash.update(`${file}\0`).update(readFileSync(join(ROOT, file)))
const content = hash.digest('hex')

if (read(MARK) !== content) {
  const { output } = await build({ configFile: join(ROOT, 'ui/vite.config.mjs') })
  const modules = output.flatMap(({ moduleIds = [] }) => moduleIds.flatMap((id) => /node_modules\/.*/.exec(id) ?? []))
  writeFileSync(join(ROOT, 'dist/ui-modules.json'), JSON.stringify(modules.sort()))
  compress(join(ROOT, 'dist/ui'))
  writeFileSync(MARK, content)
}

/** Writes `FILE.br` and `FILE.gz` beside each file of text, so that the daemon need not. */
function compress(folder) {
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() || !TEXT.test(entry.name)) continue
    const file = join(entry.parentPath, entry.name)
    const body = readFileSync(file)
    writeFileSync(`${file}.br`, brotliCompressSync(body))
    writeFileSync(`${file}.gz`, gzipSync(body, { level: 9 }))
  }
}

function read(file) {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
