/**
 * Packs `edged/markdown` as a package of its own: one module with the two small parsers that it uses inside, and its types.
 * `npm run package:markdown [-- FOLDER]` after `npm run build`. The same sources give the same bytes.
 */
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { build } from 'esbuild'

const ROOT = join(import.meta.dirname, '..')
const LIBRARY = join(ROOT, 'dist/pipelines/markdown')
const PARSERS = ['entities', 'sax']

const to = resolve(process.argv[2] ?? join(ROOT, 'dist'))
const folder = mkdtempSync(join(tmpdir(), 'edged-markdown-'))
try {
  await bundle()
  for (const file of typesOf('index')) copy(`${file}.d.ts`)
  writeFileSync(join(folder, 'package.json'), `${JSON.stringify(manifest(), undefined, 2)}\n`)
  writeFileSync(join(folder, 'README.md'), readme())
  writeFileSync(join(folder, 'LICENSE'), licences())
  mkdirSync(to, { recursive: true })
  const printed = execFileSync('npm', ['pack', '--json', '--pack-destination', to], { cwd: folder, stdio: 'pipe' })
  const [{ filename, unpackedSize }] = JSON.parse(String(printed))
  const file = join(to, filename.replace('@', '').replace('/', '-'))
  console.log(`${file}: ${statSync(file).size} bytes, ${unpackedSize} unpacked, no dependencies`)
} finally {
  rmSync(folder, { recursive: true })
}

async function bundle() {
  await build({
    entryPoints: [join(LIBRARY, 'index.js')],
    outfile: join(folder, 'index.js'),
    bundle: true,
    format: 'esm',
    platform: 'node',
    target: 'node20',
    legalComments: 'none',
    logLevel: 'warning',
    // `sax` is a CommonJS module and loads modules of Node.js.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  })
}

/** Returns the declarations that one of them needs, itself included. */
function typesOf(name, known = new Set()) {
  if (known.has(name)) return known
  known.add(name)
  const text = readFileSync(join(LIBRARY, `${name}.d.ts`), 'utf8')
  for (const [, path] of text.matchAll(/from '(\.[^']*)\.js'/g)) typesOf(join(dirname(name), path), known)
  return known
}

function copy(file) {
  mkdirSync(dirname(join(folder, file)), { recursive: true })
  copyFileSync(join(LIBRARY, file), join(folder, file))
}

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

function licences() {
  const own = readFileSync(join(ROOT, 'LICENSE'), 'utf8')
  const others = PARSERS.map((name) => {
    const file = name === 'sax' ? 'LICENSE.md' : 'LICENSE'
    return `\n--- ${name}, which is part of index.js ---\n\n${readFileSync(join(ROOT, 'node_modules', name, file), 'utf8')}`
  })
  return own + others.join('')
}
