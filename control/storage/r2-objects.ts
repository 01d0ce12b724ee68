import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { Type, type Static } from 'typebox'
import { R2_OBJECTS, type ObjectHttpFields, type StoredObject } from '../../src/core/model/objects.js'
import { bucketId, R2_BUCKETS } from '../../src/core/model/storage.js'
import { EventLoopYield, inSlices } from '../../src/core/schedule/event-loop-yield.js'
import {
  byteRange,
  etagTests,
  meets,
  wantedRange,
  type ObjectCondition,
} from '../../src/workers/storage/object-conditions.js'
import { ObjectError } from '../../src/workers/storage/object-error.js'
import type { ObjectPlace, Objects } from '../../src/workers/storage/objects.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, FileResponse, type Call } from '../http/endpoint.js'
import { ApiError, type ErrorKind } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import type { ControlDeps } from '../http/context.js'
import { CLASSES, headerOf, jurisdictionOf } from './r2.js'

const OBJECTS = '/r2/buckets/:bucket_name/objects'
const OBJECT = `${OBJECTS}/*object_key` as const
/** Larger objects are written with a Worker, in parts. */
const MAX_UPLOAD_BYTES = 300 * 2 ** 20
const MAX_DELETE = 1000

/** Header fields that are stored with an object. */
const FIELDS = [
  ['content-type', 'contentType'],
  ['content-language', 'contentLanguage'],
  ['content-disposition', 'contentDisposition'],
  ['content-encoding', 'contentEncoding'],
  ['cache-control', 'cacheControl'],
] as const

const EMPTY = { objects: 0, payloadSize: 0, metadataSize: 0 }
const Counted = Type.Object({ objects: Type.Integer(), payloadSize: Type.Integer(), metadataSize: Type.Integer() })
const ClassMetrics = Type.Object({
  published: Counted,
  uploaded: Type.Object(Counted.properties, { description: 'Of uploads in parts that are not complete: not counted.' }),
})
const slices = new EventLoopYield()

const ListedObject = Type.Object({
  key: Type.String(),
  etag: Type.String(),
  size: Type.Integer(),
  last_modified: Type.String(),
  storage_class: Type.String(),
  ssec: Type.Boolean(),
  http_metadata: Type.Object({}),
  custom_metadata: Type.Object({}),
})

const Uploaded = Type.Object({
  key: Type.String(),
  etag: Type.String(),
  size: Type.String(),
  storage_class: Type.String(),
  uploaded: Type.String(),
  version: Type.String(),
})

const rows = area({ scopes, access: ACCESS.r2 }, ({ store }: ControlDeps, objects: Objects) => {
  const bucketOf = ({ scope, request, params }: Call<'bucket_name'>): string => {
    const id = bucketId(jurisdictionOf(request), params.bucket_name)
    if (!store.get(R2_BUCKETS, scope, id)) throw new ApiError('bucketNotFound')
    return id
  }
  const placeOf = (call: Call<'bucket_name' | 'object_key'>): ObjectPlace => ({
    scope: call.scope,
    bucket: bucketOf(call),
    key: call.params.object_key,
  })
  return { store, objects, bucketOf, placeOf }
})

