import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import t from 'tap'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import { openSpools } from '../../../pipelines/logpush/spool/index.js'
import type { Position } from '../../../pipelines/logpush/spool/types.js'
import { testFolder } from '../../helpers/folder.js'
import { programArgs } from '../../helpers/program.js'
import { CRASH_ZONE, numberedRecord, WRITERS } from '../../helpers/spool-writer.js'
import { rest } from './spool-helper.js'

const KILLS = Number(process.env['SPOOL_KILLS'] ?? 5)
const PROGRAM = programArgs(new URL('../../helpers/spool-writer.ts', import.meta.url))

function reported(line: string): { writer: number; n: number; filler: string } {
  const { ClientIP, EdgeResponseBytes, ClientRequestURI } = JSON.parse(line) as Record<string, unknown>
  return { writer: Number(ClientIP), n: Number(EdgeResponseBytes), filler: String(ClientRequestURI) }
}

t.test(`${KILLS} times kill -9: nothing acknowledged is lost, and no record comes twice`, async (t) => {
  const folder = testFolder(t)
  /** Behind the last record of each writer that was acknowledged. */
  const acknowledged = Array.from({ length: WRITERS }, () => 0)
  /** Behind the last record of each writer that is there. */
  const there = Array.from({ length: WRITERS }, () => 0)
  const positions = new Map<Position, string>()
  let passed = 0
  for (let kill = 0; kill < KILLS; kill++) {
    const child = spawn(process.execPath, [...PROGRAM, folder, ...there.map(String)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const lines = createInterface(child.stdout)
    lines.on('line', (line) => {
      const [who, n] = line.split(' ')
      if (who === 'passed') passed = Number(n)
      else acknowledged[Number(who)] = Number(n)
    })
    await once(lines, 'line')
    await wait(Math.random() * 400)
    child.kill('SIGKILL')
    await once(lines, 'close')

    const limits = { bytes: 1e9, segmentBytes: 500_000 }
    const spools = await openSpools(folder, { clock: systemClock, log: silentLog, limits })
    const spool = await spools.open('http_requests', CRASH_ZONE)
    const { next } = (await spool.cursor('job')).state
    if (next < passed) t.fail(`the reader had passed ${passed}, is at ${next}`)
    const found = await rest(spool)
    const before: number[] = []
    for (const { position, line } of found) {
      const { writer, n } = reported(line)
      if ((before[writer] ?? n - 1) !== n - 1) t.fail(`writer ${writer}: ${n} follows ${before[writer]}`)
      before[writer] = n
      if ((positions.get(position) ?? line) !== line) t.fail(`position ${position} has another record`)
      positions.set(position, line)
    }
    await spools.close()

    const numbers = Array.from({ length: WRITERS }, () => new Set<number>())
    for (const line of positions.values()) {
      const { writer, n, filler } = reported(line)
      if (numbers[writer]!.has(n)) t.fail(`record ${n} of writer ${writer} comes twice`)
      numbers[writer]!.add(n)
      if (filler !== reported(numberedRecord(writer, n)).filler)
        t.fail(`record ${n} of writer ${writer} is not what it was`)
    }
    const kept = spool.start
    for (const [writer, own] of numbers.entries()) {
      const last = Math.max(-1, ...own)
      if (last + 1 < acknowledged[writer]!)
        t.fail(`writer ${writer}: ${acknowledged[writer]} were acknowledged, ${last + 1} are there`)
      there[writer] = last + 1
    }
    for (let position = kept; position < spool.end; position++)
      if (!positions.has(position)) t.fail(`position ${position} has no record`)
  }
  t.ok(positions.size > 0)
})
