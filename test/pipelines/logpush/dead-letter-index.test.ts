import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { DeadLetterIndex, type DeadLetterEntry } from '../../../pipelines/logpush/dead-letter-index.js'
import { silentLog } from '../../../src/core/log.js'
import { testFolder } from '../../helpers/folder.js'

const entry = (id: string, more: Partial<DeadLetterEntry> = {}): DeadLetterEntry => ({
  id,
  at: '2026-11-21T10:15:00.000Z',
  records: 2,
  bytes: 10,
  reason: 'refused',
  error: 'no',
  path: null,
  replayed_at: null,
  ...more,
})

t.test('a later entry replaces one with the same id, and damaged lines are left out', async (t) => {
  const folder = testFolder(t)
  const index = await DeadLetterIndex.open(join(folder, 'index'), silentLog)
  t.strictSame(await index.list('1'), [])
  await index.put('1', entry('a'))
  await index.put('1', entry('b', { error: 'x'.repeat(2000) }))
  await index.put('1', entry('a', { replayed_at: '2026-11-21T11:00:00.000Z' }))
  await index.put('2', entry('c'))
  t.strictSame(
    (await index.list('1')).map(({ id, error }) => [id, error.length]),
    [
      ['b', 500],
      ['a', 2],
    ],
  )
  t.equal(index.waiting('1'), 2)
  appendFileSync(join(folder, 'index', '1.ndjson'), '{"id":"cut')
  const again = await DeadLetterIndex.open(join(folder, 'index'), silentLog)
  t.equal(again.waiting('1'), 2)
  await again.put('1', entry('d'))
  t.strictSame(
    (await again.list('1')).map(({ id }) => id),
    ['d', 'b', 'a'],
    'the cut line does not damage the next one',
  )
  await again.remove('1')
  t.strictSame(await again.list('1'), [])
  t.equal(again.waiting('1'), 0)
  t.equal((await again.list('2')).length, 1)
})

t.test('the index of a job has a maximum size', async (t) => {
  const folder = testFolder(t)
  const path = join(folder, '1.ndjson')
  const lines = Array.from({ length: 2100 }, (_, at) => `${JSON.stringify(entry(`old-${at}`))}\n`)
  appendFileSync(path, lines.join(''))
  const index = await DeadLetterIndex.open(folder, silentLog)
  t.equal((await index.list('1')).length, 1000)
  await index.put('1', entry('new'))
  t.strictSame(
    (await index.list('1')).slice(0, 2).map(({ id }) => id),
    ['new', 'old-2099'],
  )
  t.equal(readFileSync(path, 'utf8').split('\n').length, 1001)
})

t.test('a folder that accepts no file loses the entry, not the records', async (t) => {
  const folder = testFolder(t)
  appendFileSync(join(folder, 'index'), '')
  const index = await DeadLetterIndex.open(join(folder, 'index'), silentLog)
  await index.put('1', entry('a'))
  t.equal(index.waiting('1'), 0)
})
