import type { Issue } from '../core/errors.js'

/** Renamed options, by pointer. Removed with version 1.0. */
export const RENAMED: Readonly<Record<string, string>> = {
  '/logpush/uploads/at_once': 'in_flight',
  '/logpush/uploads/per_destination': 'in_flight_per_destination',
  '/logpush/keep_while_disabled': 'retain_while_disabled',
  '/webhooks/tries': 'attempts: {in_flight, in_flight_per_destination}',
  '/webhooks/breaker': 'circuit_breaker: {failures, open_for, max_open_for}',
  '/webhooks/keep': 'retention',
  '/workers/keep': 'retention',
  '/proxy/origin/waiting': 'queue_size',
  '/proxy/origin/waiting_timeout': 'queue_timeout',
  '/proxy/rate_limit_keys': 'max_rate_limit_keys',
  '/proxy/challenge/clearance': 'clearance_lifetime',
  '/webhooks/attempts/at_once': 'in_flight',
  '/webhooks/attempts/per_destination': 'in_flight_per_destination',
  '/webhooks/circuit_breaker/open': 'open_for',
  '/webhooks/circuit_breaker/most': 'max_open_for',
}

/** Returns the issues, with the new name in those about a renamed option. */
export const withNewNames = (issues: readonly Issue[]): Issue[] =>
  issues.map((issue) => {
    const now = Object.hasOwn(RENAMED, issue.pointer) ? RENAMED[issue.pointer] : undefined
    const old = issue.pointer.slice(issue.pointer.lastIndexOf('/') + 1)
    return now === undefined ? issue : { ...issue, message: `unknown option \`${old}\`; it is now \`${now}\`` }
  })
