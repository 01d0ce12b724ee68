import { gunzipSync, gzipSync } from 'node:zlib'
import { systemClock } from '../../src/core/clock.js'
import { silentLog } from '../../src/core/log.js'
import type { Batch, Encoding } from '../../src/core/sink.js'
import { NotPublic, type Egress } from '../../src/egress/egress.js'
import type { SinkDeps } from '../../sinks/contract/sink-type.js'
import { testEgress } from './egress.js'
import { CA_FILE } from './tls.js'

/** Dependencies of sinks in tests: all is allowed except files, and nothing is reachable. `changes` overrides them. */
export function sinkDeps(changes: Partial<SinkDeps> = {}): SinkDeps {
  return {
    egress: NO_WAY_OUT,
    allowPlainHttp: true,
    allowFileUnder: [],
    allowStdout: true,
    clock: { ...systemClock, now: () => Date.parse('2026-11-21T12:00:00Z') },
    log: silentLog,
    ...changes,
  }
}

/** The same with the egress of the product, which allows these ports of 127.0.0.1. */
export async function depsFor(ports: readonly number[], changes: Partial<SinkDeps> = {}): Promise<SinkDeps> {
  const egress = await testEgress({ allow_cidrs: ports.map((port) => `127.0.0.1/32:${port}`), ca_file: CA_FILE })
  return sinkDeps({ egress, ...changes })
}

const NO_WAY_OUT: Egress = {
  check: () => Promise.reject(new NotPublic()),
  connect: () => Promise.reject(new NotPublic()),
  agents: () => {
    throw new NotPublic()
  },
}

/** A signal that never aborts. */
export const never = new AbortController().signal

/** Returns a batch of that text, as the pipeline passes it to a sink that requires `encoding`. */
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
