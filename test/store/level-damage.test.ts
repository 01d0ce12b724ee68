import { cpSync, existsSync, readdirSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { silentLog } from '../../src/core/log.js'
import { account } from '../../src/core/scope.js'
import { kind, type Store } from '../../src/core/store.js'
import { openStore } from '../../src/store/index.js'
import { readLevelLog } from '../../src/store/level/log.js'
import { auditEntry, found } from '../contracts/store.js'
import { testFolder } from '../helpers/folder.js'

const THINGS = kind<string>('thing')
const A = account('a')
const BLOCK = 32 * 1024

const open = (folder: string, acceptLoss = false) => openStore('embedded', { folder, log: silentLog, acceptLoss })
const inside = (folder: string, name: string) => join(folder, 'store', name)
const logOf = (folder: string) => readdirSync(join(folder, 'store')).find((name) => name.endsWith('.log'))!
const put = async (store: Store, id: string, value = id) =>
  await store.batch([{ kind: THINGS, scope: A, id, value }], [auditEntry(id)])
const idsIn = (store: Store) => store.list(THINGS, A).map(({ id }) => id)

/** Content of all files of a store, without those that LevelDB writes for people and for locks. */
const bytesOf = (folder: string) =>
  readdirSync(join(folder, 'store'))
    .filter((name) => !/^(LOG|LOG\.old|LOCK)$/.test(name))
    .map((name) => [name, readFileSync(inside(folder, name)).toString('base64')])

/** Creates a store with these values, and copies of it: as `kill -9` leaves it after each write, and as a clean stop does. */
async function written(t: Test, values: readonly string[]): Promise<{ killed: string[]; stopped: string }> {
  const folder = testFolder(t)
  const stopped = join(folder, 'stopped')
  await (await open(stopped)).close()
  const store = await open(stopped)
  const killed: string[] = []
  const copy = () => {
    killed.push(join(folder, `killed-${killed.length}`))
    cpSync(stopped, killed.at(-1)!, { recursive: true })
  }
  copy()
  for (const [index, value] of values.entries()) {
    await put(store, String(index), value)
    copy()
  }
  await store.close()
  return { killed, stopped }
}

const SHORT = ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(60))
/** Writes of several blocks, some of which cross the end of a block. */
const LONG = ['a', 'b', 'c', 'd', 'e'].map((letter, index) => letter.repeat(9000 + index * 7000))

/** Opens a copy that was damaged. Returns how the start ended, and checks that a rejected one has changed nothing. */
async function start(t: Test, from: string, damage: (folder: string) => void): Promise<string[] | Error> {
  const folder = `${from}-damaged`
  rmSync(folder, { recursive: true, force: true })
  cpSync(from, folder, { recursive: true })
  damage(folder)
  const before = bytesOf(folder)
  try {
    const store = await open(folder)
    const ids = idsIn(store)
    if ((await found(store.audit())).length !== ids.length) t.fail('audit entries are missing')
    await store.close()
    return ids
  } catch (error) {
    t.same(bytesOf(folder), before, 'the rejected start changed nothing')
    t.notOk(existsSync(join(folder, 'store.check')), 'the copy is removed')
    return error as Error
  }
}

const flip =
  (name: string, offset: number, bit = 1) =>
  (folder: string) => {
    const bytes = readFileSync(inside(folder, name))
    bytes[offset]! ^= bit
    writeFileSync(inside(folder, name), bytes)
  }

const LOST = /^the store in .* is damaged: .*; restore a backup .*: edged restore FILE -c CONFIG; .*--accept-data-loss/

for (const [what, values, step] of [
  ['one block', SHORT, 19],
  ['several blocks', LONG, 4999],
] as const)
  t.test(`a log of ${what}: a flipped bit anywhere is noticed, after a clean stop and after kill -9`, async (t) => {
    const { killed, stopped } = await written(t, values)
    for (const from of [stopped, killed.at(-1)!]) {
      const name = logOf(from)
      const { length } = readFileSync(inside(from, name))
      const offsets = new Set<number>()
      // Checksum, length, type and payload of the first record, every class of bytes behind it, and the last 100 bytes.
      for (let offset = 0; offset < 14; offset += 1) offsets.add(offset)
      for (let offset = 0; offset < length; offset += step) offsets.add(offset)
      for (let offset = length - 100; offset < length; offset += 13) offsets.add(offset)
      for (let block = BLOCK; block < length; block += BLOCK) for (let n = -3; n < 8; n += 1) offsets.add(block + n)
      for (const offset of offsets) {
        const outcome = await start(t, from, flip(name, offset, 1 << (offset % 8)))
        // Fewer than 7 bytes at the end of a block are not used.
        const isUnused = offset % BLOCK >= BLOCK - 6
        if (isUnused && Array.isArray(outcome)) t.equal(outcome.length, values.length)
        else t.match(outcome, { message: LOST }, `byte ${offset} of ${length}`)
      }
    }
  })

