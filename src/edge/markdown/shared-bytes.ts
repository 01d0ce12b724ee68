import { BlockPool } from '../../core/memory/block-pool.js'
import type { ResponseSink } from '../exchange/response.js'

/** Memory for pieces of pages that wait. */
export const ROOMS = new BlockPool(16_384, 64)

/** A character has at most three bytes of UTF-8 for each of its code units. */
const MAX_UNIT_BYTES = 3
const SHARED = Buffer.allocUnsafeSlow(98_304)

/** Returns text as UTF-8 for one call of the sink. All pages share the memory, if the sink copies what it retains. */
export function encodedFor({ copies }: Pick<ResponseSink, 'copies'>, text: string): Buffer {
  if (copies !== true || text.length * MAX_UNIT_BYTES > SHARED.length) return Buffer.from(text)
  return SHARED.subarray(0, SHARED.write(text))
}

/** Returns bytes that may change later, or a copy if the receiver retains them. */
export const copyFor = ({ copies }: { readonly copies?: boolean }, bytes: Buffer): Buffer =>
  copies === true ? bytes : Buffer.from(bytes)
