/**
 * Builds the documentation that the control listener serves (`dist/docs`): pages of `docs` as HTML, the reference of the API
 * from its OpenAPI document, and the index of the search.
 */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { build } from 'esbuild'
import { globSync } from 'tinyglobby'

const ROOT = join(import.meta.dirname, '../..')
const FROM = join(ROOT, 'docs')
const TO = join(ROOT, 'dist/docs')
const MARK = join(ROOT, 'dist/.docs-built')
const SOURCES = ['ui/docs/**/*', 'docs/*.{md,svg,png}', 'docs/receivers/*', 'package-lock.json']
const MAX_OPENAPI_BYTES = 64 * 2 ** 20

const openapi = execFileSync(process.execPath, [join(ROOT, 'dist/src/cli.js'), 'schema', 'openapi'], {
  maxBuffer: MAX_OPENAPI_BYTES,
})

/** The same sources give the same files, so an unchanged build is skipped. */
const hash = createHash('sha256').update(openapi)
for (const file of globSync(SOURCES, { cwd: ROOT }).sort())
  hash.update(`${file}\0`).update(readFileSync(join(ROOT, file)))
const content = hash.digest('hex')

if (!existsSync(TO) || !existsSync(MARK) || readFileSync(MARK, 'utf8') !== content) {
  rmSync(MARK, { force: true })
  rmSync(TO, { recursive: true, force: true })
  mkdirSync(TO, { recursive: true })
  await writePages()
  await writeScripts()
  writeFileSync(MARK, content)
}

async function writePages() {
  const { site } = await import('./site.mjs')
  const names = readdirSync(FROM)
  const sources = names.filter((name) => name.endsWith('.md')).sort()
  const guides = sources.map((name) => [name.replace(/\.md$/, ''), readFileSync(join(FROM, name), 'utf8')])
  for (const [file, text] of site(guides, JSON.parse(openapi.toString()))) writeFileSync(join(TO, file), text)
  cpSync(join(FROM, 'receivers'), join(TO, 'receivers'), { recursive: true })
  for (const name of names) if (['.svg', '.png'].includes(extname(name))) copyFileSync(join(FROM, name), join(TO, name))
  for (const name of ['docs.css', 'logo.svg']) copyFileSync(join(import.meta.dirname, name), join(TO, name))
}

async function writeScripts() {
  const options = { absWorkingDir: ROOT, outdir: TO, bundle: true, target: 'es2022', minify: true, logLevel: 'warning' }
  // It runs before the page is drawn, so it is a classic script.
  await build({ ...options, entryPoints: ['ui/docs/client/early.ts'], format: 'iife' })
  const { metafile } = await build({
    ...options,
    entryPoints: ['ui/docs/client/main.ts'],
    format: 'esm',
    splitting: true,
    chunkNames: 'assets/[name]-[hash]',
    metafile: true,
  })
  const modules = Object.keys(metafile.inputs).flatMap((path) => /node_modules\/.*/.exec(path) ?? [])
  writeFileSync(join(ROOT, 'dist/docs-modules.json'), JSON.stringify(modules.sort()))
}
