import { bucketId, R2_BUCKETS } from '../../src/core/model/storage.js'
import type { Kind } from '../../src/core/store.js'
import { area } from '../http/area.js'
import type { ControlDeps } from '../http/context.js'
import { ACCOUNT_ONLY as scopes, type Call } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import { auditOf } from '../resources/audit.js'
import { jurisdictionOf } from './r2.js'

/** The path of one bucket. */
export const BUCKET = '/r2/buckets/:bucket_name'

/** Rows about a bucket, whose records have the id of the bucket. */
export const bucketRows = area(
  { scopes, access: ACCESS.r2, refusal: 'badBucket' },
  ({ store, clock, config }: ControlDeps) => {
    /** Returns the id of the bucket of a request. */
    const bucketOf = ({ scope, request, params }: Call<'bucket_name'>): string => {
      const id = bucketId(jurisdictionOf(request), params.bucket_name)
      if (!store.get(R2_BUCKETS, scope, id)) throw new ApiError('bucketNotFound')
      return id
    }
    const read = <T>(call: Call<'bucket_name'>, kind: Kind<T>): T | undefined =>
      store.get(kind, call.scope, bucketOf(call))?.value
    /** Changes a record. `change` can run several times. */
    const change = async <T>(
      call: Call<'bucket_name'>,
      kind: Kind<T>,
      change: (old: T | undefined) => T | undefined,
    ): Promise<void> => {
      const { scope } = call
      const id = bucketOf(call)
      await store.change(kind, scope, id, change, auditOf(clock, call, { action: 'update', kind, scope, id }))
    }
    const write = async <T>(call: Call<'bucket_name'>, kind: Kind<T>, value: T | undefined): Promise<void> =>
      await change(call, kind, () => value)
    return { bucketOf, read, change, write, zones: () => config().zones }
  },
)
