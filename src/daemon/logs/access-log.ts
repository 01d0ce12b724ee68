import { Counter } from 'prom-client'
import type { AccessLogConfig } from '../../config/schema.js'
import type { Clock } from '../../core/clock.js'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import { ACCESS_FORMATS, AccessLog } from '../../edge/records/access-log.js'
import { LineFile, type LineWriter } from './line-file.js'
import { LineOutput } from './line-output.js'

/** Minimum time between two log lines about a file that cannot be written. */
const REPORT_MS = 60_000

export interface AccessLogDeps {
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

/** The access log of the daemon, with the file that it is written to. */
export class DaemonAccessLog {
  readonly entries = new AccessLog()
  readonly #deps: AccessLogDeps
  readonly #dropped: Counter
  #config: AccessLogConfig
  #writer: LineWriter | undefined
  #reportedAt = -Infinity

  private constructor(deps: AccessLogDeps) {
    this.#deps = deps
    this.#dropped = new Counter({
      name: 'edged_access_log_lines_dropped_total',
      help: 'Lines of the access log that were dropped because the file, or the reader of standard output, was too slow.',
      registers: [deps.metrics],
    })
  }

  /** Opens the file. Rejects if it cannot be opened. */
  static async open(config: AccessLogConfig, deps: AccessLogDeps): Promise<DaemonAccessLog> {
    const log = new DaemonAccessLog(deps)
    await log.configure(config)
    return log
  }

  /** Applies new options. Rejects, and retains the old ones, if the file cannot be opened. */
  async configure(config: AccessLogConfig): Promise<void> {
    if (JSON.stringify(config) === JSON.stringify(this.#config)) return
    const replaced = this.#writer
    const writer = config && (await this.#open(config.file))
    this.#config = config
    this.#writer = writer
    this.entries.target = config &&
      writer && {
        format: ACCESS_FORMATS[config.format],
        write: (line) => writer.write(line),
        sample: config.sample,
      }
    await replaced?.close()
  }

  /** Opens the file again, for a log rotation that renamed it. A failure is logged, and the old file stays open. */
  async reopen(): Promise<void> {
    try {
      await this.#writer?.reopen()
    } catch (error) {
      this.#failed(error)
    }
  }

  async close(): Promise<void> {
    this.entries.target = undefined
    await this.#writer?.close()
  }

  async #open(file: string): Promise<LineWriter> {
    const events = {
      dropped: (lines: number) => this.#dropped.inc(lines),
      failed: (error: unknown) => this.#failed(error),
    }
    if (file === '-') return new LineOutput(events)
    try {
      return await LineFile.open(file, events)
    } catch (error) {
      throw new Error(
        `access_log.file: cannot open ${file}: ${messageOf(error)}; create its folder or change access_log.file`,
        {
          cause: error,
        },
      )
    }
  }

  #failed(error: unknown): void {
    const { clock, log } = this.#deps
    if (clock.monotonic() - this.#reportedAt < REPORT_MS) return
    this.#reportedAt = clock.monotonic()
    log.error({ event: 'access_log_failed', file: this.#config?.file, error: messageOf(error) })
  }
}
