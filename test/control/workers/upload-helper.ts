import { randomBytes } from 'node:crypto'
import type { Test } from 'tap'
import { basicEndpoints } from '../../../control/index.js'
import { workers } from '../../../control/workers/index.js'
import type { WorkersServices } from '../../../control/workers/services/index.js'
import { Tails } from '../../../control/workers/services/tail-sessions.js'
import { Workers } from '../../../src/config/workers.js'
import type { WorkersConfig } from '../../../src/config/schema.js'
import { resolveUnits } from '../../../src/config/units.js'
import type { Blobs } from '../../../src/core/blobs.js'
import { account } from '../../../src/core/scope.js'
import { parser } from '../../../src/core/schema.js'
import { MemoryBudget } from '../../../src/core/memory/memory-budget.js'
import { Keyring } from '../../../src/store/secrets/keyring.js'
import { memoryBlobs } from '../../../src/store/blobs/memory-blobs.js'
import { AssetUploads, BadToken } from '../../../src/workers/assets/uploads.js'
import { CodeReader } from '../../../src/workers/code/reader.js'
import { ScriptRepository } from '../../../src/workers/script-repository.js'
import { ACCOUNT, ADMIN, client, conformance, type TestResponse, type Client } from '../client.js'

export const SCRIPTS = `/accounts/${ACCOUNT}/workers/scripts`
export const SCOPE = account(ACCOUNT)
export const ESM = 'application/javascript+module'

/** One part of a form: content, content type, and file name where it is not the name. */
export interface Part {
  readonly name: string
  readonly body: string | Uint8Array
  readonly type?: string
  readonly filename?: string | null
}

export interface Uploader extends Client {
  readonly engine: WorkersServices
  readonly blobs: Blobs
  /** Uploads a script as wrangler does: metadata, and one module of this text. */
  upload(name: string, metadata: object, code?: string, more?: Parameters<Uploader['send']>[2]): Promise<TestResponse>
  /** Sends these parts; the header names the boundary unless another content type is given. */
  send(
    name: string,
    parts: readonly Part[],
    more?: {
      readonly query?: string
      readonly headers?: Record<string, string>
      readonly method?: string
      /** After the path of the script, as in `/versions`. */
      readonly below?: string
    },
  ): Promise<TestResponse>
}

export const BOUNDARY = '----test-boundary-7d1a'

/** The bytes of a form. */
export function form(parts: readonly Part[]): Buffer {
  const pieces = parts.flatMap(({ name, body, type, filename }) => {
    const file = filename === undefined ? '' : filename === null ? '' : `; filename="${filename}"`
    const head = `--${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n`
    return [
      Buffer.from(`${head}${type === undefined ? '' : `Content-Type: ${type}\r\n`}\r\n`),
      Buffer.from(body),
      Buffer.from('\r\n'),
    ]
  })
  return Buffer.concat([...pieces, Buffer.from(`--${BOUNDARY}--\r\n`)])
}

export const metadataPart = (metadata: unknown): Part => ({
  name: 'metadata',
  body: typeof metadata === 'string' ? metadata : JSON.stringify(metadata),
})

export const modulePart = (name: string, body: string | Uint8Array, type = ESM): Part => ({
  name,
  body,
  type,
  filename: name,
})

export const PLAIN = 'export default { fetch() { return new Response("hi") } }\n'

/** Takes the name of any blob for a completion token. */
class AnyManifest extends AssetUploads {
  override async readCompletion(...[, , jwt]: Parameters<AssetUploads['readCompletion']>): Promise<string> {
    if (!/^[0-9a-f]{64}$/.test(jwt)) throw new BadToken('is no completion token')
    return jwt
  }
}

/** The API of Worker uploads over a memory store. */
export async function uploader(
  t: Test,
  change: { readonly [S in keyof WorkersConfig]?: Partial<WorkersConfig[S]> } = {},
  options: Parameters<typeof client>[1] = {},
): Promise<Uploader> {
  const defaults = resolveUnits(Workers, parser(Workers, { defaults: true })({})) as WorkersConfig
  const config = {
    ...defaults,
    upload: { ...defaults.upload, ...change.upload },
    retention: { ...defaults.retention, ...change.retention },
    quotas: { ...defaults.quotas, ...change.quotas },
  }
  const vault = new Keyring([randomBytes(32)])
  let engine: WorkersServices | undefined
  const api = await client(t, {
    ...options,
    areas(deps) {
      const { store, clock } = deps
      const blobs = memoryBlobs(clock)
      engine = {
        vault,
        blobs,
        limits: () => config,
        uploads: new MemoryBudget(config.upload.memory),
        runtime: undefined,
        code: new CodeReader(),
        tails: new Tails({ store, clock }),
        repository: new ScriptRepository({
          store,
          blobs,
          vault,
          clock,
          keep: () => config.retention,
        }),
        assets: new AnyManifest({
          store,
          blobs,
          clock,
          keys: () => [Buffer.alloc(32, 1)],
          limits: () => config.assets,
        }),
      }
      const made = engine
      return [...basicEndpoints(deps), ...workers({ ...deps, workers: () => made })]
    },
  })
  if (!engine) throw new Error('the area was not asked for')
  const check = conformance(api.endpoints)
  const send: Uploader['send'] = async (name, parts, more = {}) => {
    const { query = '', headers = {}, method = 'PUT', below = '' } = more
    const path = `${SCRIPTS}/${name}${below}${query}`
    const response = await fetch(api.url + path, {
      method,
      headers: {
        authorization: `Bearer ${ADMIN}`,
        'content-type': `multipart/form-data; boundary=${BOUNDARY}`,
        ...headers,
      },
      body: form(parts),
    })
    const result = { status: response.status, headers: response.headers, body: await response.json() }
    check(method, path, result)
    return result
  }
  return {
    ...api,
    engine,
    blobs: engine.blobs,
    send,
    async upload(name, metadata, code = PLAIN, more = {}) {
      const { body_part: script } = metadata as { body_part?: string }
      const file = script ?? 'index.js'
      const type = script === undefined ? ESM : 'application/javascript'
      const main = script === undefined && !('main_module' in metadata) ? { main_module: file } : {}
      return await send(name, [metadataPart({ ...main, ...metadata }), modulePart(file, code, type)], more)
    },
  }
}
