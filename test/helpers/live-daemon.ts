import { request } from 'node:http'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { stringify } from 'yaml'
import { readConfig } from '../../src/config/load.js'
import { systemClock, type Clock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import { startDaemon, type Daemon } from '../../src/daemon/index.js'

export const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
export const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const TOKEN = 'admin-token-0123456789-abcdefghijklmnop'

interface Teardown {
  teardown(end: () => unknown): void
}

/** The response of the API to one request. */
export interface Answer {
  readonly status: number
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any
}

/** A daemon in this process, with its API and its proxy. */
export interface LiveDaemon {
  readonly daemon: Daemon
  /** Calls the API. The path begins after `/client/v4`. */
  call(method: string, path: string, body?: unknown, token?: string): Promise<Answer>
  /** Sends a request to the proxy, and returns its ray id and status. */
  visit(path: string, headers?: Record<string, string>, method?: string): Promise<{ ray: string; status: number }>
  close(): Promise<void>
}

/** Starts a daemon whose zone serves every host, with more members of the configuration and of the zone. */
export async function liveDaemon(
  t: Teardown,
  folder: string,
  {
    zone = {},
    clock = systemClock,
    ...more
  }: Readonly<Record<string, unknown>> & { zone?: object; clock?: Clock } = {},
): Promise<LiveDaemon> {
  const text = stringify({
    data: './data',
    proxy: { listen: '127.0.0.1:0' },
    control: { listen: '127.0.0.1:0' },
    admin: { listen: '127.0.0.1:0' },
    accounts: [{ id: ACCOUNT, name: 'Example' }],
    zones: [{ id: ZONE, account: ACCOUNT, name: 'example.test', hostnames: ['*'], origin: 'demo', ...zone }],
    tokens: [{ name: 'admin', token: TOKEN, permissions: ['*'], accounts: ['*'], zones: ['*'] }],
    ...more,
  })
  const file = join(folder, 'edged.yaml')
  const daemon = await startDaemon(readConfig(text, file, {}), { log: silentLog, clock })
  let closed: Promise<void> | undefined
  const close = async (): Promise<void> => await (closed ??= daemon.close())
  t.teardown(close)
  return {
    daemon,
    close,
    async call(method, path, body, token = TOKEN) {
      const response = await fetch(daemon.control + path, {
        method,
        headers: {
          authorization: `Bearer ${token}`,
          ...(body !== undefined && { 'content-type': 'application/json' }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      })
      return { status: response.status, body: await response.json() }
    },
    visit: async (path, headers = {}, method = 'GET') =>
      await new Promise((resolve, reject) => {
        request(daemon.proxy + path, { method, headers }, (response) => {
          response.resume()
          response.on('end', () =>
            resolve({ ray: String(response.headers['cf-ray']).split('-')[0]!, status: response.statusCode! }),
          )
        })
          .on('error', reject)
          .end()
      }),
  }
}

/** Resolves with the first value of `read` that is not undefined. */
export async function until<T>(read: () => Promise<T | undefined>): Promise<T> {
  for (;;) {
    const value = await read()
    if (value !== undefined) return value
    await wait(10)
  }
}
