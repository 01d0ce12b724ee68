import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { GENERATION_FOLDER, type RuntimeConfig } from './config.js'

const MAX_STDERR_BYTES = 16 * 1024
/** Lines of the runtime for its own developers, without information about a script. */
const INTERNAL_LINES = /^.*\.c\+\+:\d+: \w+: NOSENTRY .*\n?/gm
/** Without it a killed daemon leaves its processes running. */
const SETPRIV = ['/usr/bin/setpriv', '/bin/setpriv'].find((path) => existsSync(path))

/** The process did not start. `text` is its output on standard error, or empty if the start took too long. */
export class StartFailed extends Error {
  override readonly name = 'StartFailed'
  readonly text: string

  constructor(text: string) {
    super(text === '' ? 'the runtime did not start in time' : text)
    this.text = text
  }
}

export interface StartOptions {
  readonly binary: string
  readonly config: RuntimeConfig
  /**
   * Folder of one process, because sockets cannot be bound twice. Created here and removed after the process has ended.
   */
  readonly folder: string
  /** Allows experimental features, and opens the socket for other processes. */
  readonly experimental: boolean
  readonly timeoutMs: number
  /** Called with each part of the text on standard error after the start. */
  readonly printed?: (text: string) => void
}

/** Name of the socket through which other processes of the account call scripts. */
export const PEER_SOCKET = 'peer'

/** One process of the runtime that listens on all of its sockets. */
export class RuntimeProcess {
  readonly folder: string
  readonly startMs: number
  /** Warnings that the process wrote while it started. */
  readonly warnings: string
  /** Resolves when the process has ended. */
  readonly exited: Promise<void>
  /** Resolves when the process has ended and its folder is removed. */
  readonly ended: Promise<void>
  readonly #child: ChildProcess

  constructor(
    child: ChildProcess,
    of: { exited: Promise<void>; ended: Promise<void>; folder: string; startMs: number; warnings: string },
  ) {
    this.#child = child
    this.exited = of.exited
    this.ended = of.ended
    this.folder = of.folder
    this.startMs = of.startMs
    this.warnings = of.warnings
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  socket(name: string): string {
    return `${this.folder}/${name}`
  }

  /** Ends the process after requests in flight, or after `ms`. */
  async stop(ms: number): Promise<void> {
    this.#child.kill('SIGTERM')
    const timer = setTimeout(() => this.kill(), ms)
    await this.ended
    clearTimeout(timer)
  }

  /** Stops the process without ending it, until {@link resume}. */
  pause(): void {
    this.#child.kill('SIGSTOP')
  }

  resume(): void {
    this.#child.kill('SIGCONT')
  }

  /** Kills the process. A script in an endless loop ignores SIGTERM. */
  kill(): void {
    this.#child.kill('SIGKILL')
  }
}

/** Starts a process. Rejects with {@link StartFailed} if it ends or if a socket does not listen in time. */
export async function startRuntime(options: StartOptions): Promise<RuntimeProcess> {
  const { binary, config, folder, experimental, timeoutMs, printed } = options
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, 'config.capnp')
  await writeFile(file, config.text.replaceAll(GENERATION_FOLDER, folder), { mode: 0o600 })
  const serve = [
    'serve',
    ...(experimental ? ['--experimental', `--debug-port=unix:${join(folder, PEER_SOCKET)}`] : []),
    file,
    'config',
    '--control-fd',
    '3',
  ]
  const [command = '', ...args] = [
    ...(SETPRIV === undefined ? [] : [SETPRIV, '--pdeathsig', 'KILL', '--']),
    binary,
    ...serve,
  ]
  const begun = performance.now()
  // The environment of the daemon has secrets.
  const child = spawn(command, args, { cwd: folder, env: {}, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr?.on('data', (chunk: Buffer) => {
    if (stderr.length < MAX_STDERR_BYTES) stderr += chunk.toString('utf8')
  })
  // Output of console.log does not name its script, but traces do.
  child.stdout?.resume()
  const exited = new Promise<void>((resolve) => {
    child.once('error', () => resolve())
    child.once('exit', () => resolve())
  })
  const ended = exited.then(async () => await rm(folder, { recursive: true, force: true }))
  const isReady = await listening(child, config.sockets.length + (experimental ? 1 : 0), { ended, timeoutMs })
  if (!isReady) {
    const timedOut = child.exitCode === null && child.signalCode === null
    child.kill('SIGKILL')
    await ended
    throw new StartFailed(timedOut ? '' : withoutInternals(stderr) || 'the runtime ended while it started')
  }
  const startMs = performance.now() - begun
  // The file holds secrets.
  await rm(file, { force: true })
  if (printed) child.stderr?.on('data', (chunk: Buffer) => printed(chunk.toString('utf8')))
  return new RuntimeProcess(child, { exited, ended, folder, startMs, warnings: withoutInternals(stderr) })
}

const withoutInternals = (stderr: string): string => stderr.replaceAll(INTERNAL_LINES, '')

/** Resolves with whether all sockets listen. */
async function listening(
  child: ChildProcess,
  sockets: number,
  { ended, timeoutMs }: { ended: Promise<void>; timeoutMs: number },
): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const control = child.stdio[3] as Readable
  try {
    return await new Promise<boolean>((resolve) => {
      let text = ''
      control.on('data', (chunk: Buffer) => {
        text += chunk.toString('latin1')
        if (text.split('"event":"listen"').length > sockets) resolve(true)
      })
      control.on('error', () => resolve(false))
      void ended.then(() => resolve(false))
      timer = setTimeout(() => resolve(false), timeoutMs)
    })
  } finally {
    clearTimeout(timer)
  }
}

/** CPU time in clock ticks and resident memory in bytes. Undefined if /proc does not have them. */
export async function processUsage(pid: number): Promise<{ cpuTicks: number; memoryBytes: number } | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, 'latin1')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const [user = '0', system = '0'] = fields.slice(11, 13)
    const pages = Number(fields[21] ?? 0)
    return { cpuTicks: Number(user) + Number(system), memoryBytes: pages * 4096 }
  } catch {
    return undefined
  }
}
