import type { IncomingMessage } from 'node:http'
import { Type } from 'typebox'
import { R2_CORS, R2_DOMAINS, R2_LIFECYCLES, R2_LOCKS } from '../../src/core/model/bucket-settings.js'
import { bucketId, R2_BUCKETS, type StoredBucket } from '../../src/core/model/storage.js'
import { strict } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { VersionConflict } from '../../src/core/store.js'
import type { Objects } from '../../src/workers/storage/objects.js'
import { audited, auditOf } from '../resources/audit.js'
import { area } from '../http/area.js'
import { ApiResponse } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import { QuotaReservation } from '../resources/quota.js'
import type { ControlDeps } from '../http/context.js'

const PATH = '/r2/buckets'
const MAX_BUCKETS = 10_000

const LOCATIONS = ['apac', 'eeur', 'enam', 'weur', 'wnam', 'oc'] as const
export const CLASSES = ['Standard', 'InfrequentAccess'] as const
const JURISDICTIONS: readonly string[] = ['default', 'eu', 'us', 'fedramp', 'fedramp-high']

const NewBucket = Type.Object(
  {
    name: Type.String({
      pattern: '^[a-z0-9][a-z0-9-]{1,61}[a-z0-9]$',
      'x-message': 'must be 3 to 63 lower-case letters, digits and hyphens, with no hyphen at either end',
    }),
    locationHint: Type.Optional(Type.Enum([...LOCATIONS])),
    storageClass: Type.Optional(Type.Enum([...CLASSES])),
  },
  strict,
)

const Bucket = Type.Object({
  name: Type.String(),
  creation_date: Type.String(),
  jurisdiction: Type.String(),
  location: Type.Optional(Type.String()),
  storage_class: Type.String(),
})

const Query = Type.Object({
  name_contains: Type.Optional(Type.String()),
  start_after: Type.Optional(Type.String({ description: 'The first bucket comes after this name.' })),
  cursor: Type.Optional(Type.String({ description: 'Of the page before.' })),
  per_page: Type.Integer({ minimum: 1, maximum: 1000, default: 1000 }),
  order: Type.Optional(Type.Enum(['name'])),
  direction: Type.Enum(['asc', 'desc'], { default: 'asc' }),
})

const rows = area(
  { scopes: ['account'], access: ACCESS.r2, refusal: 'badBucket' },
  ({ store, clock }: ControlDeps, objects: Objects) => {
    const room = new QuotaReservation()
    const stored = (scope: Scope, request: IncomingMessage, name: string) => {
      const id = bucketId(jurisdictionOf(request), name)
      const found = store.get(R2_BUCKETS, scope, id)
      if (!found) throw new ApiError('bucketNotFound')
      return found
    }
    return { store, clock, room, stored, objects }
  },
)

