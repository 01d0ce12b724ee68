/**
 * `npm test [-- PATH...]`: runs every test file outside of test/e2e, or those at the paths (files or folders), one
 * process per file. Everything is converted to JavaScript once, into `.build`: done in each process, this took more than
 * half of the CPU time of all tests.
 */
import { spawn } from 'node:child_process'
import { statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { Parser } from 'tap-parser'
import { glob } from 'tinyglobby'
import { convert, link } from './build.mjs'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
const OUT = '.build'
const TIMEOUT_SECONDS = 900
/** Characters shown of one diagnostic, such as the difference between two values. */
const MAX_DIAGNOSTIC = 4000
/** Time for a file to report what it was waiting for after its own timeout. */
const GRACE_SECONDS = 20
/** Maximum number of further runs of a failed file. A file that passes then is reported as flaky. */
const RETRIES = Number(process.env['EDGED_TEST_RETRIES'] ?? 0)
/** Maximum number of failed files to run again. With more, the tests are not flaky. */
const MAX_RETRIED = 3

process.chdir(ROOT)
const started = performance.now()
const files = await testFiles(process.argv.slice(2))
await convert(OUT)
await link(OUT)
const results = await runAll(files)
const flaky = await retry(results)
process.exitCode = report(results, flaky)

/** Returns the test files at `paths`, largest first, so that no long one begins last. */
async function testFiles(paths) {
  const wanted = paths.map((path) => path.replace(/^\.\//, '').replace(/\/$/, ''))
  const patterns = wanted.map((path) => (path.endsWith('.ts') ? path : `${path}/**/*.test.ts`))
  const found =
    wanted.length > 0
      ? await glob(patterns)
      : await glob(['test/**/*.test.ts'], { ignore: ['test/e2e/**', '**/node_modules/**'] })
  if (found.length === 0) {
    console.error(`no test files in ${wanted.join(', ')}; name files or folders, for example test/sinks`)
    process.exit(2)
  }
  return found.sort((a, b) => statSync(b).size - statSync(a).size)
}

async function runAll(files) {
  // Files wait for timers and browsers for a third of their time and more.
  const lanes = availableParallelism() + 1
  const waiting = [...files]
  const results = []
  const worker = async () => {
    for (let file = waiting.shift(); file !== undefined; file = waiting.shift()) {
      const result = await run(file)
      results.push(result)
      print(result)
    }
  }
  await Promise.all(Array.from({ length: lanes }, worker))
  return results
}

/** Runs failed files again. Puts the last result of each in place of the first; returns those that passed then. */
async function retry(results) {
  const failed = results.filter((result) => !isOk(result))
  if (failed.length > MAX_RETRIED) return []
  const flaky = []
  for (const first of failed) {
    for (let left = RETRIES; left > 0; left--) {
      console.log(`\nagain: ${first.file}`)
      const result = await run(first.file)
      print(result)
      results[results.findIndex(({ file }) => file === first.file)] = result
      if (!isOk(result)) continue
      flaky.push(first.file)
      break
    }
  }
  return flaky
}

/** Runs one file in a process of its own. */
async function run(file) {
  const began = performance.now()
  const program = join(OUT, file.replace(/\.ts$/, '.js'))
  const child = spawn(process.execPath, ['--enable-source-maps', '--import=./test/helpers/fixed-seed.mjs', program], {
    env: { TAP_TIMEOUT: String(TIMEOUT_SECONDS), ...process.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), (TIMEOUT_SECONDS + GRACE_SECONDS) * 1000)
  const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)))
  const [output, errors, status] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  clearTimeout(timer)
  const seconds = (performance.now() - began) / 1000
  return { file, output, errors, status, seconds, ...counted(output) }
}

/** Returns the checks of one file: how many passed, which failed, which were skipped. */
function counted(output) {
  const checks = Parser.parse(output, { flat: true }).flatMap(([event, check]) => (event === 'assert' ? [check] : []))
  return {
    passed: checks.filter(({ ok, skip }) => ok && !skip).length,
    failures: checks.filter(({ ok, skip, todo }) => !ok && !skip && !todo),
    skips: checks.filter(({ skip }) => skip),
  }
}

/** A file without any check has failed: nothing says that it ran. */
function isOk({ status, failures, passed, skips }) {
  return status === 0 && failures.length === 0 && passed + skips.length > 0
}

function print(result) {
  const { file, passed, failures, skips, seconds, output, errors, status } = result
  const counts = `${passed} passed${skips.length > 0 ? `, ${skips.length} skipped` : ''}`
  console.log(`${isOk(result) ? 'ok    ' : 'FAILED'} ${seconds.toFixed(1).padStart(5)} s  ${file}  ${counts}`)
  if (isOk(result)) return
  for (const { name, diag } of failures) {
    console.log(`  not ok: ${name}`)
    for (const [key, value] of Object.entries(diag ?? {})) {
      const shown = (typeof value === 'string' ? value.trimEnd() : JSON.stringify(value)).slice(0, MAX_DIAGNOSTIC)
      console.log(`    ${key}: ${shown.includes('\n') ? shown.replace(/^/gm, '      ').replace(/^/, '\n') : shown}`)
    }
  }
  if (failures.length === 0) {
    // A test that threw has no failed check of its own.
    const at = Math.max(output.search(/^ *not ok/m), 0)
    console.log(`  ended with ${status} after ${passed} checks\n${output.slice(at, at + MAX_DIAGNOSTIC)}`)
  }
  if (errors !== '') console.log(errors.slice(-8000).replace(/^/gm, '  | '))
}

/** Prints the totals, what was skipped and what passed only when it ran again; returns the exit code. */
function report(results, flaky) {
  const failed = results.filter((result) => !isOk(result))
  const skips = results.flatMap(({ file, skips }) => skips.map(({ name, skip }) => `${file}: ${name}: ${skip}`))
  const passed = results.reduce((sum, result) => sum + result.passed, 0)
  if (skips.length > 0) console.log(['', 'Skipped:', ...skips.map((skip) => `  ${skip}`)].join('\n'))
  if (failed.length > 0) console.log(['', 'Failed:', ...failed.map(({ file }) => `  ${file}`)].join('\n'))
  if (flaky.length > 0) console.log(['', 'Flaky, to be mended:', ...flaky.map((file) => `  ${file}`)].join('\n'))
  const seconds = (performance.now() - started) / 1000
  const totals = `${passed} passed, ${failed.reduce((sum, { failures }) => sum + Math.max(failures.length, 1), 0)} failed`
  console.log(`\n${results.length} files, ${totals}, ${skips.length} skipped, ${seconds.toFixed(0)} s`)
  return failed.length > 0 ? 1 : 0
}
