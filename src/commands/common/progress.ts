import type { WriteStream } from 'node:tty'
import cliProgress from 'cli-progress'
import type { RunStats } from '../../../pipelines/sources/intake/run-stats.js'
import { bytesText } from './bytes-text.js'
import { clockText } from './durations.js'
import { cut } from './text-width.js'

/** How far a run is, on a terminal; elsewhere nothing. */
export interface Progress {
  start(runs: readonly RunStats[]): void
  /** So many bytes more are to be read. */
  readonly size: (bytes: number) => void
  /** Writes lines that stay. */
  above(write: () => void): void
  stop(): void
}

const EVERY_MS = 250
/** Columns of the line of progress. */
const WIDTH = 79

/** How far a run is. */
interface Step {
  readonly bytes: number
  readonly records: number
  readonly rate: number
  /** Records that are invalid, dropped or lost. */
  readonly failed: number
}

/** Returns the progress as one line of at most 80 columns. */
function line(
  { bytes = 0, records = 0, rate = 0, failed = 0 }: Partial<Step>,
  total: number,
  part: number,
  eta: number,
) {
  const count = countText(records)
  const done =
    total === 0
      ? [`${count} records`, bytesText(bytes)]
      : [`${percent(part)} %`, `${bytesText(bytes)} of ${bytesText(total)}`, `${count} records`]
  const left = total > 0 && Number.isFinite(eta) && eta > 0 ? [`${clockText(eta)} left`] : []
  const rest = [`${countText(rate)}/s`, ...left, ...(failed > 0 ? [`${countText(failed)} failed`] : [])]
  return cut(` ${[...done, ...rest].join('  ')}`, WIDTH)
}

/** Returns a count that takes at most 9 columns, `1.2 M` from a million on. */
function countText(count: number): string {
  if (count < 1e6) return count.toLocaleString('en')
  return count < 1e9 ? `${(count / 1e6).toFixed(1)} M` : `${(count / 1e9).toFixed(1)} G`
}

const percent = (part: number): string => String(Math.floor(part * 100)).padStart(2)

/** Shows records, bytes, rate and, if the size of the input is known, the remaining time. */
export function showProgress(stream: NodeJS.WriteStream & Partial<WriteStream>): Progress {
  if (!stream.isTTY) return { start() {}, size() {}, above: (write) => write(), stop() {} }
  let total = 0
  let runs: readonly RunStats[] = []
  let timer: NodeJS.Timeout | undefined
  const began = performance.now()
  const bar = new cliProgress.SingleBar({
    stream,
    hideCursor: true,
    clearOnComplete: true,
    etaBuffer: 40,
    format: (_options, { progress, eta }, payload: Partial<Step>) => line(payload, total, progress, eta),
  })
  const sum = (of: (stats: RunStats) => number) => runs.reduce((all, stats) => all + of(stats), 0)
  const update = () => {
    const bytes = sum((stats) => stats.inputBytes)
    const records = sum((stats) => stats.read)
    const rate = Math.round((records * 1000) / (performance.now() - began))
    const failed = sum((stats) => stats.rejected + stats.dropped + stats.lost)
    bar.setTotal(Math.max(total, 1))
    bar.update(Math.min(bytes, Math.max(total, 1)), { bytes, records, rate, failed } satisfies Step)
  }
  return {
    start(all) {
      runs = all
      bar.start(1, 0, {})
      timer = setInterval(update, EVERY_MS)
      timer.unref()
    },
    size: (bytes) => void (total += bytes),
    above: (write) => above(stream, write),
    stop() {
      clearInterval(timer)
      bar.stop()
    },
  }
}

/** How many of `total` are done, on a terminal; elsewhere nothing. */
export function showCount(stream: NodeJS.WriteStream & Partial<WriteStream>, total: number, what: string) {
  const bar = new cliProgress.SingleBar({
    stream,
    hideCursor: true,
    clearOnComplete: true,
    noTTYOutput: false,
    format: (_options, { progress, value, eta }) =>
      ` ${percent(progress)} %  ${value} of ${total} ${what}${Number.isFinite(eta) && eta > 0 ? `  ${clockText(eta)} left` : ''}`,
  })
  if (stream.isTTY) bar.start(total, 0)
  return {
    done: (count: number): void => bar.update(count),
    /** Writes lines that stay. */
    above: (write: () => void): void => above(stream, write),
    stop: (): void => bar.stop(),
  }
}

/** Saves the position of the cursor, to which the bar returns when it stops: it would erase the line there. */
const SAVE_CURSOR = '\x1b7'

function above(stream: NodeJS.WriteStream & Partial<WriteStream>, write: () => void): void {
  if (stream.isTTY) {
    stream.clearLine?.(0)
    stream.cursorTo?.(0)
  }
  write()
  if (stream.isTTY) stream.write(SAVE_CURSOR)
}
