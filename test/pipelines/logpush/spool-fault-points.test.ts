import assert from 'node:assert/strict'
import t, { type Test } from 'tap'
import { Registry } from 'prom-client'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import { DurableSpool } from '../../../pipelines/logpush/spool/durable-spool.js'
import { openSpools, type SpoolsOptions } from '../../../pipelines/logpush/spool/index.js'
import type { Position, Spool, Spools } from '../../../pipelines/logpush/spool/types.js'
import type { Disk } from '../../../src/disk/durable-write.js'
import { FaultPoints, FAULTS, type Fault } from '../../helpers/fault-points.js'
import { FaultyDisk } from '../../helpers/faulty-disk.js'
import { testFolder } from '../../helpers/folder.js'
import { append, numbered, numberIn, rest, ZONE } from './spool-helper.js'

/** Each append of three records begins a segment, or only a replacement of the last one does. */
const SMALL_SEGMENTS = { bytes: 1e9, segmentBytes: 3000 }
const LARGE_SEGMENTS = { bytes: 1e9, segmentBytes: 200_000 }

const CONCURRENCY = 8

/** What happens after the fault. `survives`: of the changes of names that are not durable when power is lost. */
const ENDINGS: [name: string, steps: readonly ('kill' | 'power')[], survives: (path: string) => boolean][] = [
  ['kill', ['kill'], () => true],
  ['loss of power, with all changes of names', ['power'], () => true],
  ['loss of power, without the changes of names', ['power'], () => false],
  ['loss of power, without the new segments', ['power'], (path) => !path.endsWith('.seg')],
  ['kill, start, loss of power', ['kill', 'power'], () => false],
]

/** What clients and a receiver know of a spool over several lives of the daemon. */
class History {
  readonly #records = new Map<Position, number>()
  readonly #acknowledged = new Map<number, Position>()
  #next = 0
  /** Position that the reader has saved durably; undefined before its cursor was confirmed. */
  saved: Position | undefined
  readonly delivered = new Set<number>()

  async append(spool: Spool, count: number): Promise<void> {
    const from = this.#next
    this.#next += count
    try {
      await append(spool, numbered(from, count))
    } catch {
      return
    }
    if (this.saved === undefined) return
    for (let i = 0; i < count; i++) this.#acknowledged.set(from + i, spool.end - count + i)
  }

  async save(spool: Spool): Promise<void> {
    const cursor = await spool.cursor('job')
    this.saved ??= cursor.state.next
    const found = await rest(spool, cursor.state.next)
    for (const { position, line } of found) this.#note(position, numberIn(line))
    const next = spool.end
    for (const { line } of found) this.delivered.add(numberIn(line))
    await cursor.save({ next })
    this.saved = next
  }

  #note(position: Position, record: number): void {
    const before = this.#records.get(position)
    // A record that was rejected and that no reader has had gives its position to another one.
    if (before !== undefined) assert.equal(record, before, `position ${position} has two records`)
    this.#records.set(position, record)
  }

  /** Reads everything from the cursor on. */
  async check(spool: Spool): Promise<void> {
    if (this.saved !== undefined) assert.ok(spool.cursors.includes('job'), 'the cursor exists')
    const cursor = await spool.cursor('job')
    assert.ok(cursor.state.next >= (this.saved ?? 0), 'the cursor did not go back')
    const found = new Map<number, Position>()
    for (const { position, line } of await rest(spool, cursor.state.next)) {
      this.#note(position, numberIn(line))
      found.set(numberIn(line), position)
    }
    for (const [record, position] of this.#acknowledged)
      if (!this.delivered.has(record)) assert.equal(found.get(record), position, `record ${record} was acknowledged`)
  }
}

interface Life {
  readonly spools: Spools
  readonly spool: DurableSpool
  readonly lost: () => Promise<number>
}

async function start(folder: string, { disk, limits }: Pick<SpoolsOptions, 'limits'> & { disk: Disk }): Promise<Life> {
  const metrics = new Registry()
  const spools = await openSpools(folder, { clock: systemClock, log: silentLog, limits, disk, metrics })
  try {
    const lost = async () => {
      const { values } = await metrics.getSingleMetric('edged_logpush_records_lost_total')!.get()
      return values.reduce((sum, { value }) => sum + value, 0)
    }
    const spool = await spools.open('http_requests', ZONE)
    assert.ok(spool instanceof DurableSpool)
    return { spools, spool, lost }
  } catch (error) {
    await spools.close()
    throw error
  }
}

/** Segments that begin, segments that are passed and replaced, saves of a cursor. */
async function work({ spool }: Life, history: History): Promise<void> {
  const tried = async (step: () => Promise<void>) => await step().catch(() => undefined)
  await tried(async () => await history.save(spool))
  for (const _ of [1, 2]) await history.append(spool, 3)
  await tried(async () => await history.save(spool))
  await history.append(spool, 80)
  await tried(async () => await history.save(spool))
  await tried(async () => await spool.reclaim())
  for (const _ of [1, 2, 3]) await history.append(spool, 3)
}

async function run(
  folder: string,
  at: number,
  fault: Fault,
  [, steps, survives]: (typeof ENDINGS)[number],
): Promise<string[]> {
  let faults = new FaultyDisk()
  const history = new History()
  const points = new FaultPoints(faults, at, fault)
  const limits = fault === 'fails for a while' ? LARGE_SEGMENTS : SMALL_SEGMENTS
  const first = await start(folder, { disk: points.disk, limits }).catch(() => undefined)
  if (first !== undefined) await work(first, history)
  let last = first
  for (const step of steps) {
    if (step === 'power') await faults.losePower(survives)
    else faults.stop()
    await last?.spools.close()
    if (step === 'power') faults = new FaultyDisk()
    else faults.restart()
    last = await start(folder, { disk: new FaultPoints(faults, -1, fault).disk, limits })
    await history.check(last.spool)
    assert.equal(await last.lost(), 0, 'no record counts as lost')
    await history.save(last.spool)
    await history.append(last.spool, 3)
    await history.check(last.spool)
  }
  await last?.spools.close()
  return points.operations
}

async function all(t: Test, fault: Fault, ending: (typeof ENDINGS)[number]): Promise<void> {
  const root = testFolder(t)
  const failures: string[] = []
  const operations = await run(`${root}/none`, -1, fault, ending)
  const one = async (at: number) =>
    await run(`${root}/${at}`, at, fault, ending).catch((error: Error) => {
      failures.push(`${operations[at]} ${at}: ${error.message.split('\n')[0]}`)
    })
  for (let at = 0; at < operations.length; at += CONCURRENCY)
    await Promise.all(operations.slice(at, at + CONCURRENCY).map(async (_, index) => await one(at + index)))
  t.ok(operations.length > 30, `${operations.length} operations`)
  t.strictSame(failures, [])
}

for (const fault of FAULTS)
  for (const ending of fault === 'fails' ? ENDINGS : ENDINGS.slice(-2))
    t.test(`nothing acknowledged is lost if any operation ${fault}, then ${ending[0]}`, async (t) => {
      await all(t, fault, ending)
    })
