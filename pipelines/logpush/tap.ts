/** Shows records of a running output to watchers while they are put into batches. No output waits for a watcher. */
import { BatchText, scannerOf, type RecordScanner, type Shape } from '../records/index.js'
import type { CompiledJob } from './settings/compiled-job.js'
import type { Lines } from './spool/position.js'
import { TransformedLines } from './transform/transformed-lines.js'

/** Maximum bytes that wait for a watcher. Further records are left out. */
const MAX_WAITING = 1 << 20

interface Watcher {
  readonly job: CompiledJob
  readonly scanner: RecordScanner | undefined
  readonly shape: Shape | undefined
  readonly texts: Uint8Array[]
  waiting: number
  wake: () => void
}

interface ShownRange {
  readonly begin: number
  readonly end: number
  readonly text: BatchText
}

function showLines({ job, scanner, shape }: Watcher, lines: Lines, { begin, end, text }: ShownRange): void {
  const { keeps, samples, looks, writes } = job
  for (let index = begin; index < end; index++) {
    const raw = scanner === undefined ? undefined : lines.raw?.(index)
    const scanned = raw && scanner?.scan(raw)
    if (!keeps(scanned ?? lines.record(index, looks)) || !samples(lines.key(index))) continue
    const record = scanned ?? lines.record(index, writes)
    text.add(shape?.(record) ?? record)
  }
}

/** Adds the records that lines have become. The filter of the watcher is for the records before that. */
function showChanged(
  { job, scanner = scannerOf(job.stored), shape }: Watcher,
  lines: TransformedLines,
  { begin, end, text }: ShownRange,
): void {
  const changed = scannerOf(job.arriving)
  for (let index = begin; index < end; index++) {
    const given = lines.given(index)
    if (given === undefined || !job.keeps(scanner.scan(given)) || !job.samples(lines.key(index))) continue
    for (let at = 0; at < lines.size(index); at++) {
      const { bytes, from, to } = lines.text(index, at)
      const record = changed.scan(bytes, from, to)
      text.add(shape?.(record) ?? record)
    }
  }
}

/** Where an output shows its records. Without watchers it costs nothing. */
export class Tap {
  readonly #watchers = new Set<Watcher>()

  get isWatched(): boolean {
    return this.#watchers.size > 0
  }

  /** Shows lines from `begin` up to `end`. */
  show(lines: Lines, begin: number, end: number): void {
    for (const watcher of this.#watchers) {
      if (watcher.waiting > MAX_WAITING) continue
      const text = new BatchText(watcher.job.format)
      const range = { begin, end, text }
      if (lines instanceof TransformedLines) showChanged(watcher, lines, range)
      else showLines(watcher, lines, range)
      if (text.records === 0) continue
      const bytes = text.close()
      watcher.texts.push(bytes)
      watcher.waiting += bytes.length
      watcher.wake()
    }
  }

  /** Yields texts of new records that a job keeps, in its format. Ends when the signal aborts. */
  async *watch(job: CompiledJob, signal: AbortSignal): AsyncGenerator<Uint8Array, void, undefined> {
    const watcher: Watcher = { job, scanner: job.view?.(), shape: job.shape?.(), texts: [], waiting: 0, wake: () => {} }
    const wake = () => watcher.wake()
    signal.addEventListener('abort', wake)
    this.#watchers.add(watcher)
    try {
      while (!signal.aborted) {
        const text = watcher.texts.shift()
        if (text !== undefined) {
          watcher.waiting -= text.length
          yield text
        } else await new Promise<void>((resolve) => (watcher.wake = resolve))
      }
    } finally {
      this.#watchers.delete(watcher)
      signal.removeEventListener('abort', wake)
    }
  }
}
