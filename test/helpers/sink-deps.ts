import { Agent as HttpAgent } from 'node:http'
import { Agent as HttpsAgent } from 'node:https'
import { once } from 'node:events'
import { connect as plain } from 'node:net'
import { connect as secure } from 'node:tls'
import { gunzipSync, gzipSync } from 'node:zlib'
import { systemClock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import type { Batch, Encoding } from '../../src/core/sink.js'
import type { SinkDeps } from '../../sinks/sink-type.js'

/** What sinks work with in tests: everything is allowed but files; more in `changes`. */
export function sinkDeps({ ca, ...changes }: Partial<SinkDeps> & { ca?: string } = {}): SinkDeps {
  return {
    egress: {
      check: async () => {},
      agents: () => {
        const http = new HttpAgent({ keepAlive: true })
        const https = new HttpsAgent({ keepAlive: true, ...(ca && { ca }) })
        return { http, https, destroy: () => [http, https].forEach((agent) => agent.destroy()) }
      },
      connect: async ({ host, port, tls }) => {
        const socket = tls ? secure({ host, port, ...(ca && { ca }) }) : plain({ host, port })
        await once(socket, tls ? 'secureConnect' : 'connect')
        return socket
      },
    },
    allowPlainHttp: true,
    allowFileUnder: [],
    allowStdout: true,
    clock: { ...systemClock, now: () => Date.parse('2026-11-21T12:00:00Z') },
    log: silentLog,
    ...changes,
  }
}

/** A batch of that text, as the pipeline would hand it to a sink that wants `encoding`. */
export function batchOf(text: string | Buffer, encoding: Encoding, changes: Partial<Batch> = {}): Batch {
  const plainBytes = Buffer.from(text)
  const bytes = encoding === 'gzip' ? gzipSync(plainBytes, { level: 1 }) : plainBytes
  return {
    name: '20261121T235959Z_20261122T000029Z_5f0c2e9a',
    records: plainBytes.toString('latin1').split('\n').length - 1,
    from: new Date('2026-11-21T23:59:59.250Z'),
    to: new Date('2026-11-22T00:00:29Z'),
    size: plainBytes.length,
    body: {
      length: bytes.length,
      encoding,
      async *read() {
        for (let at = 0; at < bytes.length; at += 200_000) yield bytes.subarray(at, at + 200_000)
      },
      bytes: async () => bytes,
    },
    ...changes,
  }
}

export const unzipped = (bytes: Buffer): string => gunzipSync(bytes).toString()
