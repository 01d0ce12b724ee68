import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import type { Test } from 'tap'

/** Why tests that need the command `sqlite3` are skipped. False: they run. */
export const NO_SQLITE =
  spawnSync('sqlite3', ['--version']).status === 0 ? false : 'sqlite3 is not installed (Debian package sqlite3)'

/** Runs SQL on a database, and returns the rows as lines. */
export function sqlite(file: string, sql: string): string[] {
  return execFileSync('sqlite3', ['-batch', file, sql], { encoding: 'utf8' }).split('\n').filter(Boolean)
}

/** A process that has a database open. */
export interface SqliteShell {
  /** Runs SQL. Resolves when it is done. */
  run(sql: string): Promise<void>
  /** Ends the process after the last statement. */
  close(): Promise<void>
  kill(): Promise<void>
}

/** Starts a process that opens a database, and ends with the test. */
export function sqliteShell(t: Test, file: string): SqliteShell {
  const child = spawn('sqlite3', ['-batch', '-bail', file], { stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  const waiting: (() => void)[] = []
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (line === 'done') waiting.shift()?.()
  })
  return {
    async run(sql) {
      const done = new Promise<void>((resolve) => waiting.push(resolve))
      child.stdin.write(`${sql};\n.print done\n`)
      await done
    },
    async close() {
      const ended = once(child, 'exit')
      child.stdin.end()
      await ended
    },
    async kill() {
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}
