import { headerOf, type RawHeaders } from '../../http/headers.js'
import { BLOB_HEADER, PRIVATE_HEADERS, PROTO_HEADER } from '../../workers/runtime/types.js'
import type { Exchange } from '../exchange/exchange.js'

const HOP_NAME = 'edged'

/** Facts of a request that the proxy tells a Worker. `cf` is JSON without other characters than those of ASCII. */
interface WorkerFacts {
  readonly address: string
  readonly scheme: string
  readonly hops: number
  readonly cf: string
}

/** Returns the fields that only the proxy sets in requests of Workers: name, value, name, value. */
function ownFields({ address, scheme, hops, cf }: WorkerFacts): string[] {
  const fields = ['x-real-ip', address, 'cf-visitor', `{"scheme":"${scheme}"}`]
  fields.push('cdn-loop', `${HOP_NAME}; n=${hops}`, BLOB_HEADER, cf)
  // The runtime assumes http.
  if (scheme === 'https') fields.push(PROTO_HEADER, scheme)
  return fields
}

/** Returns the header fields that the script sees, and the private ones for the runtime. */
export function workerHeaders(
  { clientAddress: address, scheme, headers }: Pick<Exchange, 'clientAddress' | 'scheme' | 'headers'>,
  hops: number,
  cf: string,
): string[] {
  const sent: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!
    if (!PRIVATE_HEADERS.has(name.toLowerCase())) sent.push(name, headers[i + 1]!)
  }
  sent.push(...ownFields({ address, scheme, hops, cf }))
  return sent
}

/** Returns the lines of the fields that only the proxy sets, each after the end of the line before it. */
export function workerLines(facts: WorkerFacts): string {
  const fields = ownFields(facts)
  const parts: string[] = []
  for (let i = 0; i + 1 < fields.length; i += 2) parts.push('\r\n', fields[i]!, ': ', fields[i + 1]!)
  return parts.join('')
}

const PRIVATE_LINE = new RegExp(`\\n(?:${[...PRIVATE_HEADERS].join('|')}):`, 'i')

/** Returns whether lines of a client, each after the end of the line before it, have a field that only the proxy sets. */
export const namesWorkerFields = (lines: string): boolean => PRIVATE_LINE.test(lines)

/** Returns how many Workers a request has passed. */
export function hopsOf(headers: RawHeaders): number {
  const field = headerOf(headers, 'cdn-loop')
  const [, hops] = (field !== undefined && /\bedged; n=(\d{1,3})/.exec(field)) || []
  return hops === undefined ? 0 : Number(hops)
}
