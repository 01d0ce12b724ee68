import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { readAt } from '../../../src/disk/positioned-io.js'
import { DatabaseCopier, type DatabaseCopy } from '../../../src/disk/sqlite/copy.js'
import { testFolder } from '../../helpers/folder.js'
import { NO_SQLITE, sqlite, sqliteShell, type SqliteShell } from '../../helpers/sqlite.js'

const skip = { skip: NO_SQLITE }
const unpaused = async (): Promise<never> => {
  throw new Error('the process was paused')
}

interface Place {
  readonly folder: string
  readonly file: string
  readonly copier: DatabaseCopier
  /** Writes a copy to a file, and returns its path. */
  kept(copy: DatabaseCopy | undefined): Promise<string>
}

async function place(t: Test): Promise<Place> {
  const folder = testFolder(t, { copies: {} })
  const copier = await DatabaseCopier.open(join(folder, 'copies'))
  t.teardown(async () => await copier.close())
  let count = 0
  return {
    folder,
    file: join(folder, 'data.sqlite'),
    copier,
    async kept(copy) {
      const path = join(folder, `kept-${++count}.sqlite`)
      if (!copy) throw new Error('no copy')
      await writeFile(path, await readAt(copy.file, 0, copy.bytes))
      return path
    },
  }
}

/** Creates a table of so many rows, whose amounts add up to 0. */
async function ledger(shell: SqliteShell, rows: number): Promise<void> {
  await shell.run(`pragma journal_mode=wal; pragma synchronous=off;
create table sums (n integer primary key, amount integer, fill text);
create table moves (n integer primary key);
with recursive c(n) as (select 1 union all select n + 1 from c where n < ${rows})
insert into sums select n, 0, hex(randomblob(300)) from c`)
}

/** One transaction: takes from one row, gives to others far away, and counts. */
const move = (rows: number): string => `begin;
update sums set amount = amount - 3, fill = hex(randomblob(300)) where n = abs(random()) % ${rows} + 1;
update sums set amount = amount + 1, fill = hex(randomblob(300)) where n in (select n from sums where n > abs(random()) % ${rows - 10} order by n limit 3);
insert into moves default values;
commit`

/** Returns how many transactions a copy has. Fails the test if it has a part of one. */
function moves(t: Test, path: string): number {
  t.same(sqlite(path, 'pragma integrity_check'), ['ok'])
  const [counted = '', last = '', amount = ''] = sqlite(
    path,
    'select count(*) from moves; select coalesce(max(n), 0) from moves; select sum(amount) from sums',
  )
  t.equal(counted, last, 'no transaction in between is missing')
  t.equal(amount, '0', 'no part of a transaction')
  return Number(counted)
}

t.test(
  'a copy has whole transactions, and all that ended before it began',
  { ...skip, timeout: 180_000 },
  async (t) => {
    const { file, copier, kept } = await place(t)
    const rows = 20_000
    const shell = sqliteShell(t, file)
    await ledger(shell, rows)
    // A small log starts again often, so that several do during each copy.
    await shell.run('pragma wal_autocheckpoint=400')
    let done = 0
    const stop = new AbortController()
    const writing = (async () => {
      while (!stop.signal.aborted) {
        await shell.run(move(rows))
        done++
      }
    })()
    const counts: number[] = []
    for (let copy = 0; copy < 25; copy++) {
      const before = done
      const path = await kept(await copier.copy(file, unpaused))
      const after = done
      const found = moves(t, path)
      t.ok(found >= before, `${found} of at least ${before} transactions`)
      t.ok(found <= after + 1, `${found} of at most ${after} and one that just ended`)
      counts.push(found)
    }
    stop.abort()
    await writing
    t.ok(counts.at(-1)! > counts[0]!, `written meanwhile: ${counts[0]} to ${counts.at(-1)}`)
  },
)

t.test('a database that nobody has open, is empty, or does not exist', skip, async (t) => {
  const { folder, file, copier, kept } = await place(t)
  t.equal(await copier.copy(file, unpaused), undefined)
  await writeFile(file, '')
  t.match(await copier.copy(file, unpaused), { bytes: 0 })
  const shell = sqliteShell(t, file)
  await ledger(shell, 100)
  await shell.run(move(100))
  await shell.close()
  t.equal(moves(t, await kept(await copier.copy(file, unpaused))), 1)
  t.same(sqlite(join(folder, 'data.sqlite'), 'pragma integrity_check'), ['ok'], 'the original is as it was')
})

t.test('a transaction that has not ended, or was undone, is not in a copy', skip, async (t) => {
  const { file, copier, kept } = await place(t)
  const shell = sqliteShell(t, file)
  await ledger(shell, 2000)
  await shell.run(move(2000))
  // Larger than the cache, so its pages are in the log already.
  await shell.run('pragma cache_size=10; begin; update sums set amount = 7; insert into moves default values')
  t.equal(moves(t, await kept(await copier.copy(file, unpaused))), 1)
  await shell.run('rollback')
  await shell.run(move(2000))
  t.equal(moves(t, await kept(await copier.copy(file, unpaused))), 2)
})

t.test('a database that became smaller', skip, async (t) => {
  const { file, copier, kept } = await place(t)
  const shell = sqliteShell(t, file)
  await ledger(shell, 2000)
  await shell.run('delete from sums where n > 10')
  await shell.run('vacuum')
  const copy = await copier.copy(file, unpaused)
  t.ok(copy && copy.bytes < 100_000, `${copy?.bytes} bytes`)
  t.equal(moves(t, await kept(copy)), 0)
})

t.test('the log of a process that was killed', skip, async (t) => {
  const { file, copier, kept } = await place(t)
  const shell = sqliteShell(t, file)
  await ledger(shell, 100)
  for (let n = 0; n < 5; n++) await shell.run(move(100))
  await shell.kill()
  t.equal(moves(t, await kept(await copier.copy(file, unpaused))), 5)
})

t.test(
  'a database that is opened and closed all the time is copied while its processes are paused',
  skip,
  async (t) => {
    const { file, copier, kept } = await place(t)
    const first = sqliteShell(t, file)
    await ledger(first, 20_000)
    await first.close()
    const stop = new AbortController()
    let done = 0
    let gate: Promise<void> | undefined
    const writing = (async () => {
      while (!stop.signal.aborted) {
        await gate
        const shell = sqliteShell(t, file)
        await shell.run(move(20_000))
        await shell.close()
        done++
      }
    })()
    for (let n = 0; n < 6; n++) {
      const before = done
      const copy = await copier.copy(file, async (work) => {
        let open = () => {}
        gate = new Promise((resolve) => (open = resolve))
        try {
          return await work()
        } finally {
          open()
          gate = undefined
        }
      })
      t.ok(moves(t, await kept(copy)) >= before)
    }
    stop.abort()
    await writing
  },
)
