import { readFileSync, realpathSync } from 'node:fs'
import { request, type IncomingMessage } from 'node:http'
import { resolve } from 'node:path'
import { text } from 'node:stream/consumers'
import { readYaml } from '../../config/yaml.js'
import { messageOf } from '../../core/errors.js'
import { hostAndPort, socketPath } from '../../http/listen.js'
import type { DaemonStatus } from '../../daemon/state/status.js'
import { usualFile } from './config-file.js'
import { Exit } from './command.js'

const DEFAULT_LISTEN = '127.0.0.1:9901'
/** A reload reads certificates and databases. */
const TIMEOUT_MS = 60_000

/** Options that select the daemon. */
export interface AdminOptions {
  readonly config?: string
  readonly admin?: string
}

export const ADMIN_HELP =
  '\nThe running daemon is found by admin.listen of the configuration file; without -c this is edged.yaml here, else\n' +
  '/etc/edged/edged.yaml, else 127.0.0.1:9901.'

/** Sends a request to the admin listener of the running daemon. Throws {@link Exit} if it does not respond. */
export async function askDaemon(
  method: 'GET' | 'POST',
  path: string,
  options: AdminOptions,
): Promise<{ status: number; body: unknown }> {
  const address = options.admin ?? adminAddress(options.config)
  try {
    const { status, body } = await send(method, path, address)
    return { status, body: JSON.parse(body) }
  } catch (error) {
    throw new Exit(1, noDaemon(address, error))
  }
}

/** Sends a GET request and returns the text of the response. Throws {@link Exit} if no daemon responds. */
export async function askText(path: string, options: AdminOptions): Promise<string> {
  const address = options.admin ?? adminAddress(options.config)
  try {
    return (await send('GET', path, address)).body
  } catch (error) {
    throw new Exit(1, noDaemon(address, error))
  }
}

/**
 * Sends a request and returns the body of the response as it arrives. Throws {@link Exit} if no daemon responds, or if
 * its response is not 200.
 */
export async function streamFromDaemon(
  path: string,
  authorization: string,
  options: AdminOptions,
): Promise<AsyncIterable<Uint8Array>> {
  const address = options.admin ?? adminAddress(options.config)
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const target = { ...targetOf(address), method: 'POST', path, timeout: TIMEOUT_MS, agent: false }
    const sent = request({ ...target, headers: { authorization } }, resolve)
    sent.on('timeout', () => sent.destroy(new Error(`no data within ${TIMEOUT_MS / 1000}s`)))
    sent.on('error', reject)
    sent.end()
  }).catch((error: unknown) => {
    throw new Exit(1, noDaemon(address, error))
  })
  if (response.statusCode !== 200) throw new Exit(1, (await text(response)).trim())
  // Between two parts of an archive, a large database is copied.
  response.setTimeout(0)
  return response
}

const noDaemon = (address: string, error: unknown): string =>
  `no daemon responds at ${address} (${messageOf(error)}); start it with edged serve, or name its address with --admin`

/**
 * Returns the status of the running daemon. Throws {@link Exit} if none responds, or if it was started with another
 * configuration file than the command has. A daemon that was started without a file is not compared.
 */
export async function ownDaemon(options: AdminOptions): Promise<DaemonStatus> {
  const { body } = await askDaemon('GET', '/status', options)
  const status = body as DaemonStatus
  const file = options.config ?? (options.admin === undefined ? usualFile() : undefined)
  const other = file === undefined ? undefined : otherDaemon(status, file, options.admin ?? adminAddress(file))
  if (other !== undefined) throw new Exit(1, other)
  return status
}

/** Returns what to say if a daemon has another configuration file, undefined if it has this one. */
export function otherDaemon({ config_file: theirs }: DaemonStatus, file: string, address: string): string | undefined {
  if (theirs === null || realPath(theirs) === realPath(file)) return undefined
  return `another daemon (${theirs}) listens on ${address}`
}

function realPath(file: string): string {
  try {
    return realpathSync(file)
  } catch {
    return resolve(file)
  }
}

/** Returns `admin.listen` of a configuration file. The rest of the file may be invalid: it is being edited. */
function adminAddress(given: string | undefined): string {
  const file = given ?? usualFile()
  if (file === undefined) return DEFAULT_LISTEN
  let content
  try {
    content = readFileSync(file, 'utf8')
  } catch (error) {
    throw new Exit(1, `cannot read ${file}: ${messageOf(error)}; name the file with -c or the address with --admin`)
  }
  const listen = listenOf(content, file)
  if (socketPath(listen) === undefined && hostAndPort(listen).port === 0)
    throw new Exit(1, `${file}: admin.listen has port 0; name the address that the ready line shows with --admin`)
  return listen
}

function listenOf(content: string, file: string): string {
  try {
    const found = readYaml(content, file, process.env).document.getIn(['admin', 'listen'])
    return typeof found === 'string' ? found : DEFAULT_LISTEN
  } catch (error) {
    throw new Exit(1, `${messageOf(error)}; name the address of the daemon with --admin`)
  }
}

function send(method: string, path: string, address: string): Promise<{ status: number; body: string }> {
  return new Promise((resolve, reject) => {
    const target = targetOf(address)
    const options = { ...target, method, path, timeout: TIMEOUT_MS, agent: false }
    const sent = request(options, (response) => {
      text(response).then((body) => resolve({ status: response.statusCode ?? 0, body }), reject)
    })
    sent.on('timeout', () => sent.destroy(new Error(`no response within ${TIMEOUT_MS / 1000}s`)))
    sent.on('error', reject)
    sent.end()
  })
}

/** Returns where to connect to; a listener on all addresses is reached on loopback. */
export function targetOf(address: string): { socketPath: string } | { host: string; port: number } {
  const path = socketPath(address)
  if (path !== undefined) return { socketPath: path }
  const { host, port } = hostAndPort(address.replace(/^http:\/\//, '').replace(/\/$/, ''))
  return { host: host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host, port }
}
