import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Test } from 'tap'
import { CLI, TOKEN, type Daemon } from './daemon.js'

/** `edged tail` in a process of its own. */
export function tail(t: Test, { admin }: Daemon, args: readonly string[], token: string | undefined = TOKEN) {
  const env = { PATH: process.env['PATH'], ...(token !== undefined && { EDGED_TOKEN: token }) }
  const child = spawn(process.execPath, [CLI, 'tail', ...args, '--admin', admin.replace('http://', '')], { env })
  t.teardown(() => child.kill('SIGKILL'))
  let out = ''
  let errors = ''
  child.stdout.on('data', (text: Buffer) => (out += text.toString()))
  child.stderr.on('data', (text: Buffer) => (errors += text.toString()))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return { child, ended, out: () => out, lines: () => out.split('\n').slice(0, -1), errors: () => errors }
}
