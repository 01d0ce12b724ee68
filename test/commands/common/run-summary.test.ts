import t from 'tap'
import { RunStats } from '../../../pipelines/sources/intake/run-stats.js'
import { PLAIN } from '../../../src/commands/common/colours.js'
import { summaryText } from '../../../src/commands/common/run-summary.js'
import { widthOf } from '../../../src/commands/common/text-width.js'

const statsOf = (counts: object): RunStats => Object.assign(Object.create(RunStats.prototype), counts) as RunStats

const output = { kept: 1200, delivered: 1190, dropped: 10, batches: 3, bytes: 1_500_000 }
const whole = { read: 1300, rejected: 40, losses: 0, lost: 0, damaged: 1 }

/** Counts whose sums are set here, not computed from outputs. */
function counted(): RunStats {
  const stats = statsOf({})
  for (const [name, value] of Object.entries({ ...whole, ...output })) Object.defineProperty(stats, name, { value })
  return stats
}

t.test('the summary of a run says in words what was delivered and what was not', async (t) => {
  const text = summaryText([{ name: 'errors', stats: counted(), routes: [] }], 29, PLAIN)
  t.equal(
    text,
    '1,300 records read, 1,190 delivered in 29 s · 45/s · 3 batches, 1.5 MB\n' +
      '61 filtered or sampled out · 39 invalid · 10 dropped · 1 input damaged\n',
  )
  t.ok(text.split('\n').every((line) => widthOf(line) <= 80))
})

t.test('several pipelines and routes have a line each', async (t) => {
  const part = { stats: counted(), routes: [{ name: 'slow', counts: output }] }
  const lines = summaryText(
    [
      { ...part, name: 'a' },
      { ...part, name: 'b' },
    ],
    90,
    PLAIN,
  ).split('\n')
  t.equal(lines[2], '  a: 1,190 of 1,200 delivered · 3 batches, 1.5 MB · 10 dropped')
  t.equal(lines[3], '  a slow: 1,190 of 1,200 delivered · 3 batches, 1.5 MB · 10 dropped')
  t.match(lines[0], / in 1m 30s · /)
})
