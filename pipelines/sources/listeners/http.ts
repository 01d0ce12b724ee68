/** A listener for records. It responds with 202 once they are safe on disk. */
import { createHash, timingSafeEqual } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { messageOf } from '../../../src/core/errors.js'
import type { Pause } from '../../../src/core/schedule/event-loop-yield.js'
import { INGEST_SLICES } from '../../../src/core/schedule/fair-slices.js'
import {
  assertInvalid,
  IntakeLimit,
  MAX_BODY_BYTES,
  MAX_LINES,
  whileConnected,
} from '../../../src/core/schedule/intake-limits.js'
import { SpoolFull, type FrameWriter } from '../../logpush/spool/types.js'
import { MalformedArray } from '../lines/array-lines.js'
import type { Input } from '../intake/input.js'
import type { TakingDeps } from '../intake/spool-input.js'
import { CODINGS, decoded, isDecodingError, UnknownCoding } from '../lines/content-coding.js'
import { NotGzip } from '../lines/ndjson.js'
import { intakeRecords } from '../intake/record-intake.js'
import { requestInput, type Reply } from './request-listener.js'

export interface HttpOptions {
  /** Address such as `127.0.0.1:8600`. Port 0 chooses a free port. */
  readonly listen: string
  /** Bearer token of senders. If undefined, no token is required. */
  readonly token?: string | undefined
  /** Called with the URL, once it listens. */
  readonly listening: (url: string) => void
}

/** Invalid records that a response lists. */
const MAX_REPORTED = 100

interface Rejected {
  readonly line: number
  readonly message: string
}

/** Reads records from POST requests: NDJSON or JSON arrays, compressed or not. Rejects if it cannot listen on the address. */
export const httpInput = async ({ listen, token, listening }: HttpOptions, deps: TakingDeps): Promise<Input> =>
  await requestInput(
    {
      listen,
      listening,
      reject: (request) => refusal(request, token),
      busy: () => BUSY,
      read: async (request, writer) =>
        await INGEST_SLICES.run(deps, async (pause) => await readRequest(request, writer, { ...deps, pause })),
    },
    deps,
  )

const BUSY: Reply = [429, { error: 'too many requests wait; send this one again later' }, { 'retry-after': '1' }]

function refusal(request: IncomingMessage, token: string | undefined): Reply | undefined {
  if (request.method !== 'POST') return [405, { error: 'use POST' }, { allow: 'POST' }]
  const [scheme = '', given = ''] = (request.headers.authorization ?? '').split(' ')
  if (token === undefined || (scheme.toLowerCase() === 'bearer' && same(given, token))) return undefined
  return [401, { error: 'needs the header Authorization: Bearer TOKEN' }, { 'www-authenticate': 'Bearer' }]
}

const digest = (text: string): Buffer => createHash('sha256').update(text).digest()
const same = (a: string, b: string): boolean => timingSafeEqual(digest(a), digest(b))

/**
 * Reads one request. Records that were committed before an error stay, so a sender that repeats the request may
 * duplicate them.
 */
async function readRequest(
  request: IncomingMessage,
  writer: FrameWriter,
  { stats, lines, pause }: TakingDeps & { readonly pause: Pause },
): Promise<Reply> {
  const rejected: Rejected[] = []
  const taken = { read: 0 }
  let invalid = 0
  const reject = (line: number, message: string): void => {
    invalid++
    stats.reject(`request:${line}`, message)
    if (rejected.length < MAX_REPORTED) rejected.push({ line, message })
    assertInvalid(invalid)
  }
  const counted = () => ({ accepted: taken.read - invalid, rejected })
  try {
    const body = decoded(
      // The response needs the connection, also if reading ends early.
      request.iterator({ destroyOnReturn: false }),
      request.headers['content-encoding'],
      MAX_BODY_BYTES,
    )
    await intakeRecords(body, writer, {
      reject,
      commit: () => writer.commit(),
      taken,
      lines,
      pause: whileConnected(request, pause),
      limits: { bytes: MAX_BODY_BYTES, lines: MAX_LINES },
    })
    return [202, counted()]
  } catch (error) {
    if (!(error instanceof IntakeLimit)) return failure(error)
    const { limit, message } = error
    return [limit === 'invalid' ? 400 : 413, { error: message, ...counted() }]
  } finally {
    stats.read += taken.read
  }
}

function failure(error: unknown): Reply {
  if (error instanceof SpoolFull) return [429, { error: messageOf(error) }, { 'retry-after': '10' }]
  // The response names the accepted codings (RFC 9110, 15.5.16).
  if (error instanceof UnknownCoding)
    return [415, { error: error.message }, { 'accept-encoding': [...CODINGS.keys()].join(', ') }]
  if (error instanceof MalformedArray || error instanceof NotGzip || isDecodingError(error))
    return [400, { error: messageOf(error) }]
  return [500, { error: 'the records could not be stored' }]
}
