import { BlockList, isIP } from 'node:net'
import { parseIp, plainAddress } from '../../expr/index.js'

/** Recognizes trusted proxies by their address. */
export interface Trust {
  (address: string): boolean
}

const NOBODY: Trust = () => false

/** Trusts the addresses within these CIDRs (or single addresses). */
export function trust(cidrs: readonly string[]): Trust {
  if (cidrs.length === 0) return NOBODY
  const list = new BlockList()
  for (const cidr of cidrs) {
    const [address = '', bits] = cidr.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    if (bits === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(bits), family)
  }
  return (address) => {
    const family = isIP(address)
    return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4')
  }
}

/** Returns the key of a client's share: its address, or the first 64 bits of an IPv6 address, which are one network. */
export function shareOf(address: string): string {
  if (!address.includes(':')) return address
  const ip = parseIp(address)
  return typeof ip === 'string' ? ip.slice(0, 8) : address
}

/**
 * Returns the client's address. Each proxy appended the address that it saw, so the list is read from its end: the
 * first address that is not a trusted proxy is the client's. Entries before it may be forged. If the list ends early,
 * or an entry is not an address, the last trusted one is returned.
 */
export function visitorAddress(peer: string, forwardedFor: string | undefined, trusted: Trust): string {
  let address = peer
  if (forwardedFor === undefined || !trusted(peer)) return address
  let end = forwardedFor.length
  while (end > 0) {
    const comma = forwardedFor.lastIndexOf(',', end - 1)
    const entry = addressOf(forwardedFor.slice(comma + 1, end).trim())
    if (entry === undefined) return address
    address = entry
    if (!trusted(address)) return address
    end = comma
  }
  return address
}

/** Returns the address of `192.0.2.1`, `192.0.2.1:443`, `2001:db8::1` or `[2001:db8::1]:443`. */
function addressOf(entry: string): string | undefined {
  const bare = entry.startsWith('[')
    ? entry.slice(1, Math.max(entry.indexOf(']'), 1))
    : /^[\d.]+:\d+$/.test(entry)
      ? entry.slice(0, entry.indexOf(':'))
      : entry
  return isIP(bare) === 0 ? undefined : plainAddress(bare.toLowerCase())
}
