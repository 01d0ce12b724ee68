import { newRayId } from '../core/ids.js'

/** The trace that a request belongs to (W3C Trace Context, level 1). Ids are lower-case hexadecimal. */
export interface TraceParent {
  readonly traceId: string
  readonly spanId: string
  readonly sampled: boolean
}

const FORM = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/
const SAMPLED = 1

/** Returns the parent that a field `traceparent` names. Undefined if it is not valid (3.2.2.3). */
export function readTraceparent(text: string | undefined): TraceParent | undefined {
  if (text === undefined) return undefined
  const [, version, traceId = '', spanId = '', flags = '', more] = FORM.exec(text) ?? []
  if (version === undefined || version === 'ff' || (version === '00' && more !== undefined)) return undefined
  if (/^0+$/.test(traceId) || /^0+$/.test(spanId)) return undefined
  return { traceId, spanId, sampled: (Number.parseInt(flags, 16) & SAMPLED) !== 0 }
}

/** Returns the field for a request that is part of a sampled trace. */
export const traceparent = (traceId: string, spanId: string): string => `00-${traceId}-${spanId}-01`

export const newTraceId = (): string => newRayId() + newRayId()
export const newSpanId = newRayId
