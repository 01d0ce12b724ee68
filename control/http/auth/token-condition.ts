import { BlockList, isIP } from 'node:net'
import { LRUCache } from 'lru-cache'
import type { Issue } from '../../../src/core/errors.js'
import type { TokenCondition } from '../../../src/core/model/token.js'

const MAX_CACHED = 1000

/** Networks of conditions by their text: a token is checked at each request. */
const compiled = new LRUCache<string, BlockList>({ max: MAX_CACHED })

const familyOf = (address: string): 'ipv4' | 'ipv6' => (isIP(address) === 6 ? 'ipv6' : 'ipv4')

/** Splits an address or CIDR. Returns undefined if it is neither. */
function networkOf(text: string): { address: string; bits: number } | undefined {
  const [address = '', length, ...rest] = text.split('/')
  const version = isIP(address)
  if (version === 0 || rest.length > 0) return undefined
  const max = version === 4 ? 32 : 128
  if (length === undefined) return { address, bits: max }
  return /^\d{1,3}$/.test(length) && Number(length) <= max ? { address, bits: Number(length) } : undefined
}

function includes(networks: readonly string[], address: string): boolean {
  const key = networks.join(' ')
  let list = compiled.get(key)
  if (!list) {
    compiled.set(key, (list = new BlockList()))
    for (const { address, bits } of networks.flatMap((text) => networkOf(text) ?? []))
      list.addSubnet(address, bits, familyOf(address))
  }
  return list.check(address, familyOf(address))
}

/** Returns whether a token with this condition may be used from an address. `not_in` overrides `in`. */
export function isUsableFrom(condition: TokenCondition | undefined, address: string): boolean {
  const { in: inside, not_in: outside } = condition?.request_ip ?? {}
  if (outside && includes(outside, address)) return false
  return inside === undefined || inside.length === 0 || includes(inside, address)
}

/** Returns an issue for each entry that is not an address or CIDR. */
export function conditionIssues(condition: TokenCondition | undefined): Issue[] {
  const { request_ip = {} } = condition ?? {}
  return (['in', 'not_in'] as const).flatMap((member) =>
    (request_ip[member] ?? []).flatMap((text, index) =>
      networkOf(text)
        ? []
        : [{ pointer: `/condition/request_ip/${member}/${index}`, message: 'must be an IP address or CIDR' }],
    ),
  )
}
