import t from 'tap'
import { write, type Database, type Operation } from '../../../src/store/level/format.js'

// A loss of power cannot be tested here, and a killed process loses nothing that the kernel has.
t.test('every write to the embedded database is one synced batch, which is released', async (t) => {
  const calls: unknown[] = []
  const note = (name: string) => (key: unknown, value?: unknown) => void calls.push([name, key, value])
  const batch = {
    put: note('put'),
    del: note('del'),
    write: async (options: unknown) => note('write')(options),
    close: async () => note('close')(undefined),
  }
  const database = { batch: () => batch } as unknown as Database
  const operations: Operation[] = [
    { type: 'put', key: 'r', value: 'x' },
    { type: 'del', key: 's' },
  ]
  await write(database, operations)
  t.strictSame(calls, [
    ['put', 'r', 'x'],
    ['del', 's', undefined],
    ['write', { sync: true }, undefined],
    ['close', undefined, undefined],
  ])
})