t.test('damage before intact writes is noticed, even if only an audit entry is lost', async (t) => {
  const folder = testFolder(t)
  await (await open(folder)).close()
  const store = await open(folder)
  // The second write replaces all records of the first one, which is in other blocks.
  for (const letter of ['a', 'b']) await put(store, 'same', letter.repeat(2 * BLOCK))
  await store.close()
  t.match(await start(t, folder, flip(logOf(folder), 100)), { message: /\.log is damaged at byte 0; restore/ })
})

t.test('a log that was cut off, overwritten with zeros, emptied or deleted is noticed', async (t) => {
  const { killed, stopped } = await written(t, SHORT)
  const ends = killed.map((folder) => readFileSync(inside(folder, logOf(folder))).length)
  for (const from of [stopped, killed.at(-1)!]) {
    const name = logOf(from)
    const path = (folder: string) => inside(folder, name)
    // Between two records too: nothing in the log shows that.
    for (const length of [...ends.slice(0, -1), 5, ends[1]! + 3, ends.at(-1)! - 1, ends.at(-2)! + 20])
      t.match(
        await start(t, from, (folder) => truncateSync(path(folder), length)),
        { message: LOST },
        `${length} bytes`,
      )
    for (const length of [1, 100, ends.at(-1)!])
      t.match(
        await start(t, from, (folder) => {
          const bytes = readFileSync(path(folder))
          writeFileSync(path(folder), bytes.fill(0, bytes.length - length))
        }),
        { message: LOST },
        `${length} zeros`,
      )
    t.match(await start(t, from, (folder) => rmSync(path(folder))), { message: LOST })
  }
})

t.test('the message says what is lost', async (t) => {
  const { stopped } = await written(t, SHORT)
  const name = logOf(stopped)
  const { length } = readFileSync(inside(stopped, name))
  const offsets: number[] = []
  await readLevelLog(inside(stopped, name), (bytes) => offsets.push(bytes.length + 7))
  const outcome = await start(t, stopped, flip(name, length - 10))
  const at = offsets.slice(0, -1).reduce((sum, bytes) => sum + bytes, 0)
  t.match(outcome, {
    message: new RegExp(
      `: ${name} is damaged at byte ${at}; the confirmed write 4 is missing \\(the last one was at 20.*Z\\): ` +
        'it holds 3 records and 3 audit entries, not 4 and 4; restore',
    ),
  })
})

t.test('a power failure between any two steps never keeps an intact store from starting', async (t) => {
  for (const values of [SHORT, LONG]) {
    const { killed } = await written(t, values)
    const logs = killed.map((folder) => readFileSync(inside(folder, logOf(folder))))
    const witnesses = killed.map((folder) => readFileSync(inside(folder, 'witness')))
    const states = killed.map((from, at) => ({ from, name: logOf(from), log: logs[at]!, at }))
    for (const { from, name, log, at } of states.slice(0, -1)) {
      const next = logs[at + 1]!
      const began = next.length - log.length
      // What the disk has of the next write, which was not confirmed: nothing, parts, pages of zeros, all.
      const tails = [0, 3, 9, began >> 1, began - 1, began].map((bytes) => next.subarray(0, log.length + bytes))
      const holes = [
        Buffer.alloc(began),
        Buffer.concat([Buffer.alloc(began >> 1), next.subarray(log.length + (began >> 1))]),
      ]
      // The witness is as it was synced last: with the last confirmed write, or one before it.
      for (const witness of witnesses.slice(Math.max(0, at - 1), at + 1))
        for (const tail of [...tails, ...holes.map((hole) => Buffer.concat([log, hole]))]) {
          const outcome = await start(t, from, (folder) => {
            writeFileSync(inside(folder, name), tail)
            writeFileSync(inside(folder, 'witness'), witness)
          })
          const count = Array.isArray(outcome) ? outcome.length : -1
          t.ok(count === at || (tail === tails.at(-1) && count === at + 1), `after ${at} writes: ${String(outcome)}`)
        }
      for (const witness of witnesses.slice(at + 1))
        t.match(await start(t, from, (folder) => writeFileSync(inside(folder, 'witness'), witness)), { message: LOST })
    }
  }
})

t.test('a slot of the witness that was written incompletely is not used', async (t) => {
  const { killed } = await written(t, SHORT)
  const from = killed.at(-1)!
  // Before the first write only one slot is used.
  for (const [index, copy] of killed.entries())
    if (index > 0) t.same(await start(t, copy, flip('witness', newestSlot(copy) * 4096 + 40)), idsFor(index))
  const outcome = await start(t, from, (folder) => writeFileSync(inside(folder, 'witness'), Buffer.alloc(12_288)))
  t.match(outcome, { message: /its file witness, which has what was confirmed, is damaged; restore/ })
  t.match(await start(t, from, (folder) => rmSync(inside(folder, 'witness'))), {
    message: /its file witness.* is missing/,
  })
})

