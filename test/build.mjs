import { mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { build } from 'esbuild'
import { glob } from 'tinyglobby'

const CODE = ['src', 'control', 'pipelines', 'sinks', 'test']
/** Linked into the build as they are, for tests that read them by relative paths. */
const LINKS = ['config', 'demo', 'dist', 'docs', 'README.md', 'test/fixtures', 'test/peers', 'test/bench']
const LINKED_FILES = ['test/**/*.{mjs,c,py}']
const UI_TESTS = 'test/ui/'
const IGNORE = ['**/node_modules/**']

const OPTIONS = {
  outbase: '.',
  format: 'esm',
  platform: 'node',
  target: 'node20',
  sourcemap: 'inline',
  sourcesContent: false,
  logLevel: 'warning',
}

/**
 * Converts all code, or the given files, to JavaScript in the folder `out`. It must be at the top, so that code finds
 * `package.json` as it does from `dist`.
 */
export async function convert(out, files) {
  const patterns = CODE.map((folder) => `${folder}/**/*.ts`)
  const all = files ?? (await glob(patterns, { ignore: IGNORE }))
  await build({ ...OPTIONS, outdir: out, entryPoints: all.filter((file) => !file.startsWith(UI_TESTS)) })
  // The dashboard is built by another tool and imports files by their own names, so its tests are bundled with the files that they import.
  const ofUi = all.filter((file) => file.startsWith(UI_TESTS))
  await build({ ...OPTIONS, outdir: out, entryPoints: ofUi, bundle: true, packages: 'external' })
}

/** Links the other files that tests read into `out`. */
export async function link(out) {
  const files = await glob(LINKED_FILES, { ignore: [...IGNORE, 'test/{bench,fixtures,peers}/**'] })
  for (const path of [...LINKS, ...files]) {
    const place = join(out, path)
    mkdirSync(dirname(place), { recursive: true })
    rmSync(place, { force: true })
    symlinkSync(join(process.cwd(), path), place)
  }
}
