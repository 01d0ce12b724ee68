import { spawn } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Test } from 'tap'
import { testFolder } from './folder.js'
import { tlsFile } from './tls.js'

const MAIN = fileURLToPath(new URL('../peers/node_modules/azurite/dist/src/blob/main.js', import.meta.url))

/** Why tests with a real Azure emulator are skipped; false if it is installed. */
export const NO_AZURITE: string | false = existsSync(MAIN)
  ? false
  : 'azurite is not installed (npm install --prefix test/peers)'

/** The account that the emulator always has, with its published key. */
const ACCOUNT = 'devstoreaccount1'
const KEY = 'Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=='

/** Starts Azurite over TLS on 127.0.0.1. Resolves with `127.0.0.1:PORT/ACCOUNT`. */
export async function azurite(t: Test): Promise<{ readonly port: number; readonly base: string }> {
  const names = [
    '--blobHost',
    '127.0.0.1',
    '--blobPort',
    '0',
    '--cert',
    tlsFile('cert.pem'),
    '--key',
    tlsFile('key.pem'),
  ]
  const how = ['--inMemoryPersistence', '--skipApiVersionCheck', '--disableTelemetry']
  const child = spawn(process.execPath, [MAIN, ...names, ...how], {
    cwd: testFolder(t),
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  t.teardown(async () => {
    if (child.exitCode !== null) return
    child.kill('SIGKILL')
    await once(child, 'exit')
  })
  let said = ''
  child.stdout.on('data', (text) => (said += String(text)))
  while (child.exitCode === null) {
    const port = Number(/listens on https:\/\/127\.0\.0\.1:(\d+)/.exec(said)?.[1])
    if (port > 0) return { port, base: `127.0.0.1:${port}/${ACCOUNT}` }
    await Promise.race([once(child.stdout, 'data'), once(child, 'close')])
  }
  throw new Error(`azurite ended while it started: ${said}`)
}

/** The query of a shared access signature of the account: for resource types and with rights, as Azure letters them. */
export function sas(types: string, rights: string): string {
  const [version, end] = ['2021-08-06', '2099-01-01T00:00:00Z']
  const text = [ACCOUNT, rights, 'b', types, '', end, '', 'https', version, '', ''].join('\n')
  const sig = createHmac('sha256', Buffer.from(KEY, 'base64')).update(text).digest('base64')
  return new URLSearchParams({ sv: version, ss: 'b', srt: types, sp: rights, se: end, spr: 'https', sig }).toString()
}
