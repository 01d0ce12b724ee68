/** A listener for logs over OTLP/HTTP. It responds with 200 once the records are safe on disk. */
import type { IncomingMessage } from 'node:http'
import { messageOf } from '../../src/core/errors.js'
import { SpoolFull, type FrameWriter } from '../logpush/spool/types.js'
import { CODINGS, decoded, isDecodingError, UnknownCoding } from './content-coding.js'
import type { Input } from './input.js'
import { MessageIntake } from './message-intake.js'
import { decodeRequest, encodeResponse, encodeStatus, MalformedProtobuf } from './otlp-protobuf.js'
import { logRecords, NotLogs } from './otlp-records.js'
import { wantedRecord, type RecordChoice } from './record-choice.js'
import { requestInput, type Reply } from './request-listener.js'
import type { RunStats } from './run-stats.js'
import type { TakingDeps } from './spool-input.js'

export interface OtlpOptions {
  /** `127.0.0.1:4318`; port 0 takes a free one. */
  readonly listen: string
  readonly record?: RecordChoice | undefined
  /** Called with the URL, once it listens. */
  readonly listening: (url: string) => void
}

const PATH = '/v1/logs'
const JSON_TYPE = 'application/json'
const PROTOBUF_TYPE = 'application/x-protobuf'
/** Decoded bytes of a request; larger ones get 413. */
const MAX_BYTES = 16 * 1024 * 1024

/** Codes of google.rpc.Status. */
const INVALID_ARGUMENT = 3
const NOT_FOUND = 5
const UNAVAILABLE = 14
const INTERNAL = 13

class TooLarge extends Error {
  override readonly name = 'TooLarge'
}

/** Reads logs of POST requests to `/v1/logs`, JSON or protobuf. Rejects if it cannot listen on the address. */
export const otlpInput = async ({ listen, listening, record }: OtlpOptions, deps: TakingDeps): Promise<Input> => {
  const choice = wantedRecord(record, deps.dataset)
  return await requestInput(
    {
      listen,
      listening,
      reject: refusal,
      busy: (request) =>
        failed(request, 429, UNAVAILABLE, 'too many requests wait; send this one again later', { 'retry-after': '1' }),
      read: async (request, writer) => await readRequest(request, { writer, choice, stats: deps.stats }),
    },
    deps,
  )
}

function refusal(request: IncomingMessage): Reply | undefined {
  const [path] = (request.url ?? '').split('?')
  if (path !== PATH) return failed(request, 404, NOT_FOUND, `only logs are read; use ${PATH}`)
  if (request.method !== 'POST') return failed(request, 405, INVALID_ARGUMENT, 'use POST', { allow: 'POST' })
  const type = typeOf(request)
  if (type === JSON_TYPE || type === PROTOBUF_TYPE) return undefined
  return failed(request, 415, INVALID_ARGUMENT, `use Content-Type ${JSON_TYPE} or ${PROTOBUF_TYPE}`, {
    accept: `${JSON_TYPE}, ${PROTOBUF_TYPE}`,
  })
}

const typeOf = ({ headers }: IncomingMessage): string =>
  (headers['content-type'] ?? '').split(';', 1)[0]!.trim().toLowerCase()

/** Returns a response in the encoding of the request. */
function reply(request: IncomingMessage, status: number, bodies: readonly [object, Uint8Array], headers = {}): Reply {
  const [json, protobuf] = bodies
  if (typeOf(request) !== PROTOBUF_TYPE) return [status, json, headers]
  return [status, protobuf, { ...headers, 'content-type': PROTOBUF_TYPE }]
}

const failed = (request: IncomingMessage, status: number, code: number, message: string, headers = {}): Reply =>
  reply(request, status, [{ code, message }, encodeStatus(code, message)], headers)

interface Reading {
  readonly writer: FrameWriter
  readonly choice: RecordChoice
  readonly stats: RunStats
}

async function readRequest(request: IncomingMessage, { writer, choice, stats }: Reading): Promise<Reply> {
  try {
    const bytes = await whole(decoded(request, request.headers['content-encoding']))
    const logs: unknown = typeOf(request) === JSON_TYPE ? JSON.parse(bytes.toString()) : decodeRequest(bytes)
    // All of the request is checked before a record of it is stored.
    const records = [...logRecords(logs, choice)]
    const intake = new MessageIntake(writer, stats)
    let rejected = 0
    let first = ''
    const reject = (message: string) => {
      rejected++
      first ||= message
    }
    for (const [index, record] of records.entries()) {
      intake.add(
        () => `request:${index + 1}`,
        () => Buffer.from(record()),
        reject,
      )
      if (intake.full) await writer.commit()
    }
    if (writer.count > 0) await writer.commit()
    if (rejected === 0) return reply(request, 200, [{}, encodeResponse(0, '')])
    const errorMessage = `${rejected} of ${records.length} records are invalid, the first one: ${first}`
    // 64-bit integers are text in the JSON form.
    const partialSuccess = { rejectedLogRecords: String(rejected), errorMessage }
    return reply(request, 200, [{ partialSuccess }, encodeResponse(rejected, errorMessage)])
  } catch (error) {
    return failure(request, error)
  }
}

/** OTLP clients repeat 429, 502, 503 and 504 and drop the records of other errors. */
function failure(request: IncomingMessage, error: unknown): Reply {
  if (error instanceof SpoolFull) return failed(request, 429, UNAVAILABLE, messageOf(error), { 'retry-after': '10' })
  if (error instanceof UnknownCoding)
    return failed(request, 415, INVALID_ARGUMENT, error.message, { 'accept-encoding': [...CODINGS.keys()].join(', ') })
  if (error instanceof TooLarge) return failed(request, 413, INVALID_ARGUMENT, error.message)
  const malformed =
    error instanceof NotLogs ||
    error instanceof MalformedProtobuf ||
    error instanceof SyntaxError ||
    isDecodingError(error)
  if (malformed) return failed(request, 400, INVALID_ARGUMENT, `the request cannot be read: ${messageOf(error)}`)
  return failed(request, 503, INTERNAL, 'the records could not be stored')
}

async function whole(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of body) {
    size += chunk.length
    if (size > MAX_BYTES) throw new TooLarge(`the request is longer than ${MAX_BYTES} bytes; send fewer records`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
