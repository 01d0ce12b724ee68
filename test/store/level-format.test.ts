import t from 'tap'
import { write, type Database, type Operation } from '../../src/store/level-format.js'

// A loss of power cannot be tested here, and a killed process loses nothing that the kernel has.
t.test('every write to the embedded database is synced', async (t) => {
  const calls: unknown[] = []
  const database = {
    async batch(...args: unknown[]) {
      calls.push(args)
    },
  } as unknown as Database
  const operations: Operation[] = [{ type: 'put', key: 'r', value: 'x' }]
  await write(database, operations)
  t.strictSame(calls, [[operations, { sync: true }]])
})
