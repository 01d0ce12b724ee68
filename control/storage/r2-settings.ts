import { Type } from 'typebox'
import { assertNoIssues, type Issue } from '../../src/core/errors.js'
import {
  CorsRules,
  LifecycleRules,
  R2_CORS,
  R2_LIFECYCLES,
  type LifecycleRule,
} from '../../src/core/model/bucket-settings.js'
import { bucketId, R2_BUCKETS } from '../../src/core/model/storage.js'
import { strict } from '../../src/core/schema.js'
import type { Kind } from '../../src/core/store.js'
import { auditOf } from '../resources/audit.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, withoutEffect, type Call } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import type { ControlDeps } from '../http/context.js'
import { jurisdictionOf } from './r2.js'

const BUCKET = '/r2/buckets/:bucket_name'
const LIFECYCLE = `${BUCKET}/lifecycle` as const
const CORS = `${BUCKET}/cors` as const
const rows = area({ scopes, access: ACCESS.r2, refusal: 'badBucket' }, ({ store, clock }: ControlDeps) => {
  /** Returns the id of the bucket of a request. */
  const bucketOf = ({ scope, request, params }: Call<'bucket_name'>): string => {
    const id = bucketId(jurisdictionOf(request), params.bucket_name)
    if (!store.get(R2_BUCKETS, scope, id)) throw new ApiError('bucketNotFound')
    return id
  }
  const read = <T>(call: Call<'bucket_name'>, kind: Kind<T>): T | undefined =>
    store.get(kind, call.scope, bucketOf(call))?.value
  const write = async <T>(call: Call<'bucket_name'>, kind: Kind<T>, value: T | undefined): Promise<void> => {
    const { scope } = call
    const id = bucketOf(call)
    await store.change(kind, scope, id, () => value, auditOf(clock, call, { action: 'update', kind, scope, id }))
  }
  return { read, write }
})

/** Lifecycle rules and CORS policies of buckets. */
export const r2Settings = rows.endpoints([
  rows.get(LIFECYCLE, {
    summary: 'Read the lifecycle rules of a bucket',
    result: Type.Object({ rules: LifecycleRules }),
    handle: ({ read }, call) => ({ rules: read(call, R2_LIFECYCLES)?.rules ?? [] }),
  }),
  rows.put(LIFECYCLE, {
    summary: 'Replace the lifecycle rules of a bucket. They act once a minute',
    body: Type.Object({ rules: Type.Optional(LifecycleRules) }, strict),
    maxBytes: 1_000_000,
    result: Type.Object({}),
    further: (_, { body }) => ruleIssues(body.rules),
    async handle({ write }, call) {
      const { rules = [] } = call.body
      assertNoIssues(ruleIssues(rules))
      await write(call, R2_LIFECYCLES, rules.length > 0 ? { rules } : undefined)
      return {}
    },
  }),
  rows.get(CORS, {
    summary: 'Read the CORS policy of a bucket',
    result: Type.Object({ rules: CorsRules }),
    handle({ read }, call) {
      const found = read(call, R2_CORS)
      if (!found) throw new ApiError('corsNotFound')
      return found
    },
  }),
  rows.put(CORS, {
    summary: 'Replace the CORS policy of a bucket',
    body: Type.Object({ rules: Type.Optional(CorsRules) }, strict),
    maxBytes: 1_000_000,
    result: Type.Object({}),
    async handle({ write }, call) {
      const { rules = [] } = call.body
      await write(call, R2_CORS, { rules })
      return new ApiResponse({}, { messages: withoutEffect(rules.length > 0 ? ['/rules'] : []) })
    },
  }),
  rows.delete(CORS, {
    summary: 'Delete the CORS policy of a bucket',
    result: Type.Object({}),
    async handle({ write }, call) {
      await write(call, R2_CORS, undefined)
      return {}
    },
  }),
])

/** Returns the issues of rules that fit their schema. */
function ruleIssues(rules: readonly LifecycleRule[] = []): Issue[] {
  const ids = new Set<string>()
  return rules.flatMap((rule, at) => {
    const pointer = `/rules/${at}`
    const issues = dateIssues(rule, pointer)
    if (ids.has(rule.id)) issues.push({ pointer: `${pointer}/id`, message: 'is a duplicate' })
    ids.add(rule.id)
    return issues
  })
}

function dateIssues(
  { deleteObjectsTransition, storageClassTransitions = [] }: LifecycleRule,
  pointer: string,
): Issue[] {
  const dated = [
    ['/deleteObjectsTransition', deleteObjectsTransition?.condition] as const,
    ...storageClassTransitions.map(({ condition }, at) => [`/storageClassTransitions/${at}`, condition] as const),
  ]
  return dated.flatMap(([place, condition]) =>
    condition?.type === 'Date' && Number.isNaN(Date.parse(condition.date))
      ? [{ pointer: `${pointer}${place}/condition/date`, message: 'is not a date that exists' }]
      : [],
  )
}
