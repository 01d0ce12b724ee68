/** A listener for logs over OTLP/HTTP. It responds with 200 once the records are safe on disk. */
import type { IncomingMessage } from 'node:http'
import { messageOf } from '../../../src/core/errors.js'
import { EventLoopYield, type Pause } from '../../../src/core/schedule/event-loop-yield.js'
import { parseScanned, scanJson } from '../../../src/core/json/json-slices.js'
import { KeyedMutex } from '../../../src/core/keyed-mutex.js'
import { SpoolFull, type FrameWriter } from '../../logpush/spool/types.js'
import { IntakeLimit } from '../../../src/core/schedule/intake-limits.js'
import { CODINGS, decoded, isDecodingError, UnknownCoding } from '../lines/content-coding.js'
import type { Input } from '../intake/input.js'
import { MessageIntake } from '../intake/message-intake.js'
import { decodeRequest, encodeResponse, encodeStatus, MalformedProtobuf } from './otlp-protobuf.js'
import { countRecords, logRecords, NotLogs, TooLarge } from './otlp-records.js'
import { wantedRecord, type RecordChoice } from '../intake/record-choice.js'
import { requestInput, type Reply } from './request-listener.js'
import type { RunStats } from '../intake/run-stats.js'
import type { TakingDeps } from '../intake/spool-input.js'

export interface OtlpOptions {
  /** Address such as `127.0.0.1:4318`. Port 0 chooses a free port. */
  readonly listen: string
  readonly record?: RecordChoice | undefined
  /** Called with the URL, once it listens. */
  readonly listening: (url: string) => void
}

const PATH = '/v1/logs'
const JSON_TYPE = 'application/json'
const PROTOBUF_TYPE = 'application/x-protobuf'
/** Maximum decoded bytes of a request. Larger requests get 413. */
const MAX_BYTES = 16 * 1024 * 1024
const LARGE_BYTES = 512 * 1024

/** Values inside of values have two levels each. The byte limit bounds everything else. */
const JSON_LIMITS = { depth: 200, members: Infinity, values: Infinity }

const slices = new EventLoopYield()
const pause: Pause = () => slices.yieldToEventLoop()

/** Codes of google.rpc.Status. */
const INVALID_ARGUMENT = 3
const NOT_FOUND = 5
const UNAVAILABLE = 14
const INTERNAL = 13

/** Reads logs of POST requests to `/v1/logs`, JSON or protobuf. Rejects if it cannot listen on the address. */
export const otlpInput = async ({ listen, listening, record }: OtlpOptions, deps: TakingDeps): Promise<Input> => {
  const choice = wantedRecord(record, deps.dataset)
  const large = new KeyedMutex()
  return await requestInput(
    {
      listen,
      listening,
      reject: refusal,
      busy: (request) =>
        failed(request, 429, UNAVAILABLE, 'too many requests wait; send this one again later', { 'retry-after': '1' }),
      read: async (request, writer) => await readRequest(request, { writer, choice, stats: deps.stats, large }),
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
  /** Large requests, whose objects take up to 30 times their bytes, are stored one at a time. */
  readonly large: KeyedMutex
}

async function readRequest(request: IncomingMessage, reading: Reading): Promise<Reply> {
  try {
    const body = await whole(decoded(request, request.headers['content-encoding'], MAX_BYTES))
    const store = async () => await storeLogs(request, body, reading)
    return await (body.length > LARGE_BYTES ? reading.large.run('large', store) : store())
  } catch (error) {
    return failure(request, error)
  }
}

async function storeLogs(request: IncomingMessage, bytes: Buffer, { writer, choice, stats }: Reading): Promise<Reply> {
  const logs = typeOf(request) === JSON_TYPE ? await readJson(bytes) : await decodeRequest(bytes, pause)
  // The whole request is checked before any record is stored.
  const total = await countRecords(logs, choice, pause)
  const intake = new MessageIntake(writer, stats)
  let rejected = 0
  let first = ''
  const reject = (message: string) => {
    rejected++
    first ||= message
  }
  let index = 0
  for (const record of logRecords(logs, choice)) {
    const line = ++index
    intake.add(
      () => `request:${line}`,
      () => Buffer.from(record()),
      reject,
    )
    if (intake.full) await writer.commit()
    await pause()
  }
  if (writer.count > 0) await writer.commit()
  if (rejected === 0) return reply(request, 200, [{}, encodeResponse(0, '')])
  const errorMessage = `${rejected} of ${total} records are invalid, the first one: ${first}`
  // 64-bit integers are text in the JSON form.
  const partialSuccess = { rejectedLogRecords: String(rejected), errorMessage }
  return reply(request, 200, [{ partialSuccess }, encodeResponse(rejected, errorMessage)])
}

async function readJson(bytes: Buffer): Promise<unknown> {
  const scan = await scanJson(bytes, JSON_LIMITS, pause)
  if (scan.excess !== undefined) throw new SyntaxError(`the JSON ${scan.excess}`)
  return await parseScanned(bytes, scan, pause)
}

/** OTLP clients repeat 429, 502, 503 and 504 and drop the records of other errors. */
function failure(request: IncomingMessage, error: unknown): Reply {
  if (error instanceof SpoolFull) return failed(request, 429, UNAVAILABLE, messageOf(error), { 'retry-after': '10' })
  if (error instanceof UnknownCoding)
    return failed(request, 415, INVALID_ARGUMENT, error.message, { 'accept-encoding': [...CODINGS.keys()].join(', ') })
  if (error instanceof TooLarge || error instanceof IntakeLimit)
    return failed(request, 413, INVALID_ARGUMENT, error.message)
  const malformed =
    error instanceof NotLogs ||
    error instanceof MalformedProtobuf ||
    error instanceof SyntaxError ||
    isDecodingError(error)
  if (malformed) return failed(request, 400, INVALID_ARGUMENT, `the request cannot be read: ${messageOf(error)}`)
  return failed(request, 503, INTERNAL, 'the records could not be stored')
}

/**
 * Reads a body into one growing buffer. Parts can be so small that separate objects would take a hundred times as much
 * memory.
 */
async function whole(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  let bytes = Buffer.alloc(0)
  let size = 0
  for await (const chunk of body) {
    const end = size + chunk.length
    if (end > MAX_BYTES) throw new TooLarge(`the request is longer than ${MAX_BYTES} bytes; send fewer records`)
    if (end > bytes.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(end, 2 * size))
      larger.set(bytes.subarray(0, size))
      bytes = larger
    }
    bytes.set(chunk, size)
    size = end
  }
  return bytes.subarray(0, size)
}
