/**
 * Joins the code of a proxy process in `dist` to one file. To load its 900 files takes 0.6 s of processor time, to load one takes
 * half of it, and a process that ends is replaced by one that has loaded its code.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundle, ROOT } from './pack.mjs'

/** Has 373 files. Other packages have few, or load files by their own path. */
const JOINED = 'typebox'
const PROGRAM = 'src/daemon/processes/main'

const { dependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
await bundle({
  entryPoints: [`${PROGRAM}.ts`],
  outfile: `dist/${PROGRAM}.js`,
  external: Object.keys(dependencies).filter((name) => name !== JOINED),
  sourcemap: true,
})