/** Buckets. */
export const r2 = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the buckets of a jurisdiction (header cf-r2-jurisdiction)',
    query: Query,
    result: Type.Object({ buckets: Type.Array(Bucket) }),
    handle({ store }, { scope, request, query: { name_contains = '', start_after, cursor, per_page, direction } }) {
      const jurisdiction = jurisdictionOf(request)
      const after = cursor === undefined ? start_after : Buffer.from(cursor, 'base64url').toString()
      const inOrder = store.list(R2_BUCKETS, scope).filter(({ value }) => value.jurisdiction === jurisdiction)
      const found = (direction === 'asc' ? inOrder : inOrder.toReversed())
        .map(({ value }) => value)
        .filter(({ name }) => name.includes(name_contains))
        .filter(({ name }) => after === undefined || (direction === 'asc' ? name > after : name < after))
      const buckets = found.slice(0, per_page)
      const next = found.length > per_page ? Buffer.from(buckets.at(-1)?.name ?? '').toString('base64url') : undefined
      return new ApiResponse(
        { buckets },
        { top: { result_info: { ...(next !== undefined && { cursor: next }), per_page } } },
      )
    },
    top: Type.Object({
      result_info: Type.Object({ cursor: Type.Optional(Type.String()), per_page: Type.Integer() }),
    }),
  }),
  rows.post(PATH, {
    summary: 'Create a bucket',
    body: NewBucket,
    jsonAs: ['text/plain'],
    result: Bucket,
    async handle({ store, clock, room }, call) {
      const { scope, body, request } = call
      const value: StoredBucket = {
        name: body.name,
        creation_date: new Date(clock.now()).toISOString(),
        jurisdiction: jurisdictionOf(request),
        storage_class: body.storageClass ?? 'Standard',
        ...(body.locationHint !== undefined && { location: body.locationHint }),
      }
      const id = bucketId(value.jurisdiction, value.name)
      if (store.get(R2_BUCKETS, scope, id)) throw new ApiError('bucketExists')
      await room.take(scope.id, MAX_BUCKETS - store.count(R2_BUCKETS, scope), 'tooManyBuckets', async () => {
        await store
          .batch(...audited(clock, call, { kind: R2_BUCKETS, scope, id, after: value }))
          .catch((error: unknown) => {
            throw error instanceof VersionConflict ? new ApiError('bucketExists') : error
          })
      })
      return value
    },
  }),
  rows.get(`${PATH}/:bucket_name`, {
    summary: 'Read a bucket',
    result: Bucket,
    handle: ({ stored }, { scope, params, request }) => stored(scope, request, params.bucket_name).value,
  }),
  rows.patch(`${PATH}/:bucket_name`, {
    summary: 'Change the storage class of a bucket (header cf-r2-storage-class)',
    result: Bucket,
    async handle({ store, clock, stored }, call) {
      const { scope, params, request } = call
      const storage_class = headerOf(request, 'cf-r2-storage-class') ?? ''
      if (!(CLASSES as readonly string[]).includes(storage_class))
        throw new ApiError(
          'badBucket',
          undefined,
          `the header cf-r2-storage-class must be one of ${CLASSES.join(', ')}`,
        )
      const { id } = stored(scope, request, params.bucket_name)
      const after = await store.change(
        R2_BUCKETS,
        scope,
        id,
        (old) => old && { ...old, storage_class },
        auditOf(clock, call, { kind: R2_BUCKETS, scope, id }),
      )
      if (!after) throw new ApiError('bucketNotFound')
      return after.value
    },
  }),
  rows.delete(`${PATH}/:bucket_name`, {
    summary: 'Delete a bucket',
    result: Type.Object({}),
    async handle({ store, clock, objects, stored }, call) {
      const { scope, params, request } = call
      const { id, value: before, version } = stored(scope, request, params.bucket_name)
      if (objects.list(scope, id, { limit: 1 }).objects.length > 0) throw new ApiError('bucketNotEmpty')
      const settings = [R2_CORS, R2_DOMAINS, R2_LIFECYCLES, R2_LOCKS].map((kind) => ({
        kind,
        scope,
        id,
        value: undefined,
      }))
      await store.batch(...audited(clock, call, { kind: R2_BUCKETS, scope, id, before, ifVersion: version }, settings))
      return {}
    },
  }),
])

/** Returns a header field that is sent at most once. */
export const headerOf = (request: IncomingMessage, name: string): string | undefined => {
  const value = request.headers[name]
  return typeof value === 'string' ? value : undefined
}

/** The jurisdiction whose buckets a request means. */
export function jurisdictionOf(request: IncomingMessage): string {
  const jurisdiction = headerOf(request, 'cf-r2-jurisdiction') ?? 'default'
  if (!JURISDICTIONS.includes(jurisdiction))
    throw new ApiError(
      'badBucket',
      undefined,
      `the header cf-r2-jurisdiction must be one of ${JURISDICTIONS.join(', ')}`,
    )
  return jurisdiction
}
