import { readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { LineFile } from '../../src/daemon/line-file.js'
import { testFolder } from '../helpers/folder.js'

const none = { dropped: () => {}, failed: () => {} }

t.test('every line is in a file after close, in order', async (t) => {
  const path = join(testFolder(t), 'access.log')
  const file = await LineFile.open(path, none)
  const lines = Array.from({ length: 20_000 }, (_, i) => `line ${i} é\n`)
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
