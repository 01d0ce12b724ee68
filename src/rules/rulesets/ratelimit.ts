import type { Issue } from '../../core/errors.js'
import { repeats } from '../actions/shared.js'
import type { PhaseSpec } from '../phases.js'
import type { RateLimitInput } from './rule-input.js'

/** The name in `http.request.headers["name"]`. */
const HEADER = /^http\.(?:request|response)\.headers(?:\.names)?\["([^"]*)"\]/

/** Returns an issue if a rule of this phase must count requests and has no `ratelimit`. */
export function ratelimitPresence(phase: PhaseSpec, action: string, present: boolean): Issue[] {
  const missing = phase.ratelimit === 'required' && action !== 'execute' && !present
  return missing ? [{ pointer: '/ratelimit', message: `is required in ${phase.name}` }] : []
}

/** Returns the issues that the schema of `ratelimit` cannot express. Pointers are relative to the rule. */
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
