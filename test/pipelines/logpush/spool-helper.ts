import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { Registry } from 'prom-client'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import { zone } from '../../../src/core/scope.js'
import { openSpools, type SpoolsOptions } from '../../../pipelines/logpush/spool/index.js'
import type { Position, Spool, WriterOptions } from '../../../pipelines/logpush/spool/types.js'

export const ZONE = zone('9f1839b6152d298aca64c4e906b6d074')

/** Opened spools, closed with the test. */
export async function spoolsIn(t: Test, folder: string, options: Partial<SpoolsOptions> = {}) {
  const metrics = new Registry()
  const spools = await openSpools(folder, {
    clock: systemClock,
    log: silentLog,
    limits: { bytes: 1e10 },
    metrics,
    ...options,
  })
  t.teardown(() => spools.close())
  /** Records that were lost, by reason. */
  const lost = async () => {
    const { values } = await metrics.getSingleMetric('edged_logpush_records_lost_total')!.get()
    const sums: Record<string, number> = {}
    for (const { labels, value } of values) sums[labels['reason']!] = (sums[labels['reason']!] ?? 0) + value
    return sums
  }
  return { spools, spool: await spools.open('http_requests', ZONE), lost }
}

export async function append(spool: Spool, records: readonly (string | object)[], options?: WriterOptions) {
  const writer = spool.writer(options)
  for (const record of records) writer.add(Buffer.from(typeof record === 'string' ? record : JSON.stringify(record)))
  await writer.commit()
}

/** Everything from a position on. */
export async function rest(
  spool: Spool,
  from: Position = spool.start,
): Promise<{ position: Position; line: string }[]> {
  const found: { position: Position; line: string }[] = []
  for (let at = from; ;) {
    const frame = await spool.frame(at)
    if (frame === undefined) return found
    for (let i = Math.max(0, at - frame.first); i < frame.count; i++)
      found.push({ position: frame.first + i, line: Buffer.from(frame.line(i)).toString() })
    at = frame.first + frame.count
    frame.release()
  }
}

export const lines = async (spool: Spool, from?: Position) => (await rest(spool, from)).map(({ line }) => line)

export const spoolFolder = (folder: string) => join(folder, 'scopes', `zone-${ZONE.id}`, 'http_requests')

export const segments = (folder: string): string[] =>
  readdirSync(spoolFolder(folder))
    .filter((name) => name.endsWith('.seg'))
    .sort()
    .map((name) => join(spoolFolder(folder), name))

export const damaged = (folder: string): string[] =>
  existsSync(join(spoolFolder(folder), 'damaged')) ? readdirSync(join(spoolFolder(folder), 'damaged')).sort() : []

/** Records of about 1 KB, told apart by a number. */
export const numbered = (from: number, count: number): object[] =>
  Array.from({ length: count }, (_, i) => ({ EdgeResponseBytes: from + i, ClientRequestURI: `/${'x'.repeat(1000)}` }))

export const numberIn = (line: string): number => (JSON.parse(line) as { EdgeResponseBytes: number }).EdgeResponseBytes
