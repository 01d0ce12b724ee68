import fc from 'fast-check'
import t from 'tap'
import { SectionReader, SectionWriter } from '../../src/history/codec.js'
import {
  addRow,
  bucketOf,
  BYTES,
  DURATIONS,
  newRow,
  OTHER,
  quantile,
  REQUESTS,
  SLOTS,
} from '../../src/history/layout.js'
import { RowPool, Rows } from '../../src/history/rows.js'

t.test('rows are read as they were written, whatever their keys and counts', async (t) => {
  const number = fc.oneof(fc.constant(0), fc.nat(), fc.constantFrom(127, 128, 2 ** 31, 2 ** 32, 2 ** 53 - 1))
  const row = fc.array(number, { minLength: SLOTS, maxLength: SLOTS })
  const entries = fc.array(fc.tuple(fc.string({ unit: 'grapheme' }), row), { maxLength: 20 })
  fc.assert(
    fc.property(entries, (given) => {
      const writer = new SectionWriter(1)
      for (const [key, numbers] of given) writer.row(key, Float64Array.from(numbers))
      const reader = new SectionReader(writer.take())
      const read: [string, number[]][] = []
      while (!reader.isAtEnd) {
        const key = reader.key()
        const { requests } = reader
        const to = newRow()
        reader.add(to)
        t.equal(requests, to[REQUESTS])
        read.push([key, [...to]])
      }
      return JSON.stringify(read) === JSON.stringify(given)
    }),
    { numRuns: 100 },
  )
  t.throws(() => new SectionReader(new Uint8Array([0x80])).key(), /cut off/)
})

t.test('rows that are skipped leave the next one in place', async (t) => {
  const writer = new SectionWriter()
  const row = newRow()
  row[BYTES] = 300
  row[DURATIONS + 31] = 1
  for (const key of ['a', 'b']) writer.row(key, row)
  const reader = new SectionReader(writer.take())
  reader.key()
  reader.add(undefined)
  t.equal(reader.key(), 'b')
})

t.test('the most frequent values have rows, and no request is lost', async (t) => {
  const rows = new Rows(10, new RowPool())
  const count = (key: string): void => {
    rows.of(key)[REQUESTS]!++
  }
  for (let i = 0; i < 5000; i++) {
    count(`rare-${i}`)
    if (i % 4 === 0) count('frequent')
    if (i % 5 === 0) count('also frequent')
  }
  const top = rows.top()
  t.equal(top.length, 11, 'ten values and the others')
  t.equal(top.at(-1)?.[0], OTHER)
  const found = new Map(top)
  // Counted from the moment at which they have a row.
  t.ok(found.get('frequent')![REQUESTS]! > 1200)
  t.ok(found.get('also frequent')![REQUESTS]! > 950)
  let sum = 0
  for (const [, row] of top) sum += row[REQUESTS]!
  t.equal(sum, 5000 + 1250 + 1000)
})

t.test('a pool that is used up leaves the rows that are needed, and gets all rows back', async (t) => {
  const pool = new RowPool(3)
  const rows = new Rows(10, pool)
  for (let round = 0; round < 2; round++) {
    for (const key of ['a', 'b', 'c', 'd', 'd']) rows.of(key)[REQUESTS]!++
    const top = rows.top()
    t.equal(top.length, 4, 'three values and the others')
    t.equal(
      top.reduce((sum, [, row]) => sum + row[REQUESTS]!, 0),
      5,
    )
    rows.clear()
    t.same(rows.top(), [])
  }
})

t.test('quantiles are at most 19 % from the exact ones', async (t) => {
  fc.assert(
    fc.property(
      fc.array(fc.double({ min: 1, max: 46_000, noNaN: true }), { minLength: 1, maxLength: 200 }),
      fc.constantFrom(0.5, 0.95, 0.99),
      (times, share) => {
        const row = newRow()
        for (const time of times) row[DURATIONS + bucketOf(time)]!++
        const exact = times.toSorted((a, b) => a - b)[Math.ceil(share * times.length) - 1]!
        // Shown with two digits.
        return Math.abs(quantile(row, DURATIONS, share)! / exact - 1) < 0.19 + 0.05
      },
    ),
  )
  const row = newRow()
  t.equal(quantile(row, DURATIONS, 0.5), null)
  row[DURATIONS + bucketOf(0)]!++
  t.equal(quantile(row, DURATIONS, 0.5), 0.5)
  const twice = newRow()
  addRow(twice, row)
  addRow(twice, row)
  t.equal(twice[DURATIONS], 2)
  for (const [ms, bucket] of [
    [0.99, 0],
    [1, 1],
    [1.5, 2],
    [2, 3],
    [33_000, 31],
    [1e9, 31],
  ] as const)
    t.equal(bucketOf(ms), bucket, `${ms} ms`)
})
