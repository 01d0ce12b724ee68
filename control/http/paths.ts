import type { Scope } from '../../src/core/scope.js'
import type { EndpointInfo } from './context.js'

const SCOPE_PATH = { account: '/accounts/:account_id', zone: '/zones/:zone_id', daemon: '' } as const

/** Returns the path of an endpoint in one of its scopes, without the prefix: `/zones/:zone_id/settings`. */
export const endpointPath = (endpoint: Pick<EndpointInfo, 'path'>, scope: Scope['type']): string =>
  SCOPE_PATH[scope] + endpoint.path

/** Sorts fixed segments before parameters, so that `/tokens/verify` is found before `/tokens/:token_id`. */
export function bySpecificity(a: string, b: string): number {
  const [left, right] = [a.split('/'), b.split('/')]
  for (const [at, segment] of left.entries()) {
    const other = right[at]
    if (other === undefined) return 1
    const difference = rank(segment) - rank(other)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

/** Ranks fixed segments first, then parameters of one segment, then parameters of all segments that follow. */
const rank = (segment: string): number => (segment.startsWith('*') ? 2 : Number(segment.startsWith(':')))