/** The objects of a bucket. Workers see the same ones. */
export const r2Objects = rows.endpoints([
  rows.get('/r2/metrics', {
    summary: 'Read how many objects an account has, and their bytes, by storage class',
    result: Type.Object({ standard: ClassMetrics, infrequentAccess: ClassMetrics }),
    async handle({ store }, { scope }) {
      const counts = { Standard: { ...EMPTY }, InfrequentAccess: { ...EMPTY } }
      for await (const slice of inSlices(store.list(R2_OBJECTS, scope), () => slices.yieldToEventLoop()))
        for (const { value } of slice) {
          const of = counts[value.storage_class === 'InfrequentAccess' ? 'InfrequentAccess' : 'Standard']
          of.objects++
          of.payloadSize += value.size
          of.metadataSize += Buffer.byteLength(JSON.stringify([value.http, value.custom]))
        }
      const metrics = (published: typeof EMPTY) => ({ published, uploaded: { ...EMPTY } })
      return { standard: metrics(counts.Standard), infrequentAccess: metrics(counts.InfrequentAccess) }
    },
  }),
  rows.get(OBJECTS, {
    summary: 'List the objects of a bucket',
    query: Type.Object({
      prefix: Type.Optional(Type.String({ maxLength: 1024 })),
      delimiter: Type.Optional(
        Type.String({ maxLength: 1024, description: 'Keys with it behind the prefix are listed as one prefix.' }),
      ),
      start_after: Type.Optional(Type.String({ maxLength: 1024 })),
      cursor: Type.Optional(Type.String({ maxLength: 2048, description: 'Of the page before, from its result_info.' })),
      per_page: Type.Integer({ minimum: 1, maximum: 1000, default: 1000 }),
    }),
    result: Type.Array(ListedObject),
    handle({ objects, bucketOf }, call) {
      const { prefix, delimiter, start_after, cursor, per_page: limit } = call.query
      const after = cursor === undefined || cursor === '' ? start_after : Buffer.from(cursor, 'base64url').toString()
      const listed = objects.list(call.scope, bucketOf(call), { prefix, delimiter, after, limit })
      const next = listed.next === undefined ? '' : Buffer.from(listed.next).toString('base64url')
      return new ApiResponse(
        listed.objects.map(([key, object]) => listedObject(key, object)),
        {
          result_info: {
            count: listed.objects.length,
            cursor: next,
            is_truncated: next !== '',
            per_page: limit,
            ...(delimiter !== undefined && { delimited: listed.prefixes }),
          },
        },
      )
    },
  }),
  rows.delete(OBJECTS, {
    summary: 'Delete objects by their keys',
    body: Type.Array(Type.String({ maxLength: 1024 }), { maxItems: MAX_DELETE }),
    bodyOptional: false,
    maxBytes: 2 * 2 ** 20,
    result: Type.Array(Type.Object({ key: Type.String() })),
    async handle({ objects, bucketOf }, call) {
      await objects.remove(call.scope, bucketOf(call), call.body)
      return call.body.map((key) => ({ key }))
    },
  }),
  rows.get(OBJECT, {
    summary: 'Read an object',
    file: 'application/octet-stream',
    handle({ objects, placeOf }, call) {
      const place = placeOf(call)
      const object = objects.find(place)
      if (!object) throw new ApiError('objectNotFound')
      const { headers } = call.request
      if (!meets(conditionOf(headers), object)) {
        const isCached = headers['if-none-match'] !== undefined || headers['if-modified-since'] !== undefined
        return new FileResponse('application/octet-stream', '', headersOf(object), isCached ? 304 : 412)
      }
      const type = object.http.contentType ?? 'application/octet-stream'
      const asked = headers.range === undefined ? undefined : wantedRange(headers.range)
      const range = asked && byteRange(asked, object.size)
      if (asked && !range) throw new ApiError('badRange')
      if (!range)
        return new FileResponse(type, Readable.from(objects.read(object)), {
          ...headersOf(object),
          'content-length': String(object.size),
        })
      const { offset, length } = range
      const part = {
        'content-length': String(length),
        'content-range': `bytes ${offset}-${offset + length - 1}/${object.size}`,
      }
      return new FileResponse(type, Readable.from(objects.read(object, range)), { ...headersOf(object), ...part }, 206)
    },
  }),
  rows.put(OBJECT, {
    summary: 'Store an object: the body, with its header fields',
    raw: { types: ['application/octet-stream', '*/*'], optional: true },
    result: Uploaded,
    async handle({ objects, placeOf }, call) {
      const place = placeOf(call)
      const { request } = call
      const storageClass = headerOf(request, 'cf-r2-storage-class')
      if (storageClass !== undefined && !(CLASSES as readonly string[]).includes(storageClass))
        throw new ApiError(
          'badObject',
          undefined,
          `the header cf-r2-storage-class must be one of ${CLASSES.join(', ')}`,
        )
      // The connection stays, so that an error response reaches the sender.
      const body = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
      const options = { http: httpFields(request), custom: {}, storageClass, maxBytes: MAX_UPLOAD_BYTES }
      const condition = conditionOf(request.headers)
      return uploaded(place.key, await objects.put(place, body, { ...options, condition }).catch(toApiError))
    },
  }),
  rows.delete(OBJECT, {
    summary: 'Delete an object; one that does not exist counts as deleted',
    result: Type.Object({ key: Type.String() }),
    async handle({ objects, placeOf }, call) {
      const { scope, bucket, key } = placeOf(call)
      await objects.remove(scope, bucket, [key])
      return { key }
    },
  }),
])

