import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { table } from '../bench/measure.mjs'
import { usageOf, type Usage } from './process-usage.js'
import { SoakTraffic } from './soak-traffic.js'

const SAMPLE_MS = 1000
const SHARES = 6
/** Traffic before the measurement: code is compiled and pools are filled meanwhile. */
const WARM_UP_SHARE = 0.1
/** Growth of memory from the first sixth to the last: of its size, and at least this. */
const MAX_RSS_GROWTH = 0.25
const RSS_SLACK_MB = 64
/** The heap still grows to its usual size in the first minutes. */
const SHORT_SECONDS = 600
const SHORT_SLACK_MB = 128
/** Files and sockets more than before the traffic, after it. */
const MAX_SOCKETS = 8
const MAX_FILES = 32
const DRAIN_SECONDS = 120

interface Sample extends Usage {
  readonly at: number
}

/**
 * Sends mixed traffic for a time and prints a table of its first and last sixth. Returns failures: memory or handles grew,
 * requests failed, or something confirmed is lost.
 */
export async function soak(seconds: number): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'edged-soak-'))
  const teardowns: (() => unknown)[] = []
  const owner = { teardown: (work: () => unknown) => void teardowns.push(work), testdir: () => folder }
  try {
    const traffic = await SoakTraffic.start(owner, folder)
    const { pid } = traffic.daemon
    await traffic.once()
    await drained(traffic)
    const before = usageOf(pid)
    traffic.begin()
    await wait(seconds * 1000 * WARM_UP_SHARE)
    traffic.forgetTimes()
    const started = performance.now()
    const samples: Sample[] = []
    const lasting = seconds * 1000 * (1 - WARM_UP_SHARE)
    for (let at = 0; at < lasting; at = performance.now() - started) {
      samples.push({ at, ...usageOf(pid) })
      await wait(SAMPLE_MS)
    }
    const { sent, failed, lost } = await traffic.end()
    await drained(traffic)
    const last = performance.now() + DRAIN_SECONDS * 1000
    let after = usageOf(pid)
    while (!isQuiet(before, after) && performance.now() < last) {
      await wait(SAMPLE_MS)
      after = usageOf(pid)
    }

    const part = (n: number) => samples.filter(({ at }) => Math.floor((at / lasting) * SHARES) === n)
    const row = (time: string, n: number) => {
      const of = (key: keyof Usage) => median(part(n).map((sample) => sample[key]))
      const times = traffic.times
        .filter(({ at }) => Math.floor(((at - started) / lasting) * SHARES) === n)
        .map(({ ms }) => ms)
        .toSorted((a, b) => a - b)
      return {
        time,
        'RSS MB': of('rss').toFixed(0),
        'RSS of Workers MB': of('children').toFixed(0),
        sockets: of('sockets'),
        files: of('files'),
        'p50 ms': times[Math.floor(times.length * 0.5)]?.toFixed(1) ?? '-',
        'p99 ms': times[Math.floor(times.length * 0.99)]?.toFixed(1) ?? '-',
      }
    }
    const usage = (time: string, { rss, children, sockets, files }: Usage) => ({
      time,
      'RSS MB': rss.toFixed(0),
      'RSS of Workers MB': children.toFixed(0),
      sockets,
      files,
    })
    table([
      row('first sixth', 0),
      row('last sixth', SHARES - 1),
      usage('before, without traffic', before),
      usage('after, without traffic', after),
    ])
    console.log()
    table(
      Object.entries(sent).map(([what, count]) => ({ what, sent: count, failed: failed[what], lost: lost[what] ?? 0 })),
    )

    const first = median(part(0).map(({ rss }) => rss))
    const grown = median(part(SHARES - 1).map(({ rss }) => rss)) - first
    const most = Math.max(first * MAX_RSS_GROWTH, seconds < SHORT_SECONDS ? SHORT_SLACK_MB : RSS_SLACK_MB)
    console.log(
      `\nmemory grew by ${grown.toFixed(0)} MB; limit ${most.toFixed(0)} MB. Limits after the traffic: ${MAX_SOCKETS} sockets and ${MAX_FILES} files more`,
    )
    return [
      ...(grown > most ? [`memory grew by ${grown.toFixed(0)} MB`] : []),
      ...(isQuiet(before, after)
        ? []
        : [
            `handles before: ${before.sockets} sockets, ${before.files} files; after: ${after.sockets}, ${after.files}`,
          ]),
      ...Object.entries(failed).flatMap(([what, count]) => (count > 0 ? [`${count} of ${what} failed`] : [])),
      ...Object.entries(lost).flatMap(([what, count]) => (count > 0 ? [`${count} ${what} are lost`] : [])),
    ]
  } finally {
    for (const work of teardowns.toReversed()) await work()
    rmSync(folder, { recursive: true, force: true })
  }
}

const isQuiet = (before: Usage, after: Usage): boolean =>
  after.sockets <= before.sockets + MAX_SOCKETS && after.files <= before.files + MAX_FILES

/** Resolves when no connection of a client or to an origin is open, or after a time. */
async function drained({ daemon }: SoakTraffic): Promise<void> {
  const last = performance.now() + DRAIN_SECONDS * 1000
  let least = Infinity
  // Idle connections end after some seconds: quiet is a number of sockets that stays for as long.
  for (let quiet = 0; quiet < 5 && performance.now() < last; quiet++) {
    const { sockets } = usageOf(daemon.pid)
    if (sockets < least) quiet = 0
    least = Math.min(least, sockets)
    await wait(SAMPLE_MS)
  }
}

const median = (numbers: readonly number[]): number => numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? 0
