import { appendFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import { openSpools } from '../../../pipelines/logpush/spool/index.js'
import {
  SpoolFull,
  type Cursor,
  type Position,
  type Spool,
  type Spools,
} from '../../../pipelines/logpush/spool/types.js'
import { FaultyDisk } from '../../helpers/faulty-disk.js'
import { append, numbered, numberIn, rest, segments, ZONE } from './spool-helper.js'
import { testFolder } from '../../helpers/folder.js'

const RUNS = Number(process.env['SPOOL_MODEL_RUNS'] ?? 40)

type Fault = 'none' | 'short' | 'full' | 'sync' | 'sync and cut'
type Step =
  | { readonly do: 'append'; readonly count: number; readonly commits: number; readonly fault: Fault }
  | { readonly do: 'move'; readonly reader: number; readonly by: number }
  | { readonly do: 'end'; readonly reader: number }
  | { readonly do: 'open again' }
  | { readonly do: 'lose power'; readonly comesBack: number; readonly tail: number }

const STEP: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constant('append' as const),
      count: fc.integer({ min: 1, max: 6 }),
      commits: fc.integer({ min: 1, max: 2 }),
      fault: fc.oneof(
        { weight: 4, arbitrary: fc.constant<Fault>('none') },
        fc.constantFrom<Fault>('short', 'full', 'sync', 'sync and cut'),
      ),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant('move' as const), reader: fc.nat(2), by: fc.integer({ min: 0, max: 20 }) }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('end' as const), reader: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('open again' as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('lose power' as const), comesBack: fc.nat(3), tail: fc.nat(100) }),
  },
)

/** A spool on a faulty disk beside a map in memory of what it must have. */
class Model {
  readonly #folder: string
  #faults = new FaultyDisk()
  #spools!: Spools
  #spool!: Spool
  readonly #readers: (Cursor | undefined)[] = []
  /** Which record stands at a position; for good. */
  readonly #records = new Map<Position, number>()
  /** Behind the records that were acknowledged. */
  #acknowledged = 0
  #next = 1e6

  constructor(folder: string) {
    this.#folder = folder
  }

  async open(): Promise<void> {
    const limits = { bytes: 1e9, segmentBytes: 9000 }
    const { disk } = this.#faults
    this.#spools = await openSpools(this.#folder, { clock: systemClock, log: silentLog, limits, disk })
    this.#spool = await this.#spools.open('http_requests', ZONE)
    for (const reader of [0, 1, 2]) {
      const moved = this.#readers[reader]?.state.next
      this.#readers[reader] = await this.#spool.cursor(`reader-${reader}`)
      if (moved !== undefined && this.#readers[reader].state.next !== moved)
        throw new Error(`reader ${reader} was at ${moved}, is at ${this.#readers[reader].state.next}`)
    }
  }

  async close(): Promise<void> {
    await this.#spools.close()
  }

  async take(step: Step): Promise<void> {
    if (step.do === 'append') await this.#append(step.count, step.commits, step.fault)
    else if (step.do === 'move') await this.#move(step.reader, step.by)
    else if (step.do === 'end') {
      await this.#readers[step.reader]!.remove()
      this.#readers[step.reader] = await this.#spool.cursor(`reader-${step.reader}`)
    } else if (step.do === 'open again') {
      await this.#spools.close()
      const mended = this.#faults.failTruncates === undefined
      this.#faults.failTruncates = undefined
      await this.open()
      // What was refused can be there only where it could not be taken away.
      if (mended && this.#spool.end !== this.#acknowledged)
        throw new Error(`the end is ${this.#spool.end} after a start`)
      this.#acknowledged = this.#spool.end
    } else await this.#losePower(step.comesBack, step.tail)
    await this.#check()
  }

  async #append(count: number, commits: number, fault: Fault): Promise<void> {
    const faults = this.#faults
    if (fault === 'short') faults.shortWrites = 300
    if (fault === 'full') faults.failWrites = 'ENOSPC'
    if (fault.startsWith('sync')) faults.failSyncs = 'EIO'
    const first = this.#next
    this.#next += count * commits
    // Commits of one group have the same size here, so that one can come to stand where another was.
    const parts = Array.from({ length: commits }, (_, i) => append(this.#spool, numbered(first + i * count, count)))
    const results = await Promise.allSettled(parts)
    for (const result of results) {
      const works = fault === 'none' || fault === 'short'
      if ((result.status === 'fulfilled') !== works) throw new Error(`with the fault ${fault} it was ${result.status}`)
      if (result.status === 'rejected' && !(result.reason instanceof SpoolFull)) throw result.reason
    }
    if (results[0]!.status === 'fulfilled') {
      this.#acknowledged = this.#spool.end
      for (let i = 0; i < count * commits; i++) this.#note(this.#spool.end - count * commits + i, first + i)
    }
    faults.shortWrites = undefined
    faults.failWrites = undefined
    faults.failSyncs = undefined
    // Comes to bear on the next append, which would cut off what this one left.
    faults.failTruncates = fault === 'sync and cut' ? 'EIO' : undefined
  }

  async #move(reader: number, by: number): Promise<void> {
    const cursor = this.#readers[reader]!
    const next = Math.min(this.#spool.end, cursor.state.next + by)
    await cursor.save({ next, batches: [[next, 'batch']] })
  }

  async #losePower(comesBack: number, tail: number): Promise<void> {
    let random = comesBack
    await this.#faults.losePower(() => random++ % 3 === 0)
    await this.#spools.close()
    const last = segments(this.#folder).at(-1)
    if (tail > 50) appendFileSync(last!, Buffer.alloc(tail, 0xff))
    this.#faults = new FaultyDisk()
    await this.open()
    // What was refused may be there all the same, once.
    this.#acknowledged = Math.max(this.#acknowledged, this.#spool.end)
  }

  #note(position: Position, record: number): void {
    const before = this.#records.get(position)
    if (before !== undefined && before !== record) throw new Error(`${position} was ${before}, is ${record}`)
    this.#records.set(position, record)
  }

  async #check(): Promise<void> {
    const from = Math.min(...this.#readers.map((reader) => reader!.state.next))
    const found = (await rest(this.#spool, from)).map(({ position, line }) => ({ position, record: numberIn(line) }))
    for (const { position, record } of found) this.#note(position, record)
    const there = new Set(found.map(({ position }) => position))
    for (let position = from; position < this.#acknowledged; position++)
      if (!there.has(position)) throw new Error(`${position} was acknowledged and is gone`)
    if (there.size !== found.length) throw new Error('a position comes twice')
    if (this.#spool.end < this.#acknowledged) throw new Error('the end went back')
  }
}

t.test('whatever happens, nothing acknowledged is lost and no position has two records', async (t) => {
  let run = 0
  const root = testFolder(t)
  await fc.assert(
    fc.asyncProperty(fc.array(STEP, { minLength: 1, maxLength: 25, size: 'max' }), async (steps) => {
      const model = new Model(`${root}/${run++}`)
      await model.open()
      try {
        for (const step of steps) await model.take(step)
      } finally {
        await model.close()
      }
    }),
    { numRuns: RUNS },
  )
  t.equal(run, RUNS)
})
