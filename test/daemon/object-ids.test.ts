import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { account } from '../../src/core/scope.js'
import { objectIds } from '../../src/daemon/workers/data-files.js'
import { testFolder } from '../helpers/folder.js'

t.test('the Durable Objects of a namespace are those with a file', async (t) => {
  const folder = testFolder(t)
  const scope = account('a'.repeat(32))
  t.same(await objectIds(folder, scope, 'n1'), [])
  const place = join(folder, scope.id, 'n1')
  await mkdir(place, { recursive: true })
  const ids = ['b', 'a'].map((digit) => digit.repeat(64))
  for (const name of [...ids.map((id) => `${id}.sqlite`), `${ids[0]}.sqlite-wal`, 'metadata.sqlite', 'other'])
    await writeFile(join(place, name), '')
  t.same(await objectIds(folder, scope, 'n1'), ids.toSorted())
})
