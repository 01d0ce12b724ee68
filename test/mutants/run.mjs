/**
 * `npm run mutants [-- TEXT]`: removes guards of the code one by one, in the converted code alone, and names those that
 * no test notices. With TEXT: only guards whose file contains it. Exit code 1 if a guard was not noticed.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { transform } from 'esbuild'
import { convert, link } from '../build.mjs'

/** A folder of its own: `npm test` can run at the same time. */
const OUT = '.mutants'
const TIMEOUT_SECONDS = 180

process.chdir(fileURLToPath(new URL('../..', import.meta.url)))
await convert(OUT)
await link(OUT)
const { MUTANTS } = await import(new URL(`../../${OUT}/test/mutants/list.js`, import.meta.url).href)
const wanted = process.argv[2] ?? ''
const mutants = MUTANTS.filter(({ file }) => file.includes(wanted))

// A test that fails already would notice anything.
const failing = []
for (const test of new Set(mutants.map((mutant) => mutant.test))) if (!(await passes(test))) failing.push(test)
if (failing.length > 0) {
  console.error(`these tests fail without any change: ${failing.join(', ')}`)
  process.exit(1)
}

const unnoticed = []
for (const mutant of mutants) {
  const noticed = await isNoticed(mutant)
  const { file, text, test } = mutant
  const guard = `${file}: ${text.trim().split('\n')[0]}`
  console.log(`${noticed ? 'noticed    ' : 'NOT NOTICED'} ${guard}`)
  if (!noticed) unnoticed.push(`${guard} (${test})`)
}
console.log(`${mutants.length - unnoticed.length} of ${mutants.length} guards noticed`)
if (unnoticed.length > 0) console.log(['Not noticed:', ...unnoticed].join('\n  '))
process.exitCode = unnoticed.length > 0 ? 1 : 0

/** Whether the nearest test fails without the guard. */
async function isNoticed({ file, text, without, test }) {
  const source = readFileSync(file, 'utf8')
  if (source.split(text).length !== 2) throw new Error(`${file} must contain once: ${text}`)
  const built = join(OUT, file.replace(/\.ts$/, '.js'))
  const { code } = await transform(
    source.replace(text, () => without),
    { loader: 'ts', format: 'esm', target: 'node20' },
  )
  try {
    await writeFile(built, code)
    return !(await passes(test))
  } finally {
    await convert(OUT, [file])
  }
}

async function passes(test) {
  const program = join(OUT, test.replace(/\.ts$/, '.js'))
  const env = { ...process.env, TAP_BAIL: '1', TAP_TIMEOUT: String(TIMEOUT_SECONDS) }
  const child = spawn(process.execPath, ['--import=./test/helpers/fixed-seed.mjs', program], { env, stdio: 'ignore' })
  const timer = setTimeout(() => child.kill('SIGKILL'), TIMEOUT_SECONDS * 1000)
  const [code] = await once(child, 'close')
  clearTimeout(timer)
  return code === 0
}
