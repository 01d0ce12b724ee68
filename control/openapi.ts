import type { Endpoint } from './endpoint.js'
import type { Step } from './state.js'

/** Answers `GET /openapi.json`. */
export function manual(_endpoints: readonly Endpoint[]): Step {
  return async (_ctx, next) => await next()
}
