import { pino, type Logger } from 'pino'
import pretty from 'pino-pretty'

export type Log = Logger

/** Creates a log of one JSON object per line on standard output; readable text if that is a terminal. */
export function openLog({ level }: { level: string }): Log {
  const base = {
    level,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
  }
  if (!process.stdout.isTTY) return pino(base, pino.destination({ dest: 1, sync: true }))
  return pino(base, pretty({ sync: true, ignore: 'pid,hostname' }))
}

/** Accepts everything and writes nothing, for tests and libraries. */
export const silentLog: Log = pino({ level: 'silent' })
