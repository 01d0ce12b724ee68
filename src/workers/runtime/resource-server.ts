import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { pipeline } from 'node:stream/promises'
import { messageOf } from '../../core/errors.js'
import type { Log } from '../../core/log.js'
import type { Scope } from '../../core/scope.js'
import { RESOURCE_HEADER, SCRIPT_HEADER } from './types.js'

/** A call of a script to one resource of the daemon. */
export interface ResourceCall {
  readonly scope: Scope
  readonly script: string
  /** Id of the resource, for example of a KV namespace or a bucket. */
  readonly id: string
  readonly method: string
  /** Path and query as the runtime sent them. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Reads the body. Rejects with {@link ResourceError} 413 if it is longer. */
  body(maxBytes: number): Promise<Buffer>
  /** The body as it arrives. */
  readonly stream: AsyncIterable<Buffer>
}

export interface ResourceResponse {
  readonly status: number
  /** Reason phrase. Scripts see it in errors. */
  readonly message?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array | string | StreamedBody
}

/** A body that is sent while it is read. */
export interface StreamedBody {
  readonly bytes: AsyncIterable<Uint8Array>
  readonly size: number
}

export type ResourceHandler = (call: ResourceCall) => Promise<ResourceResponse> | ResourceResponse

/** Handlers by type of resource. */
export type ResourceHandlers = ReadonlyMap<string, ResourceHandler>

/** A call that fails with a status and a reason phrase. */
export class ResourceError extends Error {
  override readonly name = 'ResourceError'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>

  constructor(status: number, message: string, headers: Readonly<Record<string, string>> = {}) {
    super(message)
    this.status = status
    this.headers = headers
  }
}

/** Creates the server that scripts of one account reach through their bindings. */
export function serveResources(handlers: ResourceHandlers, scope: Scope, log: Log): Server {
  // The runtime sends object metadata in one header.
  return createServer({ maxHeaderSize: 65_536, requestTimeout: 0 }, (request, response) => {
    void respond(handlers, scope, { request, response }).catch((error: unknown) => {
      log.error({ event: 'worker_binding_failed', account: scope.id, error: messageOf(error) })
      response.destroy()
    })
  })
}

async function respond(
  handlers: ResourceHandlers,
  scope: Scope,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
): Promise<void> {
  const [type = '', id = ''] = String(request.headers[RESOURCE_HEADER] ?? '').split(' ')
  const handler = handlers.get(type)
  const call: ResourceCall = {
    scope,
    script: String(request.headers[SCRIPT_HEADER] ?? ''),
    id: decodeURIComponent(id),
    method: request.method ?? 'GET',
    url: request.url ?? '/',
    headers: request.headers,
    body: async (maxBytes) => await readBody(request, maxBytes),
    // A handler that stops reading can still respond.
    stream: request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>,
  }
  let sent: ResourceResponse
  try {
    sent = handler ? await handler(call) : { status: 501, message: 'Not Implemented' }
  } catch (error) {
    if (!(error instanceof ResourceError)) throw error
    sent = { status: error.status, message: error.message, headers: error.headers }
  }
  const { status, message, headers = {}, body } = sent
  // Scripts see some headers of these responses.
  response.sendDate = false
  // Connections stay open without this field.
  response.removeHeader('connection')
  const bytes = typeof body === 'string' ? Buffer.from(body) : body
  const size = bytes === undefined ? 0 : 'size' in bytes ? bytes.size : bytes.length
  const head = { ...headers, 'content-length': String(size) }
  if (message === undefined) response.writeHead(status, head)
  else response.writeHead(status, message.replaceAll(/[^\t\x20-\x7e]/g, '?'), head)
  if (bytes !== undefined && 'size' in bytes) await pipeline(bytes.bytes, response)
  else response.end(bytes)
  // The rest of a body that nobody read.
  request.resume()
}

async function readBody(request: IncomingMessage, maxBytes: number): Promise<Buffer> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size > maxBytes) throw new ResourceError(413, `body is larger than ${maxBytes} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
