import { fileURLToPath } from 'node:url'
import t from 'tap'
import { html5lib } from './html5lib.js'
import { ssrf } from './ssrf.js'
import { runSuite, type Case } from './suite.js'

t.test('destinations are accepted and rejected as the cases say', async (t) => {
  const lines: string[] = []
  const file = fileURLToPath(new URL('../fixtures/ssrf-cases.json', import.meta.url))
  const { passed, failed } = await runSuite(ssrf, file, (line) => lines.push(line))
  t.equal(failed, 0, lines.join('\n'))
  t.ok(passed > 50)
})

t.test('a suite without cases fails', async (t) => {
  const lines: string[] = []
  const suite = { name: 'empty', cases: (): Case[] => [] }
  t.same(await runSuite(suite, 'empty.json', (line) => lines.push(line)), { passed: 0, failed: 1 })
  t.same(lines, ['FAILED empty: no cases in empty.json', '0 passed, 1 failed'])
  t.equal((await runSuite(html5lib, t.testdir({}), () => {})).failed, 1, 'a folder without tests')
})

t.test('a case that throws fails, whatever it expects', async (t) => {
  const bad: Case = {
    name: 'throws',
    expected: undefined,
    got() {
      throw new Error('x')
    },
  }
  t.same(await runSuite({ name: 'one', cases: () => [bad] }, '', () => {}), { passed: 0, failed: 1 })
})
