import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { stringify } from 'yaml'
import { testFolder } from '../helpers/folder.js'

/** The built command. EDGED_TEST_CLI=FILE runs the tests with another one, for example that of an installed release. */
export const CLI = process.env['EDGED_TEST_CLI'] ?? fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))

/** Why the end-to-end tests cannot run here, or false: for the `skip` option of a test. */
export const unbuilt: string | false = existsSync(CLI) ? false : 'dist folder not found; run `npm run build`'

/** The built daemon in a process of its own. */
export interface Daemon {
  readonly pid: number
  /** Base URLs of its listeners, without a slash at the end. */
  readonly proxy: string
  readonly control: string
  readonly admin: string
  /** What it has written so far, a line each. */
  readonly lines: readonly string[]
  /** Writes another configuration, sends SIGHUP and waits for the line that tells what came of it. */
  reload(config: object, outcome?: 'reloaded' | 'reload_failed'): Promise<void>
  /** Sends a signal; resolves at once. */
  signal(signal: NodeJS.Signals): void
  /** Its exit code, when it has ended. */
  readonly ended: Promise<number | null>
  /** Value of a metric, all its labels in one, as in `edged_x_total{outcome="a"}`; undefined where there is none. */
  metric(name: string): Promise<number | undefined>
}

/** `EDGED_TEST_PROCESSES=2` runs the tests with so many proxy processes. */
const PROCESSES = Number(process.env['EDGED_TEST_PROCESSES'] ?? 1)

const START_MS = 60_000
const STOP_MS = 60_000

export const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
export const ZONE = '9f1839b6152d298aca64c4e906b6d074'
export const TOKEN = 'e2e-token-with-every-permission'

/** What ends the daemons: a test, or a drill. */
export type Owner = Pick<Test, 'testdir'> & { teardown(work: () => unknown): unknown }

/** A configuration with one zone, `example.test`, conversion on, for this origin; members of `more` replace its own. */
export function configuration(origin: string, more: object = {}): object {
  return {
    accounts: [{ id: ACCOUNT, name: 'Example' }],
    zones: [
      {
        id: ZONE,
        account: ACCOUNT,
        name: 'example.test',
        hostnames: ['example.test', '127.0.0.1'],
        origin,
        settings: { content_converter: 'on' },
      },
    ],
    tokens: [{ name: 'e2e', token: TOKEN, permissions: ['*'] }],
    ...more,
  }
}

/**
 * Starts `edged serve` on free ports with its files in `folder`, one of the test's own, and waits until it is ready. It is stopped
 * with the test, by force where it does not stop by itself in time. `options` are for Node.js. `within`: a command that runs
 * the command of its last arguments. `cli`: the command of an installed package.
 */
export async function startDaemon(
  t: Owner,
  config: object,
  folder = testFolder(t),
  options: readonly string[] = [],
  within: readonly string[] = [],
  cli = CLI,
): Promise<Daemon> {
  const file = join(folder, 'edged.yaml')
  const write = async (from: object): Promise<void> => {
    const listen = { listen: '127.0.0.1:0' }
    const { proxy = {}, ...rest } = from as { proxy?: object }
    const always = { data: './data', processes: PROCESSES, control: listen, admin: listen }
    const whole = { ...always, proxy: { ...listen, ...proxy }, ...rest }
    await writeFile(file, stringify(whole))
  }
  await write(config)

  // Nothing of the test's own environment: its loaders are for TypeScript.
  const serve = [process.execPath, '--enable-source-maps', ...options, cli, 'serve', '-c', file]
  const [command = '', ...args] = [...within, ...serve]
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH: process.env['PATH'] },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  // Its last lines have been read by then.
  const ended = once(child, 'close').then(([code]) => code as number | null)
  t.teardown(async () => {
    if (child.exitCode !== null || child.signalCode !== null) return
    child.kill('SIGTERM')
    const timer = setTimeout(() => child.kill('SIGKILL'), STOP_MS)
    await ended
    clearTimeout(timer)
  })

  const lines: string[] = []
  const listeners = new Set<(line: string) => void>()
  for (const output of [child.stdout, child.stderr]) {
    createInterface(output).on('line', (line) => {
      lines.push(line)
      for (const listener of listeners) listener(line)
    })
  }

  /** The next line with this event. */
  const event = async (name: string): Promise<Record<string, unknown>> => {
    let listener: (line: string) => void = () => {}
    let timer: NodeJS.Timeout | undefined
    const found = new Promise<Record<string, unknown>>((resolve, reject) => {
      listener = (line) => {
        if (line.includes(`"event":"${name}"`)) resolve(JSON.parse(line) as Record<string, unknown>)
      }
      const give = (why: string) => reject(new Error(`no ${name} line: ${why}\n${lines.join('\n')}`))
      timer = setTimeout(() => give('too late'), START_MS)
      void ended.then((code) => give(`ended with ${code}`))
    })
    listeners.add(listener)
    try {
      return await found
    } finally {
      clearTimeout(timer)
      listeners.delete(listener)
    }
  }

  const ready = (await event('ready')) as { proxy: string; control: string; admin: string }
  const base = (url: string): string => url.replace(/\/$/, '')
  return {
    pid: child.pid!,
    proxy: base(ready.proxy),
    control: base(ready.control),
    admin: base(ready.admin),
    lines,
    ended,
    async reload(to, outcome = 'reloaded') {
      await write(to)
      const reported = event(outcome)
      child.kill('SIGHUP')
      await reported
    },
    signal: (signal) => void child.kill(signal),
    async metric(name) {
      const text = await (await fetch(`${base(ready.admin)}/metrics`)).text()
      const line = text.split('\n').find((line) => line.startsWith(`${name} `))
      return line === undefined ? undefined : Number(line.slice(name.length + 1))
    },
  }
}
