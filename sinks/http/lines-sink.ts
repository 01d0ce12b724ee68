import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { SinkError, type Sink, type SinkLimits } from '../../src/core/sink.js'
import type { ParamSchema } from '../contract/params.js'
import { TEST_TEXT, type SinkDeps, type SinkType } from '../contract/sink-type.js'
import { HttpClient, isSuccess, responseOf, type Response } from './client.js'
import { NONE, SHOWN } from './http-sink.js'
import { linewise, type Lines, type Verdict } from './linewise.js'
import { httpParams, targetReader, type OwnTarget, type Target } from './target.js'

const zip = promisify(gzip)

/** The body of a request, before compression. */
export interface Message {
  readonly text: string
  readonly type: string
}

/**
 * Options of a destination that sends each line of a batch in its own form. `P` is the target of requests with further
 * settings.
 */
export interface LinesSinkOptions<S extends ParamSchema, P extends Target> extends Pick<
  SinkType,
  'scheme' | 'form' | 'summary' | 'shown'
> {
  /** A batch is held in memory as a whole. */
  readonly limits: SinkLimits & { readonly bytes: number }
  /** Parameters that are not sent. */
  readonly own: S
  /** Parameters that are sent, for the manual. */
  readonly sent?: ParamSchema
  /** Checks the destination. Throws InvalidInput with the pointer "". */
  readonly prepare: (target: OwnTarget<S>) => P
  readonly message: (batch: Lines, place: P) => Message
  /** Reads a 2xx response to a number of lines. Throws a SinkError if it does not report on them. */
  readonly judge?: (response: Response, place: P, lines: number) => Verdict | undefined
  /**
   * Returns the indexes of lines that an error response rejects because of their content. All other lines are sent
   * again. An empty result means that the response rejects all lines for another reason.
   */
  readonly unfit?: (response: Response, place: P, batch: Lines) => readonly number[]
  /** Maximum bytes of a response for {@link judge}. */
  readonly maxResponse?: number
  /** The line that a check sends. */
  readonly test?: (now: Date) => string
}

/** A type of destination that gets the lines of a batch in one gzipped message. */
export function linesSinkType<const S extends ParamSchema, P extends Target>({
  limits,
  own,
  sent = NONE,
  prepare,
  message,
  judge = () => undefined,
  unfit = () => [],
  maxResponse = 16_384,
  test = () => TEST_TEXT,
  ...type
}: LinesSinkOptions<S, P>): SinkType {
  const read = targetReader(own)
  const placeOf = (destination: URL, deps: SinkDeps): P => prepare(read(destination, deps))
  return {
    shown: SHOWN,
    ...type,
    params: httpParams(own, sent),
    check: (destination, deps) => void placeOf(destination, deps),

    open(destination, deps): Sink {
      const place = placeOf(destination, deps)
      const { url, verify } = place
      const client = new HttpClient(deps, { verify })
      const post = async (batch: Lines, signal: AbortSignal): Promise<Response> => {
        const { text, type } = message(batch, place)
        const headers = { 'content-type': type, ...place.headers, 'content-encoding': 'gzip' }
        return await client.request({ url, headers, body: await zip(text), maxResponse }, signal)
      }
      const send = async (batch: Lines, signal: AbortSignal, seen?: (response: Response) => void) => {
        const refused: number[] = []
        let left = batch.lines.map((_line, at) => at)
        while (left.length > 0) {
          const rest = partOf(batch, left)
          const response = await post(rest, signal)
          seen?.(response)
          if (isSuccess(response)) {
            const verdict = judge(response, place, left.length)
            if (verdict !== undefined) return verdict
            break
          }
          const places = new Set(unfit(response, place, rest))
          if (places.size === 0) throw client.failure(url, response)
          refused.push(...left.filter((_line, at) => places.has(at)))
          left = left.filter((_line, at) => !places.has(at))
        }
        return refused.length === 0 ? undefined : rejected(url.host, refused, batch.lines.length)
      }
      return {
        encoding: 'identity',
        limits,
        daily: false,
        write: linewise(send),
        async check(signal) {
          const now = new Date(deps.clock.now())
          let last: Response | undefined
          const line = { name: 'edged-test', from: now, lines: [test(now)], numbers: [0] }
          const verdict = await send(line, signal, (response) => (last = response))
          const response = last && responseOf(last)
          if (verdict === undefined) return response
          const failure = verdict.again.length > 0 ? verdict.failure : 'refused'
          throw new SinkError(failure, verdict.message, response && { response })
        },
        close: async () => client.close(),
      }
    },
  }
}

const partOf = ({ lines, numbers, ...batch }: Lines, places: readonly number[]): Lines => ({
  ...batch,
  lines: places.map((at) => lines[at]!),
  numbers: places.map((at) => numbers[at]!),
})

const rejected = (host: string, refused: readonly number[], lines: number): Verdict => ({
  message: `${host} rejected ${refused.length} of ${lines} lines for their time or length`,
  again: [],
  failure: 'refused',
  refused,
})

/** Returns JSON lines as one array. Other text stays unchanged. */
export function arrayMessage({ lines }: Pick<Lines, 'lines'>): Message {
  if (lines.every(isObject)) return { text: `[${lines.join(',')}]`, type: 'application/json' }
  const text = lines.join('\n')
  return { text, type: text.startsWith('[') ? 'application/json' : 'text/plain; charset=utf-8' }
}

/** Returns whether a line may be a JSON object. The destination checks the content. */
export const isObject = (line: string): boolean => line.startsWith('{') && line.endsWith('}')
