import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import { createServer as createSecure, type Server as SecureServer } from 'node:https'
import type { AddressInfo, Socket } from 'node:net'
import { crc32 } from 'node:zlib'
import type { Test } from 'tap'
import { badSignature } from './s3-signature.js'
import { SERVER_TLS } from './tls.js'

/** A failure of a request. */
export type Fault =
  | Refusal
  /** The connection breaks after this many bytes of the body. */
  | { readonly resetAfter: number }
  /** The response announces more bytes than it has. */
  | 'truncated'
  /** 200, and then the failure in the body, as S3 does when it completes an upload. */
  | 'late_error'
  /** No response at all. */
  | 'silent'

interface Refusal {
  readonly status: number
  readonly code: string
  readonly headers?: Record<string, string>
  readonly text?: string
}

export interface StoredObject {
  readonly body: Buffer
  readonly headers: IncomingHttpHeaders
}

/** An S3 that is as strict as real ones: signature, hash, MD5, sizes of parts. It fails as the test requests. */
export interface S3Fake {
  readonly port: number
  readonly server: Server | SecureServer
  /** Connections that are open now. */
  readonly connections: () => number
  /** By `bucket/key`. */
  readonly objects: Map<string, StoredObject>
  /** Uploads that were begun, and neither completed nor aborted. */
  readonly uploads: Map<string, Map<number, StoredObject>>
  /** `PUT bucket/key?partNumber=1&uploadId=...` of all requests. */
  readonly requests: string[]
  /** Hosts of these requests. */
  readonly hosts: Set<string>
  /** Called for each request. */
  fault: (request: string) => Fault | undefined
}

export const KEYS = { id: 'AKIDEXAMPLE', secret: 'wJalr+XUtnFEMI/K7MDENG+bPx' }

