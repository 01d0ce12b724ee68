import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { accessSync, constants, statSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { fileFault, messageOf } from '../../core/errors.js'
import { printable } from '../../core/printable.js'

/** Time for one run, which includes the time until the name servers have the record. */
const RUN_MS = 120_000
/** Time between SIGTERM and SIGKILL. */
const GRACE_MS = 2000
const MAX_OUTPUT = 300

/** One TXT record of the challenge dns-01 (RFC 8555, 8.4). */
export interface DnsRecord {
  /** `_acme-challenge.example.com`, without a dot at the end. */
  readonly name: string
  readonly value: string
}

/** Returns the record that proves control of a host name or a `*.` pattern. */
export const dnsRecord = (name: string, authorization: string): DnsRecord => ({
  name: `_acme-challenge.${name.replace(/^\*\./, '')}`,
  value: createHash('sha256').update(authorization).digest('base64url'),
})

/**
 * Runs `COMMAND present|cleanup RECORD-NAME VALUE`. Rejects with the name of the command if it cannot be started, exits
 * with another code than 0, or runs longer than 2 minutes. In the last case, and if `signal` aborts, it is ended with
 * all processes that it has started.
 */
export async function runDnsCommand(
  command: readonly string[],
  action: 'present' | 'cleanup',
  { name, value }: DnsRecord,
  { signal, timeoutMs = RUN_MS }: { signal?: AbortSignal; timeoutMs?: number } = {},
): Promise<void> {
  const [program = '', ...given] = command
  const called = `${program} ${action} ${name}`
  signal?.throwIfAborted()
  await new Promise<void>((resolve, reject) => {
    // A process group of its own, so that the programs that it starts end with it.
    const child = spawn(program, [...given, action, name, value], { stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    let output = ''
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (output = (output + chunk.toString()).slice(-MAX_OUTPUT)))
    let killing: NodeJS.Timeout | undefined
    const end = (reason: string): void => {
      failed ??= reason
      killGroup(child.pid, 'SIGTERM')
      killing ??= setTimeout(() => killGroup(child.pid, 'SIGKILL'), GRACE_MS)
    }
    let failed: string | undefined
    const stop = (): void => end(`${called} was ended because the daemon stops`)
    const timer = setTimeout(() => end(`${called} did not exit within ${timeoutMs / 1000} s and was ended`), timeoutMs)
    signal?.addEventListener('abort', stop, { once: true })
    const settle = (reason: string | undefined): void => {
      clearTimeout(timer)
      clearTimeout(killing)
      signal?.removeEventListener('abort', stop)
      // What the command has left behind in its group.
      if (failed !== undefined) killGroup(child.pid, 'SIGKILL')
      child.stdout.destroy()
      child.stderr.destroy()
      const why = failed ?? reason
      if (why === undefined) resolve()
      else reject(new Error(why))
    }
    child.once('error', (error) => settle(`${program} cannot be started: ${messageOf(error)}`))
    // Not "close": a program in the background may keep the pipes open.
    child.once('exit', (code, by) => {
      if (code === 0) return settle(undefined)
      setImmediate(() => settle(`${called} ended with ${by ?? `exit code ${code}`}${said(output)}`))
    })
  })
}

function killGroup(pid: number | undefined, signal: NodeJS.Signals): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, signal)
  } catch {
    // The group has ended.
  }
}

function said(output: string): string {
  const text = printable(output.trim().replaceAll(/\s+/g, ' '))
  return text === '' ? '' : `: ${text}`
}

/** Returns why a program cannot be run, undefined if it can. A name without a slash is looked for in PATH. */
export function programIssue(program: string): string | undefined {
  if (program.includes('/')) return pathIssue(program)
  const folders = (process.env['PATH'] ?? '').split(delimiter).filter((folder) => folder !== '')
  if (folders.some((folder) => pathIssue(join(folder, program)) === undefined)) return undefined
  return `${program} is not in PATH; write the path of the program`
}

function pathIssue(path: string): string | undefined {
  try {
    if (!statSync(path).isFile()) return `${path} is not a file`
    accessSync(path, constants.X_OK)
    return undefined
  } catch (error) {
    const isDenied = (error as NodeJS.ErrnoException).code === 'EACCES'
    return isDenied ? `${path} is not executable; run chmod +x on it` : `${path}: ${fileFault(error)}`
  }
}
