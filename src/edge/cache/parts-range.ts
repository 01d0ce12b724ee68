import type { Exchange } from '../exchange/exchange.js'
import type { Span } from './delivery/conditions.js'
import type { CacheRequest } from './delivery/request.js'
import type { CacheShared } from './shared.js'
import { PART_BYTES, singleRange } from './parts/content-range.js'

/** A request, as far as the choice depends on it. */
interface Asked {
  readonly exchange: Exchange
  readonly request: CacheRequest
  readonly key: string
}

/**
 * Returns the range of a request whose response is stored in parts, because the whole is too large or a rule asks for
 * ranges. Undefined for every other request.
 */
export function partsRange(
  { large, marks, maxObject }: CacheShared,
  { exchange, request, key }: Asked,
): Span | undefined {
  if (request.range === undefined || maxObject < PART_BYTES) return undefined
  const isRuled = exchange.decisions.cache?.origin_range_requests?.mode === 'on'
  // An origin that sent no part is not asked for parts again for some time.
  if (!large.has(key) && (!isRuled || marks.has(key))) return undefined
  const isPlain = exchange.method === 'GET' && !request.authorization && !request.hasConditions
  return isPlain && exchange.place?.root === undefined ? singleRange(request.range) : undefined
}