/** Which slot has the last write depends on the syncs between the writes. */
function newestSlot(folder: string): number {
  const bytes = readFileSync(inside(folder, 'witness')).toString('latin1')
  const generations = [0, 1, 2].map((slot) =>
    Number(/"generation":(\d+)/.exec(bytes.slice(slot * 4096, slot * 4096 + 512))?.[1] ?? 0),
  )
  return generations.indexOf(Math.max(...generations))
}

const idsFor = (count: number) => Array.from({ length: count }, (_, index) => String(index))

t.test('a start that accepts the loss keeps a copy and uses no version or cursor again', async (t) => {
  const { stopped, killed } = await written(t, SHORT)
  const lines: Record<string, unknown>[] = []
  const log = Object.assign(Object.create(silentLog) as typeof silentLog, {
    error: (facts: Record<string, unknown>) => void lines.push(facts),
  })
  const store = await openStore('embedded', { folder: killed.at(-1)!, log, acceptLoss: true })
  t.same(idsIn(store), idsFor(4), 'nothing is lost if nothing is damaged')
  t.same(lines, [])
  await store.close()

  const name = logOf(stopped)
  const { length } = readFileSync(inside(stopped, name))
  flip(name, length - 10)(stopped)
  const damaged = bytesOf(stopped)
  const accepted = await openStore('embedded', { folder: stopped, log, acceptLoss: true })
  t.same(idsIn(accepted), idsFor(3))
  t.match(lines, [{ event: 'store_loss_accepted', loss: /the confirmed write 4 is missing/ }])
  const copy = readdirSync(stopped).find((one) => one.startsWith('store.damaged-'))!
  t.equal(lines[0]!['copy'], join(stopped, copy))
  t.same(
    damaged.map(([file]) => [file, readFileSync(join(stopped, copy, file!)).toString('base64')]),
    damaged,
  )
  t.equal(await put(accepted, 'new'), 5)
  t.same(
    (await found(accepted.audit())).map(({ cursor }) => cursor),
    ['1', '2', '3', '5'],
  )
  await accepted.close()
  const again = await open(stopped)
  t.same(idsIn(again), ['0', '1', '2', 'new'])
  await again.close()
})

t.test('a table that is damaged is noticed, and its other records are kept if the loss is accepted', async (t) => {
  const { stopped } = await written(t, SHORT)
  await (await open(stopped)).close()
  const store = await open(stopped)
  await put(store, 'last')
  await store.close()
  let rejected = 0
  for (const table of readdirSync(join(stopped, 'store')).filter((name) => name.endsWith('.ldb'))) {
    const bytes = readFileSync(inside(stopped, table))
    for (let offset = 0; offset < bytes.length; offset += 41) {
      const folder = `${stopped}-table`
      rmSync(folder, { recursive: true, force: true })
      cpSync(stopped, folder, { recursive: true })
      flip(table, offset)(folder)
      const outcome: unknown = await open(folder).catch((error: unknown) => error)
      if (outcome instanceof Error) {
        rejected += 1
        t.match(outcome.message, /edged restore FILE/)
        const kept = await open(folder, true).catch((error: unknown) => error)
        if (!(kept instanceof Error)) await (kept as Store).close()
      } else {
        t.equal(idsIn(outcome as Store).length, 5)
        await (outcome as Store).close()
      }
    }
  }
  t.ok(rejected > 10, `${rejected} were rejected`)
})

t.test('CURRENT and MANIFEST that are damaged are noticed, and nothing is deleted', async (t) => {
  const { stopped } = await written(t, SHORT)
  for (const name of readdirSync(join(stopped, 'store')).filter((one) => /^(CURRENT|MANIFEST.*)$/.test(one))) {
    const { length } = readFileSync(inside(stopped, name))
    for (let offset = 0; offset < length; offset += 3) {
      const outcome = await start(t, stopped, flip(name, offset, 1 << (offset % 8)))
      if (Array.isArray(outcome)) t.same(outcome, idsFor(4), `${name} ${offset}`)
      else t.match(outcome.message, /^the store in \S+\/store .*edged restore FILE -c CONFIG/, `${name} ${offset}`)
    }
    t.match(await start(t, stopped, (folder) => rmSync(inside(folder, name))), { message: /edged restore FILE/ })
  }
})

t.test('a damaged store that another process has open is reported as in use', async (t) => {
  const folder = testFolder(t)
  const store = await open(folder)
  t.teardown(() => store.close())
  await put(store, 'a')
  await put(store, 'b')
  flip(logOf(folder), 20)(folder)
  for (const acceptLoss of [false, true]) await t.rejects(open(folder, acceptLoss), /is in use by another process/)
  t.same(readdirSync(folder), ['store'])
})