const KINDS: Readonly<Record<string, ErrorKind>> = {
  noBucket: 'bucketNotFound',
  precondition: 'objectChanged',
  tooLarge: 'objectTooLarge',
  busy: 'unavailable',
  tooMany: 'tooManyObjects',
}

function toApiError(error: unknown): never {
  if (!(error instanceof ObjectError)) throw error
  throw new ApiError(KINDS[error.kind] ?? 'badObject', undefined, error.message)
}

function httpFields({ headers }: IncomingMessage): ObjectHttpFields {
  const sent = FIELDS.flatMap(([field, name]) => (typeof headers[field] === 'string' ? [[name, headers[field]]] : []))
  const expires = Date.parse(headers.expires ?? '')
  return { ...Object.fromEntries(sent), ...(Number.isFinite(expires) && { cacheExpiry: expires }) }
}

function conditionOf(headers: IncomingMessage['headers']): ObjectCondition {
  const after = Date.parse(headers['if-modified-since'] ?? '')
  const before = Date.parse(headers['if-unmodified-since'] ?? '')
  const { 'if-match': matches, 'if-none-match': differs } = headers
  return {
    ...(matches !== undefined && { etagMatches: etagTests(matches) }),
    ...(differs !== undefined && { etagDoesNotMatch: etagTests(differs) }),
    ...(Number.isFinite(after) && { uploadedAfter: after }),
    // A time counts as "not after", and conditions compare "before".
    ...(Number.isFinite(before) && { uploadedBefore: before + 1000 }),
    secondsGranularity: true,
  }
}

function headersOf({ http, etag, uploaded: at, storage_class: storageClass }: StoredObject): Record<string, string> {
  const stored = FIELDS.slice(1).flatMap(([field, name]) => (http[name] === undefined ? [] : [[field, http[name]]]))
  return {
    ...Object.fromEntries(stored),
    ...(http.cacheExpiry !== undefined && { expires: new Date(http.cacheExpiry).toUTCString() }),
    etag: `"${etag}"`,
    'last-modified': new Date(at).toUTCString(),
    'cf-r2-storage-class': storageClass,
    'accept-ranges': 'bytes',
  }
}

function listedObject(key: string, object: StoredObject): Static<typeof ListedObject> {
  const { http, custom, etag, size, storage_class } = object
  const { cacheExpiry, ...fields } = http
  return {
    key,
    etag,
    size,
    last_modified: new Date(object.uploaded).toISOString(),
    storage_class,
    ssec: false,
    http_metadata: {
      ...fields,
      ...(cacheExpiry !== undefined && { cacheExpiry: new Date(cacheExpiry).toISOString() }),
    },
    custom_metadata: custom,
  }
}

function uploaded(
  key: string,
  { etag, size, storage_class, uploaded: at, version }: StoredObject,
): Static<typeof Uploaded> {
  return { key, etag, size: String(size), storage_class, uploaded: new Date(at).toISOString(), version }
}
