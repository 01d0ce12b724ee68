import { gzipSync } from 'node:zlib'
import type { Sink, SinkLimits } from '../../src/core/sink.js'
import type { SinkDeps, SinkType } from '../sink-type.js'
import { TEST_TEXT } from '../test-text.js'
import { HttpClient } from './client.js'
import { target, type OwnTarget, type Target } from './target.js'

/** How a destination differs that takes the gzipped text of a batch in one POST. */
export interface HttpSinkOptions<N extends string> extends Pick<
  SinkType,
  'scheme' | 'shown' | 'secretPath' | 'ownership'
> {
  readonly limits?: SinkLimits
  /** Parameters that it takes for itself. */
  readonly own?: readonly N[]
  /** Looks at the destination, and may send to another URL or with more headers. Throws InvalidInput with the pointer "". */
  readonly prepare?: (target: OwnTarget<N>) => Target
  /** Files of ownership challenges are sent like a batch. */
  readonly challenged?: boolean
}

const TEST_HEADERS = { 'content-disposition': 'attachment; filename="test.txt.gz"' }
const GZIP = { 'content-type': 'text/plain; charset=utf-8', 'content-encoding': 'gzip' }

/** A kind of destination where each batch is one gzipped POST, and any 2xx says that it has arrived. */
export function httpSinkType<const N extends string = never>({
  limits = {},
  own = [],
  prepare = (target) => target,
  challenged = false,
  ...type
}: HttpSinkOptions<N>): SinkType {
  const targetOf = (destination: URL, deps: SinkDeps): Target => prepare(target(destination, deps, own))
  return {
    shown: SHOWN,
    ...type,
    check: (destination, deps) => void targetOf(destination, deps),

    open(destination, deps): Sink {
      const { url, headers, verify } = targetOf(destination, deps)
      const client = new HttpClient(deps, { verify })
      const send = async (text: string, more: Readonly<Record<string, string>>, signal: AbortSignal) =>
        void (await client.post({ url, headers: { ...GZIP, ...headers, ...more }, body: gzipSync(text) }, signal))
      return {
        encoding: 'gzip',
        limits,
        daily: false,
        async write({ name, body }, signal) {
          // A receiver that keeps the keys it has seen can tell a batch that comes again.
          await client.post({ url, headers: { 'idempotency-key': name, ...GZIP, ...headers }, body }, signal)
        },
        check: async (signal) => await send(TEST_TEXT, TEST_HEADERS, signal),
        ...(challenged && {
          async put(name: string, text: string, signal: AbortSignal) {
            await send(text, {}, signal)
            return name
          },
        }),
        close: async () => client.close(),
      }
    },
  }
}

/** Parameters of public log services that are no secrets. */
export const SHOWN: readonly string[] = [
  'tls',
  'insecure-skip-verify',
  'ddsource',
  'ddtags',
  'service',
  'host',
  'format',
  'sourcetype',
  'source',
  'index',
  'channel',
  'pipeline',
]
