import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import type { Test } from 'tap'

/** Runs a script in bash, and returns what it printed. Fails the test, with all output, unless its exit code is 0. */
export async function runShell(
  t: Test,
  script: string,
  { folder, env, name = 'the script' }: { folder: string; env: NodeJS.ProcessEnv; name?: string },
): Promise<string> {
  const shell = spawn('bash', ['-c', script], { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
  t.teardown(() => {
    try {
      // What a failed command has left running is in the group of the shell.
      process.kill(-shell.pid!, 'SIGKILL')
    } catch {
      // The group has ended.
    }
  })
  const ended = new Promise<number | null>((resolve) => shell.on('exit', resolve))
  const [out, errors, code] = await Promise.all([text(shell.stdout), text(shell.stderr), ended])
  t.equal(code, 0, `${name}\n${out}\n${errors}`)
  return out
}