export async function s3Fake(t: Test, { tls = false } = {}): Promise<S3Fake> {
  const listener = (request: IncomingMessage, response: ServerResponse) => void result(request, response)
  const server = tls ? createSecure(SERVER_TLS, listener) : createServer(listener)
  const open = new Set<Socket>()
  server.on('connection', (socket: Socket) => open.add(socket.once('close', () => open.delete(socket))))
  server.keepAliveTimeout = 60_000
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const fake: S3Fake = {
    port,
    server,
    connections: () => open.size,
    objects: new Map(),
    uploads: new Map(),
    requests: [],
    hosts: new Set(),
    fault: () => undefined,
  }
  return fake

  async function result(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url!, 'http://host')
    const path = decodeURIComponent(url.pathname.slice(1))
    const line = `${request.method} ${path}${url.search}`
    fake.requests.push(line)
    fake.hosts.add(request.headers.host ?? '')
    const fault = fake.fault(line)
    const body = await read(request, typeof fault === 'object' && 'resetAfter' in fault ? fault.resetAfter : Infinity)
    if (!body || fault === 'silent') return
    if (fault === 'truncated') {
      response.writeHead(200, { 'content-type': 'application/xml', 'content-length': 4000 })
      response.write('<?xml version="1.0"?><Complete', () => request.socket.destroy())
      return
    }
    if (fault === 'late_error')
      return void response.end(errorText('InternalError', 'We encountered an internal error.'))
    if (typeof fault === 'object' && 'status' in fault) return refuse(response, fault)

    const wrong = badSignature(request, body, KEYS.id, KEYS.secret) ?? badDigest(request.headers, body)
    if (wrong !== undefined)
      return refuse(response, { status: wrong === 'NotImplemented' ? 501 : (STATUS[wrong] ?? 403), code: wrong })
    act(request, response, path, url.searchParams, body)
  }

  function act(request: IncomingMessage, response: ServerResponse, path: string, query: URLSearchParams, body: Buffer) {
    const etag = `"${createHash('md5').update(body).digest('hex')}"`
    const stored = { body, headers: request.headers }
    const id = query.get('uploadId') ?? ''
    const upload = fake.uploads.get(id)
    if (request.method === 'POST' && query.has('uploads')) {
      const fresh = randomUUID()
      fake.uploads.set(fresh, new Map([[0, stored]]))
      response.end(`<InitiateMultipartUploadResult><UploadId>${fresh}</UploadId></InitiateMultipartUploadResult>`)
    } else if (request.method === 'GET' && query.get('list-type') === '2') {
      list(response, path.replace(/\/$/, ''), query)
    } else if (request.method === 'DELETE' && id === '') {
      fake.objects.delete(path)
      response.writeHead(204).end()
    } else if (id === '') {
      fake.objects.set(path, stored)
      response.setHeader('etag', etag).end()
    } else if (!upload) refuse(response, { status: 404, code: 'NoSuchUpload' })
    else if (request.method === 'PUT') {
      upload.set(Number(query.get('partNumber')), stored)
      response.setHeader('etag', etag).end()
    } else if (request.method === 'DELETE') {
      fake.uploads.delete(id)
      response.writeHead(204).end()
    } else complete(response, path, id, upload, body.toString())
  }

  /** Returns two keys in one response, so that lists have several. */
  function list(response: ServerResponse, bucket: string, query: URLSearchParams): void {
    const prefix = `${bucket}/${query.get('prefix') ?? ''}`
    const after = query.get('continuation-token') ?? ''
    const keys = [...fake.objects.keys()].filter((key) => key.startsWith(prefix) && key > after).sort()
    const page = keys.slice(0, 2)
    const contents = page.map((key) => `<Contents><Key>${key.slice(bucket.length + 1)}</Key></Contents>`).join('')
    const more = keys.length > 2 ? `<NextContinuationToken>${page.at(-1)}</NextContinuationToken>` : ''
    response.end(`<ListBucketResult><IsTruncated>${keys.length > 2}</IsTruncated>${contents}${more}</ListBucketResult>`)
  }

  function complete(
    response: ServerResponse,
    path: string,
    id: string,
    upload: Map<number, StoredObject>,
    text: string,
  ): void {
    const named = [...text.matchAll(/<Part>.*?<\/Part>/g)].map(([part]) => ({
      number: Number(/<PartNumber>(\d+)</.exec(part)?.[1]),
      etag: /<ETag>(?:&quot;|")?([0-9a-f]{32})/.exec(part)?.[1],
    }))
    const found = named.map(({ number }) => upload.get(number))
    const fits = named.every(({ number, etag }, index) => {
      const part = found[index]
      return number === index + 1 && part && createHash('md5').update(part.body).digest('hex') === etag
    })
    if (!fits || named.length === 0) return refuse(response, { status: 400, code: 'InvalidPart' })
    if (found.slice(0, -1).some((part) => part!.body.length < 5 * 1024 * 1024))
      return refuse(response, { status: 400, code: 'EntityTooSmall' })
    fake.uploads.delete(id)
    const body = Buffer.concat(found.map((part) => part!.body))
    fake.objects.set(path, { body, headers: upload.get(0)!.headers })
    response.end(`<CompleteMultipartUploadResult><Key>${path}</Key></CompleteMultipartUploadResult>`)
  }
}

const STATUS: Record<string, number> = { BadDigest: 400, InvalidDigest: 400, XAmzContentSHA256Mismatch: 400 }

async function read(request: IncomingMessage, most: number): Promise<Buffer | undefined> {
  const pieces: Buffer[] = []
  let size = 0
  try {
    for await (const piece of request as AsyncIterable<Buffer>) {
      pieces.push(piece)
      size += piece.length
      if (size > most) request.socket.resetAndDestroy()
    }
    return Buffer.concat(pieces)
  } catch {
    return undefined
  }
}

/** Checks that the body has the MD5 and CRC of its headers, if they are present. */
function badDigest(headers: IncomingHttpHeaders, body: Buffer): string | undefined {
  const md5 = headers['content-md5']
  if (md5 !== undefined && md5 !== createHash('md5').update(body).digest('base64')) return 'BadDigest'
  const crc = headers['x-amz-checksum-crc32']
  const own = Buffer.alloc(4)
  own.writeUInt32BE(crc32(body))
  return crc === undefined || crc === own.toString('base64') ? undefined : 'BadDigest'
}

function refuse(response: ServerResponse, fault: Refusal): void {
  response.writeHead(fault.status, { 'content-type': 'application/xml', ...fault.headers })
  response.end(errorText(fault.code, fault.text ?? 'told by the test'))
}

const errorText = (code: string, message: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${message}</Message></Error>`
