import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'

const MAIN = fileURLToPath(new URL('../peers/node_modules/wrangler/wrangler-dist/cli.js', import.meta.url))

const GUARD = new URL('./loopback-only.mjs', import.meta.url).href

/** Why tests with wrangler are skipped; false if it is installed. */
export const NO_WRANGLER: string | false = existsSync(MAIN)
  ? false
  : 'wrangler is not installed (npm install --prefix test/peers)'

/** Result of a wrangler command. */
export interface Ran {
  readonly code: number | null
  readonly out: string
  /** Warnings and errors. */
  readonly errors: string
}

/**
 * Runs a command in a project folder below `folder`. `input` is its standard input. After it has printed what `until`
 * matches, it is ended.
 */
export type Wrangler = (
  project: string,
  command: readonly string[],
  how?: { readonly input?: string; readonly until?: RegExp },
) => Promise<Ran>

/**
 * Creates a wrangler for an API: quiet, without a terminal, with all its files in `folder`, which contains the
 * projects. It exits with code 86 if it would connect to another machine, and at the latest with the test.
 */
export function wranglerFor(
  t: Test,
  folder: string,
  { api, token, account }: { readonly api: string; readonly token: string; readonly account: string },
): Wrangler {
  const env = {
    PATH: process.env['PATH'],
    HOME: join(folder, 'home'),
    XDG_CONFIG_HOME: join(folder, 'home'),
    TMPDIR: folder,
    WRANGLER_CACHE_DIR: join(folder, 'home', 'cache'),
    WRANGLER_LOG_PATH: join(folder, 'home', 'logs'),
    WRANGLER_SEND_METRICS: 'false',
    WRANGLER_SEND_ERROR_REPORTS: 'false',
    WRANGLER_HIDE_BANNER: 'true',
    CI: '1',
    NO_COLOR: '1',
    CLOUDFLARE_API_BASE_URL: api,
    CLOUDFLARE_API_TOKEN: token,
    CLOUDFLARE_ACCOUNT_ID: account,
  }
  return async (project, command, { input = '', until } = {}) => {
    const how = ['--no-warnings', '--experimental-vm-modules', '--import', GUARD]
    const cwd = join(folder, project)
    const child = spawn(process.execPath, [...how, MAIN, ...command], { cwd, env, stdio: 'pipe' })
    t.teardown(() => child.kill('SIGKILL'))
    child.stdin.end(input)
    let said = ''
    child.stdout.on('data', (chunk: Buffer) => {
      said += String(chunk)
      if (until?.test(said)) child.kill('SIGINT')
    })
    const [out, errors] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code: child.exitCode, out, errors }
  }
}
