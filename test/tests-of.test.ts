import { spawnSync } from 'node:child_process'
import t from 'tap'

/** Runs `npm run tests-of` without npm; returns its lines and status. */
function testsOf(...files: string[]) {
  const { stdout, stderr, status } = spawnSync(process.execPath, ['test/tests-of.mjs', ...files], {
    encoding: 'utf8',
    env: { ...process.env, INIT_CWD: process.cwd() },
  })
  return { lines: stdout.trimEnd().split('\n'), stderr, status }
}

t.test('tests-of prints the tests that import a file, the nearest first', async (t) => {
  const { lines, status } = testsOf('src/core/schedule/cron.ts')
  t.equal(status, 0)
  t.equal(lines[0], 'src/core/schedule/cron.ts')
  const distances = lines.slice(1).flatMap((line) => /through (\d+) file/.exec(line)?.[1] ?? [])
  t.ok(
    lines.some((line) => line.trim().startsWith('test/')),
    'tests are found',
  )
  t.strictSame(
    distances.map(Number),
    [...distances].map(Number).sort((a, b) => a - b),
  )
})

t.test('a file that only end-to-end tests reach is found by its name', async (t) => {
  const { lines } = testsOf('src/commands/tail.ts')
  t.ok(lines.some((line) => line.includes('test/e2e/tail.test.ts')))
})

t.test('a file that does not exist is an error with its name', async (t) => {
  const { stderr, status } = testsOf('src/core/no-such-file.ts')
  t.equal(status, 2)
  t.match(stderr, 'src/core/no-such-file.ts does not exist')
})
