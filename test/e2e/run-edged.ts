import { spawn } from 'node:child_process'
import { text } from 'node:stream/consumers'
import { CLI } from './daemon.js'

/** Runs a command of the built product in a folder. Resolves with its exit code, and what it wrote to both outputs. */
export async function edged(folder: string, ...args: string[]): Promise<{ code: number; output: string }> {
  const child = spawn(process.execPath, [CLI, ...args], { cwd: folder, env: { PATH: process.env['PATH'] } })
  const [output, errors, code] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    new Promise<number>((resolve) => child.once('close', resolve)),
  ])
  return { code, output: output + errors }
}
