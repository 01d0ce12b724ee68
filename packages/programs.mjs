/**
 * Joins the code of the command in `dist`, of a proxy process and of the thread that reads uploads to a few modules. To load
 * its 1,500 files takes a second of processor time, to load the modules half of it: at each start, and for each process that
 * replaces one.
 */
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { bundle, PROGRAMS, ROOT } from './pack.mjs'

const FOLDER = join(ROOT, 'dist/src')

/** Modules of an earlier build: their names end in a hash of their code. */
const SHARED = /-[A-Z0-9]{8}\.js(?:\.map)?$/

for (const name of readdirSync(FOLDER).filter((file) => SHARED.test(file))) rmSync(join(FOLDER, name))
await bundle(PROGRAMS, {
  outdir: FOLDER,
  // Finds its compiled part by its own path.
  external: ['classic-level'],
  sourcemap: true,
})
