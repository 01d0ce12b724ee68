import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Test } from 'tap'
import { freePort } from './free-port.js'
import { tlsFile } from './tls.js'
import { until } from './web.js'

/** Why tests with a certificate authority are skipped; false if pebble is installed. */
export const NO_PEBBLE: string | false =
  spawnSync('pebble', ['-h']).error || spawnSync('pebble-challtestsrv', ['-h']).error
    ? 'pebble is not installed'
    : false

/** A certificate authority that validates names at 127.0.0.1 and refuses a fifth of all nonces. */
export interface Pebble {
  /** Number of certificates that it has issued. */
  issued(): number
  /** URL that sets and clears the records of its name server. */
  readonly dnsServer: string
}

interface PebbleOptions {
  readonly port: number
  readonly httpPort: number
  readonly tlsPort: number
  /** Requires an external account binding with this key. */
  readonly eab?: { readonly key_id: string; readonly hmac_key: string }
}

/** Starts pebble on a port, with its certificate signed by the authority of the fixtures. */
export async function startPebble(t: Test, folder: string, options: PebbleOptions): Promise<Pebble> {
  const { port, httpPort, tlsPort, eab } = options
  const [dns, management, dnsManagement] = [await freePort(), await freePort(), await freePort()]
  const config = {
    pebble: {
      listenAddress: `127.0.0.1:${port}`,
      managementListenAddress: `127.0.0.1:${management}`,
      certificate: tlsFile('cert.pem'),
      privateKey: tlsFile('key.pem'),
      httpPort,
      tlsPort,
      ocspResponderURL: '',
      externalAccountBindingRequired: eab !== undefined,
      ...(eab && { externalAccountMACKeys: { [eab.key_id]: eab.hmac_key } }),
    },
  }
  const file = join(folder, 'pebble.json')
  writeFileSync(file, JSON.stringify(config))
  let output = ''
  const run = (program: string, args: string[]): ChildProcess => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PEBBLE_VA_NOSLEEP: '1', PEBBLE_WFE_NONCEREJECT: '20' },
    })
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk) => (output += String(chunk)))
    t.teardown(() => child.kill('SIGKILL'))
    return child
  }
  const off = ['-http01', '', '-https01', '', '-tlsalpn01', '', '-defaultIPv6', '']
  run('pebble-challtestsrv', ['-dns01', `127.0.0.1:${dns}`, '-management', `127.0.0.1:${dnsManagement}`, ...off])
  run('pebble', ['-config', file, '-dnsserver', `127.0.0.1:${dns}`])
  await until(() => output.includes('ACME directory available'))
  const dnsServer = `http://127.0.0.1:${dnsManagement}`
  return { issued: () => output.match(/Issued certificate/g)?.length ?? 0, dnsServer }
}
