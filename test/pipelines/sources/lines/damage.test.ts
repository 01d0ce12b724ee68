import { randomBytes } from 'node:crypto'
import { Readable } from 'node:stream'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { constants, deflateRawSync, gzipSync } from 'node:zlib'
import t from 'tap'
import { intakeRecords } from '../../../../pipelines/sources/intake/record-intake.js'
import { testFolder } from '../../../helpers/folder.js'
import { lines, recordOf, sourceRun } from '../source-helper.js'

const recordsOf = (name: string, count: number) => Array.from({ length: count }, (_, at) => recordOf(`${name}${at}`))
const csvOf = (name: string, count: number) => Array.from({ length: count }, (_, at) => `"${name}${at}",200`)
const gzipped = (name: string, count: number) => gzipSync(recordsOf(name, count).join('\n'))

/** Compressed records, then a block of deflate with a type that does not exist. */
const broken = (name: string, count: number) =>
  Buffer.concat([
    gzipSync('').subarray(0, 10),
    deflateRawSync(`${recordsOf(name, count).join('\n')}\n`, { finishFlush: constants.Z_SYNC_FLUSH }),
    Buffer.of(7),
    Buffer.alloc(1000),
  ])

/** Files with damage, how many of their records can be read, and what is reported behind their name. */
const DAMAGED: readonly (readonly [name: string, content: Buffer, readable: number, message: RegExp])[] = [
  ['cut.gz', gzipped('cut', 4).subarray(0, -8), 4, /is damaged behind line 4, byte \d+ of its text: unexpected end of file; /], // prettier-ignore
  ['header.gz', gzipped('header', 4).subarray(0, 12), 0, /is damaged behind line 0, byte 0 of its text: unexpected end/], // prettier-ignore
  ['sum.gz', Buffer.concat([gzipped('sum', 4).subarray(0, -8), Buffer.alloc(8, 7)]), 4, /: incorrect data check; /],
  ['twice.gz', Buffer.concat([gzipSync(`${recordOf('twice0')}\n`), gzipped('lost', 1).subarray(0, 11)]), 1, /line 1, byte \d+/], // prettier-ignore
  ['array.json', Buffer.from(`[${recordsOf('array', 3).join()},{"RayID":"half","a":{"b":1}`), 3, /: the array ends midway behind element 3; /], // prettier-ignore
  ['middle.gz', broken('middle', 300), 300, /line 300, byte \d+ of its text: invalid block type; /], // prettier-ignore
  ['broken.json', Buffer.from(`[${recordsOf('broken', 2).join()},}]`), 2, /: the array cannot be read as JSON behind element 2; /], // prettier-ignore
]

t.test('damaged files are read up to the damage, and the next ones whole', async (t) => {
  const folder = testFolder(t)
  const names = DAMAGED.map(([name]) => name)
  for (const [name, content] of DAMAGED) writeFileSync(join(folder, name), content)
  for (const name of ['first', 'last']) writeFileSync(join(folder, name), recordsOf(name, 3).join('\n'))
  const source = { file: { paths: ['first', ...names, 'last'] } }
  const { run, stats, rejected } = sourceRun(folder, source)
  t.same(await run(), { end: 'done' })
  const all = [
    ...DAMAGED.flatMap(([name, , readable]) => csvOf(name.split('.')[0]!, readable)),
    ...csvOf('first', 3),
    ...csvOf('last', 3),
  ].sort()
  t.same(lines(folder), all)
  t.match(stats, { read: all.length, rejected: DAMAGED.length, damaged: DAMAGED.length, losses: 0 })
  t.equal(rejected.length, DAMAGED.length)
  for (const [at, [name, , , message]] of DAMAGED.entries()) {
    t.ok(rejected[at]?.startsWith(`${join(folder, name)}: is damaged behind line `))
    t.match(rejected[at], message)
  }

  // A file that is complete by now has no more to read.
  writeFileSync(join(folder, 'cut.gz'), gzipped('cut', 4))
  const again = sourceRun(folder, source)
  t.same(await again.run(), { end: 'done' })
  t.same(lines(folder), all, 'nothing is sent again')
  t.equal(again.stats.damaged, DAMAGED.length - 1)
})

t.test('records in front of damage in a large file are read, but for the last 64 KiB', async (t) => {
  const folder = testFolder(t)
  const count = 30_000
  const texts = Array.from({ length: count }, () => recordOf(randomBytes(40).toString('hex')))
  const content = Buffer.concat([gzipSync(texts.join('\n')).subarray(0, -8), Buffer.alloc(8)])
  t.ok(content.length > 2 ** 20)
  writeFileSync(join(folder, 'in.gz'), content)
  const { run, stats } = sourceRun(folder, { file: 'in.gz' })
  t.same(await run(), { end: 'done' })
  t.equal(stats.damaged, 1)
  t.ok((count - stats.delivered) * texts[0]!.length <= 2 ** 16, `${stats.delivered} of ${count} records`)
})

t.test('the offset of damage is where the last record that was read ended', async (t) => {
  const text = recordsOf('a', 3)
  const bytes = gzipSync(`${text.join('\n')}\n{"RayID":"h`).subarray(0, -8)
  const added: string[] = []
  const writer = {
    add: (from: Uint8Array, start = 0, end = from.length) => {
      const record = Buffer.from(from.subarray(start, end)).toString()
      added.push(record)
    },
    count: 0,
    size: 0,
  }
  const messages: string[] = []
  const taken = { read: 0 }
  const reject = (_line: number, message: string) => messages.push(message)
  const damaged = (message: string) => messages.push(message)
  await intakeRecords(Readable.from([bytes]), writer, { reject, commit: async () => {}, taken, damaged })
  t.same(added, text)
  t.equal(taken.read, 3)
  t.match(messages, [
    new RegExp(`^is damaged behind line 3, byte ${text.join('\n').length + 1} of its text: unexpected`),
  ])
})
