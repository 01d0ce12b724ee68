import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { jsonBytes } from '../../../control/http/json-text.js'
import { EventLoopYield, type Pause } from '../../core/schedule/event-loop-yield.js'
import { messageOf } from '../../core/errors.js'
import { listen, type Listening } from '../../http/listen.js'
import { hostIssue } from './hosts.js'
import type { BackupResponse } from '../backups/backups.js'
import type { DaemonStatus, ReloadResponse } from '../state/status.js'

const PROBES: ReadonlySet<string> = new Set(['/livez', '/readyz'])
const slices = new EventLoopYield()
const pause: Pause = () => slices.yieldToEventLoop()

/** The metrics as Prometheus text. */
export interface Scrape {
  readonly contentType: string
  metrics(): Promise<string>
}

/** The daemon, as the admin listener sees it. */
export interface AdminDeps {
  readonly metrics: Scrape
  /** Names under which it responds besides IP addresses and localhost (`admin.hosts`). */
  hosts(): readonly string[]
  /** Returns why the daemon is not ready; empty if it is. */
  notReady(): readonly string[]
  /** Returns what does not work although the daemon is ready. */
  limited(): readonly string[]
  status(): Promise<DaemonStatus>
  /** Applies the configuration file. Never rejects. */
  reload(): Promise<ReloadResponse>
  /** Starts a backup for a caller that proves to have the secret key. */
  backup(authorization: string | undefined, withKey: boolean): Promise<BackupResponse>
}

/** Serves `/livez`, `/readyz`, `/metrics` (Prometheus text), `/status` `POST /reload` and `POST /backup`. */
export async function listenAdmin(address: string, deps: AdminDeps): Promise<Listening> {
  const server: Server = createServer((request, response) => {
    respond(request, response, address, deps).catch(() => response.destroy())
  })
  server.requestTimeout = 10_000
  return await listen(server, address, 'admin')
}

async function respond(
  request: IncomingMessage,
  response: ServerResponse,
  listen: string,
  deps: AdminDeps,
): Promise<void> {
  const send = (status: number, text: string | Buffer, type = 'text/plain; charset=utf-8') =>
    response
      .writeHead(status, { 'content-type': type, 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' })
      .end(text)
  const { url, method } = request

  // Probes learn nothing but whether it is ready, and are often sent by the name of a container.
  const issue = PROBES.has(url ?? '') ? undefined : hostIssue(request.headers.host, { listen, hosts: deps.hosts() })
  if (issue !== undefined) return void send(403, `${issue}\n`)
  if (url === '/reload') {
    if (method !== 'POST') return void send(405, 'POST only\n')
    // A page in a browser on this machine must not reload the daemon.
    if (isFromBrowser(request)) return void send(403, 'requests of browsers are not allowed\n')
    const result = await deps.reload()
    return void send('error' in result ? 409 : 200, `${JSON.stringify(result)}\n`, 'application/json')
  }
  if (url === '/backup' || url === '/backup?key=no') {
    if (method !== 'POST') return void send(405, 'POST only\n')
    if (isFromBrowser(request)) return void send(403, 'requests of browsers are not allowed\n')
    try {
      const result = await deps.backup(request.headers.authorization, url === '/backup')
      if ('status' in result) return void send(result.status, `${result.reason}\n`)
      response.writeHead(200, { 'content-type': 'application/x-tar', 'cache-control': 'no-store' })
      return await pipeline(Readable.from(result), response)
    } catch (error) {
      if (response.headersSent) throw error
      return void send(503, `${messageOf(error)}\n`)
    }
  }
  if (method !== 'GET' && method !== 'HEAD') return void send(405, 'GET or HEAD only\n')
  if (url === '/livez') return void send(200, 'ok\n')
  if (url === '/readyz') {
    const reasons = deps.notReady()
    if (reasons.length > 0) return void send(503, `${reasons.join('\n')}\n`)
    return void send(200, `${['ok', ...deps.limited()].join('\n')}\n`)
  }
  if (url === '/status') {
    const status = await deps.status()
    await pause()
    return void send(200, Buffer.concat([await jsonBytes(status, pause), Buffer.from('\n')]), 'application/json')
  }
  if (url === '/metrics') {
    try {
      return void send(200, await deps.metrics.metrics(), deps.metrics.contentType)
    } catch {
      return void send(500, 'the metrics could not be read\n')
    }
  }
  send(404, 'there is /livez, /readyz, /metrics, /status, POST /reload and POST /backup\n')
}

const isFromBrowser = ({ headers }: IncomingMessage): boolean =>
  headers.origin !== undefined || headers['sec-fetch-site'] !== undefined
