// The built daemon for a drill, in a folder of its own that ends with this process.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const HOST = 'receiver.test'
export const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
export const ZONE = 'a'.repeat(32)
export const TOKEN = 'drill-token-with-every-permission-0000'

const fixture = (name) => fileURLToPath(new URL(`../fixtures/tls/${name}`, import.meta.url))
/** The authority of the certificate of HOST. */
export const CA_FILE = fixture('ca.pem')

/** The built program. */
export const CLI = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))

/** What is left to do when this process ends. A drill can start many daemons. */
const endings = []
process.on('exit', () => endings.toReversed().forEach((end) => end()))
const atExit = (end) => void endings.push(end)

/** Returns a folder that is deleted when this process ends. */
export function drillFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'edged-drills-'))
  atExit(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

/**
 * Starts the daemon with a zone for HOST, over HTTP and HTTPS. `more` has other sections as text; `proxy` has members of that section; `limits`, `accounts`
 * and `zones` are added to theirs; `flags` are those of `edged serve`, and `prefix` is a command that runs it. Resolves with the process, base URLs without a slash at the end, and the lines of its log.
 */
export async function startDaemon(
  folder,
  origin,
  { more = '', proxy = '', limits = '', accounts = '', zones = '', store = 'memory', flags = [], prefix = [] } = {},
) {
  const config = join(folder, 'edged.yaml')
  writeFileSync(
    config,
    `data: ./data
store: ${store}
log: { level: info }
proxy:
  listen: 127.0.0.1:0
  limits: { connections_per_address: 2000${limits} }
${proxy}
  tls:
    listen: 127.0.0.1:0
    http2: on
    certificates: [{ cert_file: ${fixture('cert.pem')}, key_file: ${fixture('key.pem')} }]
control: { listen: 127.0.0.1:0, rate_limit: { requests: 0 } }
admin: { listen: 127.0.0.1:0 }
accounts: [{ id: ${ACCOUNT}, name: Drills }${accounts}]
tokens: [{ name: drill, token: ${TOKEN}, permissions: ["*"], accounts: ["*"], zones: ["*"] }]
zones:
  - { id: ${ZONE}, account: ${ACCOUNT}, name: ${HOST}, origin: "${origin}", settings: { content_converter: on } }
${zones}
${more}
`,
  )
  const [program, ...args] = [...prefix, process.execPath, CLI, 'serve', '-c', config, ...flags]
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  atExit(() => child.kill('SIGKILL'))
  const lines = []
  const ready = await new Promise((resolve, reject) => {
    child.on('exit', () => reject(new Error('the daemon did not start')))
    let text = ''
    child.stdout.on('data', (chunk) => {
      const all = (text + chunk).split('\n')
      text = all.pop()
      for (const line of all) {
        const entry = JSON.parse(line)
        // Only what drills look at is kept: the log of a drill can be long.
        if (/^(proxy_process|descriptors)_/.test(entry.event)) lines.push(entry)
        if (entry.event === 'ready') resolve(entry)
      }
    })
  })
  const url = (name) => ready[name].replace(/\/$/, '')
  return {
    child,
    lines,
    proxy: url('proxy'),
    proxyTls: url('proxy_tls'),
    control: url('control'),
    admin: url('admin'),
  }
}
