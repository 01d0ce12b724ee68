import type { Issue } from '../../core/errors.js'
import { repeats } from '../actions/shared.js'
import type { PhaseSpec } from '../phases.js'
import type { RateLimitInput } from './rule-input.js'

/** The name in `http.request.headers["name"]`. */
const HEADER = /^http\.(?:request|response)\.headers(?:\.names)?\["([^"]*)"\]/

/** Returns whether a rule needs or may have a `ratelimit` in this phase; pointers are relative to the rule. */
export function ratelimitPresence(phase: PhaseSpec, action: string, present: boolean): Issue[] {
  const pointer = '/ratelimit'
  if (action === 'execute') return present ? [{ pointer, message: 'has no place in execute rules' }] : []
  if (phase.ratelimit === 'required' && !present) return [{ pointer, message: `is required in ${phase.name}` }]
  if (!phase.ratelimit && present) return [{ pointer, message: `is not allowed in ${phase.name}` }]
  return []
}

/** Returns the issues that the schema of `ratelimit` cannot express; pointers are relative to the rule. */
export function ratelimitIssues(limit: RateLimitInput): Issue[] {
  const { characteristics, requests_per_period, score_per_period, score_response_header_name } = limit
  const issues: Issue[] = repeats('/ratelimit/characteristics', characteristics, (item: string) => item.trim())
  for (const [index, characteristic] of characteristics.entries()) {
    const header = HEADER.exec(characteristic.trim())?.[1]
    if (header !== undefined && header !== header.toLowerCase())
      issues.push({ pointer: `/ratelimit/characteristics/${index}`, message: 'the header name must be in lower case' })
  }
  const visitor = characteristics.indexOf('cf.unique_visitor_id')
  if (visitor >= 0 && characteristics.includes('ip.src'))
    issues.push({
      pointer: `/ratelimit/characteristics/${visitor}`,
      message: 'cf.unique_visitor_id cannot be used together with ip.src',
    })
  if (requests_per_period === undefined && score_per_period === undefined)
    issues.push({ pointer: '/ratelimit/requests_per_period', message: 'is required, or score_per_period in its place' })
  if (score_per_period !== undefined && score_response_header_name === undefined)
    issues.push({ pointer: '/ratelimit/score_response_header_name', message: 'is required with score_per_period' })
  if (score_per_period === undefined && score_response_header_name !== undefined)
    issues.push({ pointer: '/ratelimit/score_per_period', message: 'is required with score_response_header_name' })
  return issues
}
