/**
 * `npm test [-- PATH...]`: runs every test file outside of test/e2e, or those at the paths (files or folders). A few files of
 * one folder share a process, because loading the product takes half of the CPU time of a file. If one of these files fails,
 * each of them runs again in a process of its own. A file with a comment `// Alone: REASON` never shares a process.
 *
 * Everything is converted to JavaScript once, into `.build`: done in each process, this took more than half of the CPU time
 * of all tests.
 */
import { spawn } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { dirname, join } from 'node:path'
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
/** Folders whose files have processes of their own: the files start processes, and load little. */
const SEPARATE = /^test\/(e2e|ui|workers|simulator|peers|mutants)\//
const ALONE = /^\/\/ Alone: /m
/** Maximum number and size in bytes of files that share a process. */
const SHARED_FILES = 6
const SHARED_BYTES = 80_000

process.chdir(ROOT)
let runs = 0
const started = performance.now()
const files = await testFiles(process.argv.slice(2))
await convert(OUT)
await link(OUT)
const results = await runAll(grouped(files))
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

/** Returns lists of files that share a process, in the order of their first files. */
function grouped(files) {
  const groups = []
  const open = new Map()
  for (const file of files) {
    if (SEPARATE.test(file) || ALONE.test(readFileSync(file, 'utf8'))) {
      groups.push([file])
      continue
    }
    const { size } = statSync(file)
    let group = open.get(dirname(file))
    if (!group || group.files.length === SHARED_FILES || group.size + size > SHARED_BYTES) {
      group = { files: [], size: 0 }
      open.set(dirname(file), group)
      groups.push(group.files)
    }
    group.files.push(file)
    group.size += size
  }
  return groups
}

async function runAll(groups) {
  // Files wait for timers and browsers for a third of their time and more.
  const lanes = availableParallelism() + 1
  const waiting = [...groups]
  const results = []
  const worker = async () => {
    for (let files = waiting.shift(); files !== undefined; files = waiting.shift()) {
      const result = await run(files)
      print(result)
      if (files.length === 1 || isOk(result)) results.push(result)
      // Which file failed, and whether it fails by itself, is seen when each runs alone.
      else waiting.unshift(...files.map((file) => [file]))
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
    let last = first
    for (let left = RETRIES; left > 0; left--) {
      console.log(`\nagain: ${nameOf(first)}`)
      const result = await run(first.files)
      print(result)
      results[results.indexOf(last)] = result
      last = result
      if (!isOk(result)) continue
      flaky.push(nameOf(first))
      break
    }
  }
  return flaky
}

/** Runs files, one after the other, in a process of their own. */
async function run(files) {
  const began = performance.now()
  const programs = files.map((file) => join(OUT, file.replace(/\.ts$/, '.js')))
  // Folders of tests have the names of the arguments, so they are short and differ.
  const args = files.length === 1 ? programs : ['test/helpers/in-turn.mjs', String((runs += 1))]
  const child = spawn(process.execPath, ['--enable-source-maps', '--import=./test/helpers/fixed-seed.mjs', ...args], {
    env: { TAP_TIMEOUT: String(TIMEOUT_SECONDS), ...process.env, EDGED_TEST_FILES: programs.join('\n') },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const timer = setTimeout(() => child.kill('SIGKILL'), (TIMEOUT_SECONDS + GRACE_SECONDS) * 1000)
  const ended = new Promise((resolve) => child.once('close', (code, signal) => resolve(code ?? signal)))
  const [output, errors, status] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  clearTimeout(timer)
  const seconds = (performance.now() - began) / 1000
  return { files, output, errors, status, seconds, ...counted(output) }
}

/** Returns the checks of a process: how many passed, which failed, which were skipped. */
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

/** Returns the name of a process in reports: its files. */
function nameOf({ files }) {
  return files.join(' ')
}

function print(result) {
  const { passed, failures, skips, seconds, output, errors, status } = result
  const counts = `${passed} passed${skips.length > 0 ? `, ${skips.length} skipped` : ''}`
  console.log(`${isOk(result) ? 'ok    ' : 'FAILED'} ${seconds.toFixed(1).padStart(5)} s  ${nameOf(result)}  ${counts}`)
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
  const skips = results.flatMap((result) => result.skips.map(({ name, skip }) => `${nameOf(result)}: ${name}: ${skip}`))
  const passed = results.reduce((sum, result) => sum + result.passed, 0)
  if (skips.length > 0) console.log(['', 'Skipped:', ...skips.map((skip) => `  ${skip}`)].join('\n'))
  if (failed.length > 0) console.log(['', 'Failed:', ...failed.map((result) => `  ${nameOf(result)}`)].join('\n'))
  if (flaky.length > 0) console.log(['', 'Flaky, to be mended:', ...flaky.map((file) => `  ${file}`)].join('\n'))
  const seconds = (performance.now() - started) / 1000
  const totals = `${passed} passed, ${failed.reduce((sum, { failures }) => sum + Math.max(failures.length, 1), 0)} failed`
  console.log(`\n${files.length} files, ${totals}, ${skips.length} skipped, ${seconds.toFixed(0)} s`)
  return failed.length > 0 ? 1 : 0
}
