import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { DIRECTORY_TYPE } from '../../src/agents/signatures/directories.js'

const HUGE_BYTES = 8 * 1024 * 1024
const DRIP_MS = 200
const DEPTH = 20_000
const TOO_MANY_KEYS = 500

type Respond = (response: ServerResponse, request: IncomingMessage) => void

const json =
  (body: string | Buffer, fields: Record<string, string> = {}): Respond =>
  (response) =>
    void response.writeHead(200, { 'content-type': DIRECTORY_TYPE, ...fields }).end(body)

/** Directories that give no key, by kind. */
export const BAD_DIRECTORIES: Readonly<Record<string, Respond>> = {
  stalls: () => undefined,
  'stalls in its body': (response) =>
    void response.writeHead(200, { 'content-type': DIRECTORY_TYPE }).write('{"keys":['),
  drips: (response) => {
    response.writeHead(200, { 'content-type': DIRECTORY_TYPE })
    const timer = setInterval(() => response.write(' '), DRIP_MS)
    response.on('close', () => clearInterval(timer))
  },
  huge: json(Buffer.alloc(HUGE_BYTES, 0x20)),
  'huge when decoded': json(gzipSync(Buffer.alloc(HUGE_BYTES, 0x20)), { 'content-encoding': 'gzip' }),
  redirects: (response) => void response.writeHead(302, { location: 'http://127.0.0.1/' }).end(),
  'redirects to itself': (response, { url }) => void response.writeHead(301, { location: url! }).end(),
  'is HTML': (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('{"keys":[]}'),
  'is an error': (response) => void response.writeHead(500).end(),
  'is missing': (response) => void response.writeHead(404).end(),
  breaks: (response) => void response.destroy(),
  'is no JSON': json('{"keys":'),
  'is nested': json('['.repeat(DEPTH) + ']'.repeat(DEPTH)),
  'is no key set': json('{"keys":{"length":1e9}}'),
  'has too many keys': json(JSON.stringify({ keys: Array.from({ length: TOO_MANY_KEYS }, () => ({ kty: 'OKP' })) })),
  'has broken keys': json(
    JSON.stringify({ keys: [{ kty: 'OKP', crv: 'Ed25519', x: '!' }, null, 1, { kty: 'RSA', n: 'AA', e: 'AA' }] }),
  ),
}

/** Starts the server of all key directories. `keysOf` returns the key set of a host. Other hosts begin with the place of a kind. */
export async function startDirectories(
  tls: { readonly key: string; readonly cert: string },
  keysOf: (host: string, path: string) => object | undefined,
): Promise<{ readonly port: number; readonly asked: ReadonlyMap<string, number>; close(): void }> {
  const kinds = Object.values(BAD_DIRECTORIES)
  const asked = new Map<string, number>()
  const options = { key: readFileSync(tls.key), cert: readFileSync(tls.cert) }
  const server = createServer(options, (request, response) => {
    const host = (request.headers.host ?? '').split(':', 1)[0]!
    asked.set(host, (asked.get(host) ?? 0) + 1)
    const keys = keysOf(host, request.url ?? '')
    const kind = Number(/^bad-(\d+)-/.exec(host)?.[1] ?? 0)
    if (keys) {
      const isDirectory = request.url?.startsWith('/.well-known/')
      response
        .writeHead(200, { 'content-type': isDirectory ? DIRECTORY_TYPE : 'application/json' })
        .end(JSON.stringify(keys))
    } else kinds[kind % kinds.length]!(response, request)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    port,
    asked,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
