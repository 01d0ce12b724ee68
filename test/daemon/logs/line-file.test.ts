import { execFileSync } from 'node:child_process'
import { closeSync, constants, openSync, readSync } from 'node:fs'
import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { LineFile } from '../../../src/daemon/logs/line-file.js'
import { LineOutput } from '../../../src/daemon/logs/line-output.js'
import { testFolder } from '../../helpers/folder.js'

const none = { dropped: () => {}, failed: () => {} }

t.test('every line is in a file after close, in order', async (t) => {
  const path = join(testFolder(t), 'access.log')
  const file = await LineFile.open(path, none)
  const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i} ${'x'.repeat(i % 300)}\n`)
  for (const line of lines) file.write(line)
  await file.close()
  t.equal(await readFile(path, 'utf8'), lines.join(''))

  const again = await LineFile.open(path, none)
  again.write('appended\n')
  await again.close()
  t.equal(await readFile(path, 'utf8'), `${lines.join('')}appended\n`)
})

t.test('after a rotation earlier lines are in the renamed file and later ones in the new one', async (t) => {
  const path = join(testFolder(t), 'access.log')
  const file = await LineFile.open(path, none)
  file.write('before\n')
  await rename(path, `${path}.1`)
  await file.reopen()
  file.write('after\n')
  await Promise.all([file.reopen(), file.reopen()])
  await file.close()
  t.equal(await readFile(`${path}.1`, 'utf8'), 'before\n')
  t.equal(await readFile(path, 'utf8'), 'after\n')
})

t.test('a disk that is full loses lines beyond a limit, counts them and stops nothing', async (t) => {
  let dropped = 0
  let failed = 0
  const file = await LineFile.open('/dev/full', { dropped: () => dropped++, failed: () => failed++ })
  const line = `${'x'.repeat(99_999)}\n`
  for (let i = 0; i < 200; i++) file.write(line)
  await file.close()
  t.ok(dropped > 50 && dropped < 200, `${dropped} lines dropped`)
  t.ok(failed > 0)
})

t.test('a file that cannot be created rejects', async (t) => {
  await t.rejects(LineFile.open(join(testFolder(t), 'missing', 'access.log'), none), { code: 'ENOENT' })
})

/** A pipe: its writing end, and a function that reads what is in it. */
function pipe(t: Test): { fd: number; read: () => string } {
  const path = join(testFolder(t), 'pipe')
  execFileSync('mkfifo', [path])
  const reader = openSync(path, constants.O_RDWR | constants.O_NONBLOCK)
  const fd = openSync(path, 'w')
  t.teardown(() => [reader, fd].forEach((one) => closeSync(one)))
  const space = Buffer.alloc(1024 * 1024)
  const read = (): string => {
    try {
      return space.toString('latin1', 0, readSync(reader, space))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return ''
      throw error
    }
  }
  return { fd, read }
}

/** Returns what is read from a pipe until a promise is settled. */
async function readUntil(settled: Promise<void>, read: () => string): Promise<string> {
  let found = ''
  const turn = (): Promise<'turn'> => new Promise((resolve) => setImmediate(resolve, 'turn'))
  const end = settled.then(() => 'end' as const)
  do found += read()
  while ((await Promise.race([end, turn()])) === 'turn')
  return found
}

t.test('a reader of standard output that stops makes nothing wait and loses no line within the limit', async (t) => {
  const { fd, read } = pipe(t)
  const output = new LineOutput(none, fd)
  const lines = Array.from({ length: 5000 }, (_, i) => `line ${i} ${'x'.repeat(i % 300)}\n`)
  for (const line of lines) output.write(line)
  const found = await readUntil(output.close(), read)
  t.ok(found + read() === lines.join(''))
})

t.test('lines beyond the limit are dropped and counted, and the others are whole', async (t) => {
  const { fd, read } = pipe(t)
  let dropped = 0
  const output = new LineOutput({ ...none, dropped: (lines) => (dropped += lines) }, fd)
  const line = `${'x'.repeat(9999)}\n`
  for (let i = 0; i < 2000; i++) output.write(line)
  t.ok(dropped > 500 && dropped < 2000, `${dropped} lines dropped`)
  const found = await readUntil(output.close(), read)
  t.ok(found + read() === line.repeat(2000 - dropped))
})
