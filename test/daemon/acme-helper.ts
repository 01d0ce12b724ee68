import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Writable } from 'node:stream'
import { connect } from 'node:tls'
import type { Test } from 'tap'
import { readConfig } from '../../src/config/load.js'
import type { Config } from '../../src/config/schema.js'
import { systemClock, type Clock } from '../../src/core/clock.js'
import { openLog } from '../../src/core/log.js'
import { startDaemon, type Daemon } from '../../src/daemon/index.js'
import { testFolder } from '../helpers/folder.js'
import { freePort } from '../helpers/free-port.js'
import { startPebble, type Pebble } from '../helpers/pebble.js'
import { CA_FILE } from '../helpers/tls.js'

export const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
export const ZONE = '9f1839b6152d298aca64c4e906b6d074'
export const TOKEN = 'an-admin-token-of-forty-characters-000000'

export interface AcmeSetup {
  readonly folder: string
  readonly daemon: Daemon
  readonly pebble: Pebble
  readonly config: Config
  readonly tlsPort: number
  /** Lines of the log, as objects. */
  readonly lines: readonly Record<string, unknown>[]
}

export interface AcmeSetupOptions {
  /** Further options of `proxy.tls.acme`, each after a comma. */
  readonly acme?: string
  /** Further top-level sections. */
  readonly more?: string
  /** Lines of `zones`; default: names, patterns, and a name that no authority issues for. */
  readonly zones?: string
  readonly clock?: Clock
  readonly eab?: { readonly key_id: string; readonly hmac_key: string }
}

const DEFAULT_ZONES = `
  - { id: ${ZONE}, account: ${ACCOUNT}, name: one.test, hostnames: [one.test, "*.one.test", localhost], origin: demo }
  - { id: 8f1839b6152d298aca64c4e906b6d074, account: ${ACCOUNT}, name: two.test, hostnames: [two.test], origin: demo }`

/** A hook for dns-01 that writes to the name server of pebble, whose address is in a file beside the hook. */
const HOOK = `import { readFileSync } from 'node:fs'
const [action, host, value] = process.argv.slice(2)
const server = readFileSync(new URL('./dns-server', import.meta.url), 'utf8')
const path = action === 'present' ? '/set-txt' : '/clear-txt'
const response = await fetch(server + path, { method: 'POST', body: JSON.stringify({ host: host + '.', value }) })
process.exit(response.ok ? 0 : 1)
`

/** Starts a daemon with `proxy.tls.acme`, and then its certificate authority. */
export async function acmeDaemon(
  t: Test,
  { acme = '', more = '', zones = DEFAULT_ZONES, clock = systemClock, eab }: AcmeSetupOptions,
): Promise<AcmeSetup> {
  const folder = testFolder(t)
  const port = await freePort()
  writeFileSync(join(folder, 'hook.mjs'), HOOK)
  const config = readConfig(
    `data: ./data
log: { level: info }
proxy:
  listen: "127.0.0.1:0"
  tls:
    listen: "127.0.0.1:0"
    acme: { directory: "https://localhost:${port}/dir", email: ops@example.com, agree_to_terms: true, ca_file: "${CA_FILE}"${acme} }
control: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
${more}
accounts: [{ id: ${ACCOUNT}, name: Example }]
tokens: [{ name: admin, token: ${TOKEN}, permissions: ["*"], accounts: ["*"], zones: ["*"] }]
zones:${zones}`,
    join(folder, 'test.yaml'),
    {},
  )
  const lines: Record<string, unknown>[] = []
  const output = new Writable({
    write(chunk, _encoding, done) {
      for (const line of String(chunk).split('\n')) if (line !== '') lines.push(JSON.parse(line) as never)
      done()
    },
  })
  const daemon = await startDaemon(config, { log: openLog({ level: 'info' }, output), clock })
  t.teardown(() => daemon.close())
  const portOf = (url: string | undefined) => Number(new URL(url ?? '').port)
  const tlsPort = portOf(daemon.proxyTls)
  const pebble = await startPebble(t, folder, { port, httpPort: portOf(daemon.proxy), tlsPort, ...(eab && { eab }) })
  writeFileSync(join(folder, 'dns-server'), pebble.dnsServer)
  return { folder, daemon, pebble, config, tlsPort, lines }
}

/** Returns the certificate that a handshake for a name presents, or the code of the error that ends it. */
export async function presented(port: number, name: string): Promise<{ names: string; serial: string } | string> {
  const socket = connect({ port, host: '127.0.0.1', servername: name, rejectUnauthorized: false })
  try {
    await once(socket, 'secureConnect')
    const { subjectaltname: names = '', serialNumber: serial } = socket.getPeerCertificate()
    return { names, serial }
  } catch (error) {
    return String((error as NodeJS.ErrnoException).code)
  } finally {
    socket.destroy()
  }
}

/** Waits until a handshake for a name presents a certificate. */
export async function issued(port: number, name: string): Promise<{ names: string; serial: string }> {
  for (;;) {
    const found = await presented(port, name)
    if (typeof found !== 'string') return found
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Attempts failed before the authority ran: the next ones are due at once. */
export async function retry({ daemon, config }: AcmeSetup): Promise<void> {
  await daemon.reload(config)
}

export const UNRECOGNIZED = 'ERR_SSL_TLSV1_UNRECOGNIZED_NAME'
