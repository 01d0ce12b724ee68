import { readdir, readFile } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import type { Test } from 'tap'
import type { Config } from '../../src/config/schema.js'
import { readConfig } from '../../src/config/load.js'
import { openLog, silentLog } from '../../src/core/log.js'
import { startDaemon, type Daemon } from '../../src/daemon/index.js'
import { findWorkerd } from '../../src/workers/runtime/binary.js'
import { testFolder } from '../helpers/folder.js'
import { httpRequest, type HttpResult } from './http-request.js'

export const ACCOUNT = '023e105f4ecef8ad9ca31a8372d0c353'
const ZONE = '9f1839b6152d298aca64c4e906b6d074'
const TOKEN = randomBytes(20).toString('hex')

/** Why tests that run scripts are skipped. False: they run. */
export const SKIP = findWorkerd() === undefined && 'the npm package workerd is not installed'

export interface Module {
  readonly name: string
  readonly body: string | Uint8Array<ArrayBuffer>
  readonly type: string
}

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

export interface WorkersDaemon {
  daemon: Daemon
  /** Calls the API below the account. */
  api(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }>
  /** Calls the API below the zone. */
  zone(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }>
  /** Uploads and deploys a script; fails the test if that is rejected. */
  upload(name: string, code: string, metadata?: object, modules?: readonly Module[]): Promise<Json>
  tryUpload(
    name: string,
    code: string,
    metadata?: object,
    modules?: readonly Module[],
  ): Promise<{ status: number; body: Json }>
  /** Gives a script the host name `NAME.example.test`. */
  domain(name: string, host?: string): Promise<void>
  /** Requests a URL through the proxy. */
  get(
    host: string,
    path?: string,
    options?: { method?: string; headers?: Record<string, string>; body?: string },
  ): Promise<HttpResult>
  /** Calls the API. */
  call(method: string, path: string, body?: unknown): Promise<{ status: number; body: Json }>
  /** Starts the daemon again, with other lines of the configuration if they are given. */
  restart(more?: string): Promise<void>
  /** Returns the complete lines of all files in a folder of the daemon's folder. */
  files(folder: string): Promise<string>
}

/** Identifier of an account and its zone. */
const OTHER = '0a1b2c3d4e5f60718293a4b5c6d7e8f9'

interface WorkersDaemonOptions {
  origin?: string
  more?: string
  /** Origin of a zone `other.test`, of another account. */
  neighbor?: string
  /** Seconds until the pipelines write what they have; less than users can set. */
  uploadSeconds?: number
}

/** A daemon with one zone, example.test. */
export async function workersDaemon(t: Test, options: WorkersDaemonOptions = {}): Promise<WorkersDaemon> {
  const folder = testFolder(t)
  const { origin = 'demo', neighbor, uploadSeconds } = options
  let { more = '' } = options
  const others =
    neighbor === undefined
      ? ['', '']
      : [
          `, { id: ${OTHER}, name: Other }`,
          `, { id: ${OTHER}, account: ${OTHER}, name: other.test, origin: "${neighbor}" }`,
        ]
  const start = async () =>
    await startDaemon(
      withInterval(
        uploadSeconds,
        readConfig(
          `data: ./data
log: { level: error }
proxy: { listen: "127.0.0.1:0" }
control: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
accounts: [{ id: ${ACCOUNT}, name: Example }${others[0]!}]
zones: [{ id: ${ZONE}, account: ${ACCOUNT}, name: example.test, origin: "${origin}", websockets: true, plan: enterprise }${others[1]!}]
tokens: [{ name: admin, token: ${TOKEN}, permissions: ["*"], accounts: ["*"], zones: ["*"] }]
${more}`,
          join(folder, 'test.yaml'),
          {},
        ),
      ),
      { log: process.env['DEBUG_LOG'] ? openLog({ level: 'info' }) : silentLog },
    )
  const base = { daemon: await start() }
  t.teardown(async () => await base.daemon.close())
  const call = async (method: string, path: string, init: RequestInit = {}) => {
    const response = await fetch(`${base.daemon.control}${path}`, {
      method,
      ...init,
      headers: { authorization: `Bearer ${TOKEN}`, ...(init.headers as Record<string, string>) },
    })
    const text = await response.text()
    return { status: response.status, body: (text === '' ? undefined : parsed(text)) as Json }
  }
  const daemon: WorkersDaemon = {
    get daemon() {
      return base.daemon
    },
    call: async (method, path, body) => await call(method, path, jsonBody(body)),
    async restart(other = more) {
      more = other
      await base.daemon.close()
      base.daemon = await start()
    },
    async files(name) {
      const names = await readdir(join(folder, name)).catch(() => [])
      // A file that is being written begins with a dot.
      const finished = names.filter((one) => !one.startsWith('.'))
      const texts = finished.map(async (one) => await readFile(join(folder, name, one), 'utf8'))
      return (await Promise.all(texts)).map((text) => text.slice(0, text.lastIndexOf('\n') + 1)).join('')
    },
    api: async (method, path, body) => await call(method, `/accounts/${ACCOUNT}${path}`, jsonBody(body)),
    zone: async (method, path, body) => await call(method, `/zones/${ZONE}${path}`, jsonBody(body)),
    async tryUpload(name, code, metadata = {}, modules = []) {
      const form = new FormData()
      const body = 'body_part' in metadata
      const main = body ? 'script.js' : 'index.js'
      const named = body ? {} : { main_module: main }
      form.set('metadata', JSON.stringify({ compatibility_date: '2026-01-01', ...named, ...metadata }))
      const type = body ? 'application/javascript' : 'application/javascript+module'
      form.set(main, new Blob([code], { type }), main)
      for (const one of modules) form.set(one.name, new Blob([one.body], { type: one.type }), one.name)
      return await call('PUT', `/accounts/${ACCOUNT}/workers/scripts/${name}`, { body: form })
    },
    async upload(name, code, metadata, modules) {
      const { status, body } = await daemon.tryUpload(name, code, metadata, modules)
      if (status !== 200) throw new Error(`upload of ${name}: ${JSON.stringify(body)}`)
      return body
    },
    async domain(name, host = `${name}.example.test`) {
      const { status, body } = await daemon.api('PUT', '/workers/domains', {
        hostname: host,
        service: name,
        zone_id: ZONE,
        environment: 'production',
      })
      if (status !== 200) throw new Error(`domain of ${name}: ${JSON.stringify(body)}`)
    },
    get: async (host, path = '/', more = {}) => await httpRequest(base.daemon.proxy, host, path, more),
  }
  return daemon
}

function withInterval(seconds: number | undefined, config: Config): Config {
  if (seconds === undefined) return config
  const limits = { max_upload_interval_seconds: seconds }
  const pipelines = config.pipelines.map((pipeline) => ({
    ...pipeline,
    outputs: pipeline.outputs.map((output) => ({
      ...output,
      job: { ...output.job, settings: { ...output.job.settings, ...limits } },
    })),
  }))
  return { ...config, pipelines }
}

const jsonBody = (body: unknown): RequestInit =>
  body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }

const parsed = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
