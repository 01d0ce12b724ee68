/**
 * Writes the code of the validators of all schemas to `dist/src/validators`, a module for each schema. The daemon loads a module
 * at the first use of its schema. To compile a schema takes 30 times as long.
 */
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { transformSync } from 'esbuild'
import { ROOT, VALIDATORS } from './pack.mjs'

const FOLDER = join(ROOT, VALIDATORS)

rmSync(FOLDER, { recursive: true, force: true })
const { everySchema, writtenValidators } = await import('../dist/src/daemon/written-validators.js')
mkdirSync(FOLDER)
for (const [key, checked] of await everySchema()) {
  const { code } = transformSync(writtenValidators(checked), { minify: true, target: 'node20' })
  writeFileSync(join(FOLDER, `${key}.cjs`), code)
}
process.exit()
