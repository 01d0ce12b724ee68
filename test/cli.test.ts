import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { programArgs } from './helpers/program.js'
import { testFolder } from './helpers/folder.js'

const ROOT = new URL('..', import.meta.url).href
const CLI = programArgs(new URL('../src/cli.ts', import.meta.url))

/** Runs edged and returns its output and the files of the package that it loaded. */
function edged(t: Test, ...args: string[]): { stdout: string; loaded: string[] } {
  const folder = testFolder(t, {})
  const env = { PATH: process.env['PATH'], NODE_V8_COVERAGE: folder }
  const stdout = execFileSync(process.execPath, [...CLI, ...args], { encoding: 'utf8', env })
  const reports = readdirSync(folder).map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Coverage)
  const urls = reports.flatMap(({ result }) => result.map(({ url }) => url))
  return { stdout, loaded: urls.filter((url) => url.startsWith(ROOT)).map((url) => url.slice(ROOT.length)) }
}

interface Coverage {
  result: { url: string }[]
}

for (const option of ['--version', '--help']) {
  t.test(`edged ${option} loads no command`, async (t) => {
    const { stdout, loaded } = edged(t, option)
    t.match(stdout, option === '--help' ? /^ {2}serve .*\n(?:.*\n)* {2}check /m : /^\d+\.\d+\.\d+\n$/)
    t.strictSame(
      loaded.filter(
        (file) => !/^(node_modules|src\/(cli|release\/package|core\/|commands\/common\/command\.))/.test(file),
      ),
      [],
    )
    t.ok(loaded.some((file) => file.startsWith('src/cli.')))
  })
}

t.test('help with the name of a command prints its options', async (t) => {
  t.match(edged(t, 'help', 'check').stdout, /--json/)
})
