import t from 'tap'
import { gapsOf, splitLast, stackedUp, ticksTo, timeLabels } from '../../ui/src/parts/chart-data.ts'

t.test('axes begin at 0 and have at most five steps', async (t) => {
  t.strictSame(ticksTo(0), [0, 1])
  t.strictSame(ticksTo(1), [0, 0.5, 1])
  t.strictSame(ticksTo(37), [0, 10, 20, 30, 40])
  for (const most of [0.003, 1, 7, 12.5, 99, 1234, 5e9]) {
    const ticks = ticksTo(most)
    t.ok(ticks.length <= 6 && ticks.at(-1)! >= most, `${most}`)
    t.strictSame(ticksTo(ticks.at(-1)!), ticks, 'the last tick has the same ticks')
  }
})

t.test('stacked values lie on those before, and gaps stay', async (t) => {
  t.strictSame(
    stackedUp([
      [1, null, 3],
      [10, null, 30],
    ]),
    [
      [1, null, 3],
      [11, null, 33],
    ],
  )
})

t.test('the cell that is not over is dashed', async (t) => {
  t.strictSame(splitLast([1, 2, 3], true), [
    [1, 2, null],
    [null, 2, 3],
  ])
  t.strictSame(splitLast([1, 2], false), [
    [1, 2],
    [null, null],
  ])
})

t.test('times without the daemon are gaps', async (t) => {
  const range = { from: 0, to: 100 }
  t.strictSame(gapsOf([{ from: 40, to: 100 }], range, 10), [{ from: 0, to: 40 }])
  t.strictSame(
    gapsOf(
      [
        { from: 0, to: 30 },
        { from: 60, to: 95 },
      ],
      range,
      10,
    ),
    [{ from: 30, to: 60 }],
  )
  t.strictSame(gapsOf([], range, 10), [{ from: 0, to: 100 }])
})

t.test('times have seconds in short ranges only, and their day once', async (t) => {
  const at = new Date(2026, 10, 28, 17, 40).getTime() / 1000
  t.strictSame(timeLabels([at, at + 600], 3600), ['17:40\n28 Nov', '17:50'])
  t.match(timeLabels([at], 300), [/^17:40:00\n/])
})
