/** The file with the name of the data of an account. */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { HOME_FILE, nameHome, readHome } from '../../../src/daemon/machines/home-file.js'
import { FaultyDisk } from '../../helpers/faulty-disk.js'
import { testFolder } from '../../helpers/folder.js'

const NAME = 'a'.repeat(32)
const OTHER = 'b'.repeat(32)

const setUp = (t: Test) => {
  const folder = testFolder(t)
  const faulty = new FaultyDisk()
  return { folder, faulty, disk: faulty.disk, file: join(folder, HOME_FILE) }
}

t.test('data gets a name once', async (t) => {
  const { folder, disk, file } = setUp(t)
  t.equal(await readHome(disk, folder), undefined)
  t.equal(await nameHome(disk, folder, NAME), NAME)
  t.equal(await nameHome(disk, folder, OTHER), NAME)
  t.equal(await readHome(disk, folder), NAME)
  t.equal(await readFile(file, 'utf8'), `${NAME}\n`)
})

t.test('a name survives a loss of power', async (t) => {
  const { folder, faulty, disk } = setUp(t)
  await nameHome(disk, folder, NAME)
  await faulty.losePower()
  t.equal(await readHome(new FaultyDisk().disk, folder), NAME)
})

t.test('a name that another process did not sync survives after it was read', async (t) => {
  const { folder, faulty, disk, file } = setUp(t)
  await writeUnsynced(disk, file, NAME)
  t.equal(await nameHome(disk, folder, OTHER), NAME)
  await faulty.losePower()
  t.equal(await readHome(new FaultyDisk().disk, folder), NAME)
})

t.test('a file that a crash has torn is not a name', async (t) => {
  for (const torn of ['', NAME.slice(1), '\0'.repeat(33), `${NAME.slice(2)}\0\0\n`]) {
    const { folder, disk, file } = setUp(t)
    await writeFile(file, torn)
    t.equal(await readHome(disk, folder), undefined, JSON.stringify(torn))
    t.equal(await nameHome(disk, folder, NAME), NAME)
    t.equal(await readHome(disk, folder), NAME)
  }
})

t.test('a file that cannot be read is not taken for data without a name', async (t) => {
  const { folder, faulty, disk } = setUp(t)
  await nameHome(disk, folder, NAME)
  faulty.failReads = 'EIO'
  await t.rejects(readHome(disk, folder), { code: 'EIO' })
  await t.rejects(nameHome(disk, folder, OTHER), { code: 'EIO' })
  faulty.failReads = undefined
  t.equal(await readHome(disk, folder), NAME)
})

/** Writes a file without a sync. */
async function writeUnsynced({ open }: FaultyDisk['disk'], path: string, text: string): Promise<void> {
  const file = await open(path, 'w')
  await file.writeFile(text)
  await file.close()
}
