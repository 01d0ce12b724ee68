/**
 * Compiles the scanner of Markdown conversion (`pipelines/markdown/scanner/assembly`) and writes it to `module.ts`, which is
 * committed: nothing else needs the compiler. `npm run scanner`; with `-- --check` it fails if the module is not made of its
 * sources, with `-- --hash` it prints their hash, which a test compares.
 */
import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

/** It has 100 MB, too much for `npm ci`: npm fetches it when it is used. */
const COMPILER = 'assemblyscript@0.28.20'
/** All addresses are given by the sources, and nothing is imported. */
const OPTIONS =
  '-O3 --noAssert --runtime stub --enable simd --memoryBase 0 --use abort= --initialMemory 10 --disableWarning 112'.split(
    ' ',
  )

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const FOLDER = join(ROOT, 'pipelines/markdown')
const MODULE = join(FOLDER, 'scanner/module.ts')

/** Returns a hash of everything that the module is made of. */
function hashOfSources() {
  const assembly = readdirSync(join(FOLDER, 'scanner/assembly')).sort()
  const files = [...assembly.map((file) => `scanner/assembly/${file}`), 'scanner/layout.ts', 'text/text-traits.ts']
  const hash = createHash('sha256').update([COMPILER, ...OPTIONS].join(' '))
  for (const file of files) hash.update(`\n${file}\n`).update(readFileSync(join(FOLDER, file)))
  return hash.digest('hex')
}

function compile() {
  const folder = mkdtempSync(join(tmpdir(), 'edged-scanner-'))
  const out = join(folder, 'module.wasm')
  const args = [
    'exec',
    '--yes',
    `--package=${COMPILER}`,
    '--',
    'asc',
    'scanner/assembly/index.ts',
    ...OPTIONS,
    '-o',
    out,
  ]
  const { status } = spawnSync('npm', args, { cwd: FOLDER, stdio: 'inherit' })
  if (status !== 0) process.exit(1)
  const module = readFileSync(out)
  rmSync(folder, { recursive: true })
  return module
}

const textOf = (module) => `// Written by \`npm run scanner\` from assembly/. Do not edit.

/** The hash of its sources, by which a test notices that it is not made of them. */
export const SOURCES = '${hashOfSources()}'

/** A WebAssembly module, in Base64. */
export const MODULE =
  '${module.toString('base64')}'
`

if (process.argv.includes('--hash')) console.log(hashOfSources())
else if (process.argv.includes('--check')) {
  if (readFileSync(MODULE, 'utf8') !== textOf(compile())) {
    console.error(`${MODULE} is not made of its sources: npm run scanner`)
    process.exit(1)
  }
} else writeFileSync(MODULE, textOf(compile()))
