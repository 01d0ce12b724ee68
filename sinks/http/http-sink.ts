import { gzipSync } from 'node:zlib'
import { Type } from 'typebox'
import type { Sink, SinkLimits } from '../../src/core/sink.js'
import type { ParamSchema } from '../contract/params.js'
import { TEST_TEXT, type SinkDeps, type SinkType } from '../contract/sink-type.js'
import { HttpClient, responseOf } from './client.js'
import { httpParams, targetReader, type OwnTarget, type Target } from './target.js'

/** How a destination differs that takes the gzipped text of a batch in one POST. */
export interface HttpSinkOptions<S extends ParamSchema> extends Pick<
  SinkType,
  'scheme' | 'form' | 'summary' | 'shown' | 'secretPath' | 'ownership'
> {
  readonly limits?: SinkLimits
  /** Parameters that are not sent. */
  readonly own?: S
  /** Parameters that are sent, for the manual. */
  readonly sent?: ParamSchema
  /** Checks the destination, and may change the URL and the headers. Throws InvalidInput with the pointer "". */
  readonly prepare?: (target: OwnTarget<S>) => Target
  /** Files of ownership challenges are sent like a batch. */
  readonly challenged?: boolean
}

const TEST_HEADERS = { 'content-disposition': 'attachment; filename="test.txt.gz"' }
const GZIP = { 'content-type': 'text/plain; charset=utf-8', 'content-encoding': 'gzip' }

/** No parameters. */
export const NONE = Type.Object({})

/** A type of destination where each batch is one gzipped POST, and any 2xx confirms it. */
export function httpSinkType(options: Omit<HttpSinkOptions<typeof NONE>, 'own'>): SinkType
export function httpSinkType<const S extends ParamSchema>(options: HttpSinkOptions<S> & { readonly own: S }): SinkType
export function httpSinkType({
  limits = {},
  own = NONE,
  sent = NONE,
  prepare = (target) => target,
  challenged = false,
  ...type
}: HttpSinkOptions<ParamSchema>): SinkType {
  const read = targetReader(own)
  const targetOf = (destination: URL, deps: SinkDeps): Target => prepare(read(destination, deps))
  return {
    shown: SHOWN,
    ...type,
    params: httpParams(own, sent),
    check: (destination, deps) => void targetOf(destination, deps),

    open(destination, deps): Sink {
      const { url, headers, verify } = targetOf(destination, deps)
      const client = new HttpClient(deps, { verify })
      const send = async (text: string, more: Readonly<Record<string, string>>, signal: AbortSignal) =>
        await client.post({ url, headers: { ...GZIP, ...headers, ...more }, body: gzipSync(text) }, signal)
      return {
        encoding: 'gzip',
        limits,
        daily: false,
        async write({ name, body }, signal) {
          // A receiver that stores the keys it has seen can recognize a batch that is sent again.
          await client.post({ url, headers: { 'idempotency-key': name, ...GZIP, ...headers }, body }, signal)
        },
        check: async (signal) => responseOf(await send(TEST_TEXT, TEST_HEADERS, signal)),
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

/** Parameters of public log services that are not secret. */
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
