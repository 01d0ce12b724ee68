import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { table } from '../bench/measure.mjs'
import { Installation, VICTIMS, type Outcome } from './installation.js'
import { MAX_MOVE_MS, maxRepeats } from './limits.js'

const BETWEEN_MS = 500

/**
 * Kills two daemons, Redis and nats-server in turn under load and prints the times. Returns failures: something confirmed
 * is lost, something was delivered twice that was not on its way, or work moved too slowly.
 */
export async function killMachines(kills: number): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'edged-machines-'))
  const teardowns: (() => unknown)[] = []
  const owner = { teardown: (work: () => unknown) => void teardowns.push(work), testdir: () => folder }
  try {
    const installation = await Installation.start(owner, folder)
    installation.load()
    const outcomes: Outcome[] = []
    for (let n = 0; n < kills; n++) {
      await wait(BETWEEN_MS)
      const outcome = await installation.kill(VICTIMS[n % VICTIMS.length]!)
      outcomes.push(outcome)
      console.error(JSON.stringify(outcome))
    }
    const { confirmed, lost, repeatedRecords, repeatedDeliveries } = await installation.finish()
    table(outcomes.map(({ killed, ...times }, n) => ({ kill: n + 1, killed, ...times })))
    console.log(
      '\nmilliseconds after the kill, until: API changes are confirmed; records and a finding that were confirmed',
    )
    console.log('after it are delivered; a purge has reached every daemon\n')
    table(Object.entries(confirmed).map(([what, count]) => ({ what, confirmed: count, lost: lost[what] ?? 0 })))
    console.log(`\ndelivered again: ${repeatedRecords} records, ${repeatedDeliveries} findings`)
    const most = maxRepeats(outcomes)
    console.log(`limits: 0 lost, ${MAX_MOVE_MS} ms, ${most.records} records and ${most.deliveries} findings again`)
    const slow = outcomes.filter(({ killed: _killed, ...times }) => Math.max(...Object.values(times)) > MAX_MOVE_MS)
    return [
      ...Object.entries(lost).flatMap(([what, count]) => (count > 0 ? [`${count} ${what} are lost`] : [])),
      ...slow.map(({ killed }) => `work moved too slowly after the kill of ${killed}`),
      ...(repeatedRecords > most.records ? [`${repeatedRecords} records were delivered again`] : []),
      ...(repeatedDeliveries > most.deliveries ? [`${repeatedDeliveries} findings were delivered again`] : []),
    ]
  } finally {
    for (const work of teardowns.toReversed()) await work()
    rmSync(folder, { recursive: true, force: true })
  }
}
