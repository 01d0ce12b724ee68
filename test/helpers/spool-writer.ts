import { writeSync } from 'node:fs'
import { openSpools } from '../../pipelines/logpush/spool/index.js'
import { systemClock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import { zone } from '../../src/core/scope.js'

/** Concurrent writers, each with its own records 0, 1, 2, ... */
export const WRITERS = 6
export const CRASH_ZONE = zone('crash')

/** The record with number `n` of a writer. */
export const numberedRecord = (writer: number, n: number): string =>
  JSON.stringify({ EdgeResponseBytes: n, ClientIP: String(writer), ClientRequestURI: 'x'.repeat((n * 37) % 3000) })

// As a program of its own: appends to the spool in the given folder from the given numbers on, and prints what was
// acknowledged as lines of a writer and the number behind its last record.
const [, program, folder, ...from] = process.argv
if (program?.includes('spool-writer') && folder !== undefined) {
  const limits = { bytes: 1e9, segmentBytes: 500_000 }
  const spools = await openSpools(folder, { clock: systemClock, log: silentLog, limits })
  const spool = await spools.open('http_requests', CRASH_ZONE)
  const cursor = await spool.cursor('job')
  const write = async (writer: number) => {
    for (let n = Number(from[writer] ?? 0); ;) {
      const out = spool.writer()
      for (const end = n + 1 + (n % 7); n < end; n++) out.add(Buffer.from(numberedRecord(writer, n)))
      await out.commit()
      writeSync(1, `${writer} ${n}\n`)
    }
  }
  // A reader follows, so that segments are deleted as well. It reports its position.
  const read = async () => {
    for (;;) {
      await spool.waitFor(cursor.state.next + 200, AbortSignal.timeout(60_000))
      await cursor.save({ next: spool.end - 100 })
      writeSync(1, `passed ${cursor.state.next}\n`)
    }
  }
  await Promise.all([...Array.from({ length: WRITERS }, (_, writer) => write(writer)), read()])
}
