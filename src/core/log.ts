import { pino, type DestinationStream, type Logger, type LoggerOptions } from 'pino'
import pretty from 'pino-pretty'

export type Log = Logger

/** Lines of one event that one second may have. Clients cause some events, and a line takes time. */
const MAX_LINES = 1000

/** Limits the lines of each event, and counts the dropped lines. */
class LineLimit {
  readonly #lines = new Map<string, number>()
  #second = 0

  /** Returns whether a line may be written. `report` gets the number of lines that earlier seconds dropped. */
  allows(event: string, report: (event: string, lines: number) => void): boolean {
    const second = Math.floor(performance.now() / 1000)
    if (second !== this.#second) {
      this.#second = second
      const counts = [...this.#lines]
      this.#lines.clear()
      for (const [of, lines] of counts) if (lines > MAX_LINES) report(of, lines - MAX_LINES)
    }
    const lines = (this.#lines.get(event) ?? 0) + 1
    this.#lines.set(event, lines)
    return lines <= MAX_LINES
  }
}

const STDOUT = { dest: 1, sync: true }

/** Creates a log of one JSON object per line on standard output, or readable text if the output is a terminal. */
export function openLog({ level }: { level: string }, output: DestinationStream = pino.destination(STDOUT)): Log {
  const limit = new LineLimit()
  const base: LoggerOptions = {
    hooks: {
      logMethod(args, method) {
        const [facts] = args as [unknown]
        const event = typeof facts === 'object' && facts !== null && 'event' in facts ? String(facts.event) : ''
        const report = (of: string, lines: number) => this.warn({ event: 'log_lines_dropped', of, lines })
        if (limit.allows(event, report)) method.apply(this, args)
      },
    },
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  if (!process.stdout.isTTY) return pino(base, output)
  return pino(base, pretty({ sync: true, ignore: 'pid,hostname' }))
}

/** Accepts everything and writes nothing, for tests and libraries. */
export const silentLog: Log = pino({ level: 'silent' })
