import type { DeliveryState, FailureReason, Try } from '../core/model/delivery.js'
import type { PostResult } from './http-post.js'
import { delayAfter, retryAfter, retryDecision } from './retry-schedule.js'

/** Maximum stored attempts of a delivery. The newest attempts are retained. */
const MAX_ATTEMPTS_STORED = 20

/** Outcome of one attempt. */
export interface Outcome {
  readonly state: DeliveryState
  /** Milliseconds until the next attempt. Undefined if the delivery is over. */
  readonly againAfter: number | undefined
  /** The receiver responded with 410 and wants no more deliveries. */
  readonly gone: boolean
}

/** Returns the state of a delivery after an attempt that ended at `now`. */
export function outcomeOf(
  before: DeliveryState,
  result: PostResult,
  { schedule, now, random }: { schedule: readonly number[]; now: number; random: () => number },
): Outcome {
  const attempts = (before.attempts ?? 0) + 1
  const made: Try = {
    at: new Date(now - result.durationMs).toISOString(),
    status_code: result.status,
    duration_ms: result.durationMs,
    error: errorOf(result),
    response: result.response,
  }
  const common = {
    last_updated_at: new Date(now).toISOString(),
    tries: [...before.tries.slice(1 - MAX_ATTEMPTS_STORED), made],
    attempts,
    ...(before.earlier_attempts !== undefined && { earlier_attempts: before.earlier_attempts }),
  }
  const decision = retryDecision(result.status)
  if (decision === 'delivered') return { state: { ...common, status: 'completed' }, againAfter: undefined, gone: false }
  const gone = decision === 'gone'
  const wait = retryAfter(result.retryAfter, now)
  const againAfter = gone ? undefined : delayAfter(schedule, attempts, wait, random)
  if (againAfter === undefined) return { state: { ...common, ...failure(result) }, againAfter, gone }
  const due_at = new Date(now + againAfter).toISOString()
  return { state: { ...common, status: 'pending', due_at }, againAfter, gone }
}

export function errorOf({ status, error }: Pick<PostResult, 'status' | 'error'>): string | null {
  if (status === 0) return error ?? 'no connection'
  if (status >= 200 && status <= 299) return null
  return status >= 300 && status <= 399 ? 'redirects are not followed' : `status ${status}`
}

function failure(result: PostResult): Pick<DeliveryState, 'status' | 'failure_reason' | 'failure_details'> {
  return {
    status: 'failed',
    failure_reason: reasonOf(result),
    failure_details: { status_code: result.status, error: errorOf(result) },
  }
}

function reasonOf({ status, error }: PostResult): FailureReason {
  if (status === 401 || status === 403 || error === 'not public') return 'Permission Denied'
  if (status === 404 || status === 410) return 'Integration Unavailable'
  return error === 'internal' ? 'System Error' : 'Service Temporarily Unavailable'
}

/** Returns the state of a delivery that fails without an attempt. */
export const abandoned = (before: DeliveryState, error: string, now: number): DeliveryState => ({
  status: 'failed',
  last_updated_at: new Date(now).toISOString(),
  tries: before.tries,
  ...(before.attempts !== undefined && { attempts: before.attempts }),
  ...(before.earlier_attempts !== undefined && { earlier_attempts: before.earlier_attempts }),
  failure_reason: 'Integration Unavailable',
  failure_details: { error },
})
