import { Session, type Profiler } from 'node:inspector'

/** Says which inputs reach code that no input before them reached, by the precise coverage of V8. */
export class Coverage {
  readonly #session = new Session()
  readonly #seen = new Set<string>()

  constructor() {
    this.#session.connect()
    this.#session.post('Profiler.enable')
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
  }

  /** Number of blocks that were reached, each counted once for 1, 2, 4, 8 and more times. */
  get size(): number {
    return this.#seen.size
  }

  /** Returns whether anything new was reached since the last call. */
  isNew(): boolean {
    const before = this.#seen.size
    for (const { url, scriptId, functions } of this.#take()) {
      if (!/\/(?:src|pipelines)\//.test(url) || url.includes('/node_modules/')) continue
      for (const { ranges } of functions)
        for (const { startOffset, endOffset, count } of ranges)
          if (count > 0)
            this.#seen.add(`${scriptId} ${startOffset} ${endOffset} ${Math.min(8, Math.floor(Math.log2(count)))}`)
    }
    return this.#seen.size > before
  }

  close(): void {
    this.#session.post('Profiler.stopPreciseCoverage')
    this.#session.disconnect()
  }

  #take(): readonly Profiler.ScriptCoverage[] {
    let result: readonly Profiler.ScriptCoverage[] = []
    // The callback is called before `post` returns.
    this.#session.post('Profiler.takePreciseCoverage', (_error, taken) => (result = taken?.result ?? []))
    return result
  }
}
