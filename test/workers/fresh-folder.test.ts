import { access, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { freshFolder } from '../../src/workers/runtime/fresh-folder.js'
import { testFolder } from '../helpers/folder.js'

t.test('the folder that a killed daemon left is deleted at the next start with its data folder', async (t) => {
  const data = testFolder(t)
  const left = await freshFolder(join(data, 'one'))
  const other = await freshFolder(join(data, 'other'))
  await writeFile(join(left, 'config.capnp'), 'a secret')
  const next = await freshFolder(join(data, 'one'))
  t.teardown(async () => await Promise.all([next, other].map(async (folder) => await rm(folder, { recursive: true }))))
  t.not(next, left)
  await t.rejects(access(left), { code: 'ENOENT' })
  await access(other)
})
