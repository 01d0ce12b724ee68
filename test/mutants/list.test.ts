import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { MUTANTS } from './list.js'

t.test('every guard of the list is in its file once, and its test exists', async (t) => {
  t.ok(MUTANTS.length >= 40)
  const wrong = MUTANTS.filter(
    ({ file, text, test }) => readFileSync(file, 'utf8').split(text).length !== 2 || !existsSync(test),
  )
  t.strictSame(
    wrong.map(({ file, text }) => `${file}: ${text}`),
    [],
    'update the tables in test/mutants',
  )
  t.equal(new Set(MUTANTS.map(({ file, text }) => file + text)).size, MUTANTS.length)
})
