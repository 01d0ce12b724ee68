import type { Issue } from '../../../src/core/errors.js'
import type { TokenCondition } from '../../../src/core/model/token.js'
import { EVERYWHERE, rangesOf, without, type AddressRange } from './address-ranges.js'

/** Limits of a token besides its policies. The start is not compared, because the start of a caller's token has passed. */
export interface TokenLimits {
  readonly expires_on?: string | undefined
  readonly condition?: TokenCondition | undefined
}

/** Returns the limit in which a token would exceed its author: a later end, or further addresses. */
export function excessOf(author: TokenLimits | undefined, token: TokenLimits): Issue | undefined {
  const { expires_on: end, condition } = author ?? {}
  if (end !== undefined && !(Date.parse(token.expires_on ?? '') <= Date.parse(end)))
    return {
      pointer: '/expires_on',
      message: `a token cannot be valid for longer than its author, which ends at ${end}`,
    }
  if (condition?.request_ip && without(addressesOf(token.condition), addressesOf(condition)).length > 0)
    return { pointer: '/condition', message: 'a token cannot be used from addresses that its author does not have' }
  return undefined
}

/** Returns the addresses from which a token with this condition may be used. */
function addressesOf(condition: TokenCondition | undefined): readonly AddressRange[] {
  const { in: inside = [], not_in: outside = [] } = condition?.request_ip ?? {}
  return without(inside.length === 0 ? EVERYWHERE : rangesOf(inside), rangesOf(outside))
}
