import type { LogRecord } from '../../../core/emit.js'
import type { Scope } from '../../../core/scope.js'
import { ResourceError, type ResourceHandler } from '../resource-server.js'

/** The dataset of log push that data points become records of. */
export const ANALYTICS_DATASET = 'workers_analytics_engine'

const MAX_BODY_BYTES = 64 * 1024
const VALUES = 20
/** Maximum bytes of the index, and of all blobs together. Equal to the limits of the hosted service. */
const MAX_INDEX_BYTES = 96
const MAX_BLOB_BYTES = 16 * 1024

/** Receives the data points of `writeDataPoint`. The id of the resource is the name of the dataset. */
export function analyticsResource(send: (scope: Scope, record: () => LogRecord) => void): ResourceHandler {
  return async (call) => {
    const point = JSON.parse((await call.body(MAX_BODY_BYTES)).toString('utf8')) as Readonly<Record<string, unknown>>
    const index = textOf(point['index1'])
    const blobs = Array.from({ length: VALUES }, (_, at) => textOf(point[`blob${at + 1}`]))
    if (Buffer.byteLength(index ?? '') > MAX_INDEX_BYTES)
      throw new ResourceError(400, `the index is longer than ${MAX_INDEX_BYTES} bytes`)
    if (blobs.reduce((sum, text) => sum + Buffer.byteLength(text ?? ''), 0) > MAX_BLOB_BYTES)
      throw new ResourceError(400, `the blobs are longer than ${MAX_BLOB_BYTES} bytes`)
    send(call.scope, () => ({
      Timestamp: nanoseconds(point['timestamp']),
      Dataset: call.id,
      ScriptName: call.script,
      Index1: index ?? '',
      ...Object.fromEntries(blobs.map((text, at) => [`Blob${at + 1}`, text ?? ''])),
      ...Object.fromEntries(blobs.map((_, at) => [`Double${at + 1}`, Number(point[`double${at + 1}`] ?? 0)])),
      SampleInterval: 1,
    }))
    return { status: 204 }
  }
}

/** Text arrives as an array of bytes. */
const textOf = (value: unknown): string | undefined =>
  Array.isArray(value) ? Buffer.from(value as number[]).toString('utf8') : typeof value === 'string' ? value : undefined

/** Reads the time of a data point, which arrives as text. */
const nanoseconds = (value: unknown): bigint => (typeof value === 'string' && /^\d+$/.test(value) ? BigInt(value) : 0n)
