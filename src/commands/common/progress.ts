import type { WriteStream } from 'node:tty'
import cliProgress from 'cli-progress'
import type { RunStats } from '../../../pipelines/sources/intake/run-stats.js'

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
    format: (options, { progress, eta }, payload: { text: string }) => {
      if (total === 0) return payload.text
      const shown = cliProgress.Format.BarFormat(progress, options)
      return `${shown} ${Math.floor(progress * 100)}% | ${payload.text} | ${cliProgress.Format.TimeFormat(eta, options, 1)} left`
    },
  })
  const sum = (of: (stats: RunStats) => number) => runs.reduce((all, stats) => all + of(stats), 0)
  const update = () => {
    const records = sum((stats) => stats.read)
    const bytes = sum((stats) => stats.inputBytes)
    const rate = Math.round((records * 1000) / (performance.now() - began))
    const text = `${records} records | ${(bytes / 1e6).toFixed(1)} MB | ${rate} records/s`
    bar.setTotal(Math.max(total, 1))
    bar.update(Math.min(bytes, Math.max(total, 1)), { text })
  }
  return {
    start(all) {
      runs = all
      bar.start(1, 0, { text: '' })
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
  const format = `{bar} {value} of {total} ${what} | {eta_formatted} left`
  const bar = new cliProgress.SingleBar({ stream, format, hideCursor: true, clearOnComplete: true, noTTYOutput: false })
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
