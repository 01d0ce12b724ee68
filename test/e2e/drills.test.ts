import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { findWorkerd } from '../../src/workers/runtime/binary.js'
import { unbuilt } from './daemon.js'

/** Runs a drill for some seconds; `npm run drills` has the long forms. */
async function drill(...args: string[]): Promise<{ code: number | null; output: string }> {
  const child = spawn(process.execPath, ['test/drills/run.mjs', ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  const ended = once(child, 'exit')
  const output = await Promise.all([text(child.stdout), text(child.stderr)])
  const [code] = (await ended) as [number | null]
  return { code, output: output.join('') }
}

t.test(
  'a killed process ends its own connections only, and nothing that the API has acknowledged is lost',
  { skip: unbuilt || (!existsSync('/proc/self/net/tcp') && 'reads the connections of a process from /proc') },
  async (t) => {
    // How soon a process is replaced depends on the machine.
    const { code, output } = await drill('kill', '--seconds', '4', '--max-replace-ms', '60000')
    t.equal(code, 0, output)
  },
)

t.test('HTTP/2 clients that reset and abort never get bytes of another stream', { skip: unbuilt }, async (t) => {
  const { code, output } = await drill('mixing', '--seconds', '4', '--clients', '40')
  t.equal(code, 0, output)
})

t.test(
  'no server of others reads more requests than edged sends it, and edged none more than they send',
  { skip: unbuilt },
  async (t) => {
    const { code, output } = await drill('garden', '--cases', '240')
    t.equal(code, 0, output)
    for (const [line] of output.matchAll(/.*skipped, not installed.*/g)) t.comment(line)
  },
)

t.test('a liar gets nothing that a verified agent gets', { skip: unbuilt }, async (t) => {
  const { code, output } = await drill('agents', '--max-ms', '60000')
  t.equal(code, 0, output)
})

t.test(
  'faults of a Worker harm no other account, lose no request to uploads and no data of Durable Objects',
  {
    skip:
      unbuilt ||
      (findWorkerd() === undefined && 'the npm package workerd is not installed') ||
      (!existsSync('/proc/self/status') && 'finds the processes of the runtime in /proc'),
  },
  async (t) => {
    const limits = ['--max-refusal-ms', '60000', '--max-cut-ms', '60000']
    const { code, output } = await drill('workers', '--uploads', '4', '--quiet-ms', '100', '--compare', '0', ...limits)
    t.equal(code, 0, output)
  },
)
