import { Type } from 'typebox'
import { assertNoIssues, type Issue } from '../../src/core/errors.js'
import {
  CorsRules,
  LifecycleRules,
  LockRules,
  R2_CORS,
  R2_LIFECYCLES,
  R2_LOCKS,
  type LifecycleRule,
  type LockRule,
} from '../../src/core/model/bucket-settings.js'
import { strict } from '../../src/core/schema.js'
import { ApiResponse, withoutEffect } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { BUCKET, bucketRows as rows } from './bucket-rows.js'

const LIFECYCLE = `${BUCKET}/lifecycle` as const
const CORS = `${BUCKET}/cors` as const
const LOCK = `${BUCKET}/lock` as const
const SIPPY = `${BUCKET}/sippy` as const
const Sippy = Type.Object({ enabled: Type.Literal(false) })

/** Lifecycle rules, CORS policies and lock rules of buckets, and the state of Sippy, which edged does not have. */
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
  rows.get(LOCK, {
    summary: 'Read the lock rules of a bucket',
    result: Type.Object({ rules: LockRules }),
    handle: ({ read }, call) => ({ rules: read(call, R2_LOCKS)?.rules ?? [] }),
  }),
  rows.put(LOCK, {
    summary: 'Replace the lock rules of a bucket',
    body: Type.Object({ rules: Type.Optional(LockRules) }, strict),
    maxBytes: 1_000_000,
    result: Type.Object({}),
    further: (_, { body }) => lockIssues(body.rules),
    async handle({ write }, call) {
      const { rules = [] } = call.body
      assertNoIssues(lockIssues(rules))
      await write(call, R2_LOCKS, rules.length > 0 ? { rules } : undefined)
      return new ApiResponse({}, { messages: withoutEffect(rules.length > 0 ? ['/rules'] : []) })
    },
  }),
  rows.get(SIPPY, {
    summary: 'Read whether Sippy copies objects to a bucket. It does not exist here',
    result: Sippy,
    handle({ bucketOf }, call) {
      bucketOf(call)
      return { enabled: false as const }
    },
  }),
  rows.delete(SIPPY, {
    summary: 'Switch Sippy off for a bucket',
    result: Sippy,
    handle({ bucketOf }, call) {
      bucketOf(call)
      return { enabled: false as const }
    },
  }),
])

function lockIssues(rules: readonly LockRule[] = []): Issue[] {
  const ids = new Set<string>()
  return rules.flatMap(({ id, condition }, at) => {
    const issues: Issue[] = []
    if (ids.has(id)) issues.push({ pointer: `/rules/${at}/id`, message: 'is a duplicate' })
    ids.add(id)
    if (condition.type === 'Date' && Number.isNaN(Date.parse(condition.date)))
      issues.push({ pointer: `/rules/${at}/condition/date`, message: 'is not a date that exists' })
    return issues
  })
}

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
