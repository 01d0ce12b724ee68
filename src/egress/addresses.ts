import { BlockList, isIP } from 'node:net'

/**
 * Networks that are not public IPv4 by the special-purpose registries of IANA (RFC 6890), and one cloud's private
 * network.
 */
const CLOSED_4: readonly [string, number][] = [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  // The private network of one large cloud, in a public range.
  ['168.63.129.16', 32],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
]

/**
 * Within the global unicast space. These are protocol assignments with Teredo, two documentation networks, and 6to4.
 */
const CLOSED_6: readonly [string, number][] = [
  ['2001::', 23],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
]

const closed = new BlockList()
for (const [net, bits] of CLOSED_4) closed.addSubnet(net, bits, 'ipv4')
for (const [net, bits] of CLOSED_6) closed.addSubnet(net, bits, 'ipv6')

// Addresses outside of global unicast are rejected, such as mapped, translated and compatible IPv4, unique and link
// local, and multicast.
const globalUnicast = new BlockList()
globalUnicast.addSubnet('2000::', 3, 'ipv6')

/** Returns whether an address belongs to the public internet. False if it is not an address. */
export function isPublic(address: string): boolean {
  const family = isIP(address)
  if (family === 4) return !closed.check(address, 'ipv4')
  if (family !== 6 || address.includes('%')) return false
  return globalUnicast.check(address, 'ipv6') && !closed.check(address, 'ipv6')
}

/** Addresses that the configuration allows, on one port. */
export interface AllowedTarget {
  has(address: string, port: number): boolean
}

/**
 * Reads a target such as `127.0.0.1/32:9443`, which is a CIDR or a single address, and a port. IPv6 needs brackets
 * (`[fd00::]/8:443`, `[fd00::/8]:443`) or the length of its prefix (`fd00::/8:443`). Undefined for anything else.
 */
export function parseAllowedTarget(text: string): AllowedTarget | undefined {
  const parts = /^(?:\[([^[\]]+)\](\/\d{1,3})?|([^[\]]+)):(\d{1,5})$/.exec(text)
  if (parts === null) return undefined
  const [, bracketed, length = '', bare, digits] = parts
  const [address = '', bits, ...more] = `${bracketed ?? bare}${length}`.split('/')
  const family = isIP(address)
  const max = family === 4 ? 32 : 128
  const port = Number(digits)
  const wrong =
    family === 0 ||
    address.includes('%') ||
    more.length > 0 ||
    (bracketed !== undefined && family === 4) ||
    // Without brackets or a length the end of the address is ambiguous.
    (bracketed === undefined && family === 6 && bits === undefined) ||
    (bits !== undefined && (!/^\d{1,3}$/.test(bits) || Number(bits) > max)) ||
    port < 1 ||
    port > 65_535
  if (wrong) return undefined
  const list = new BlockList()
  const kind = family === 4 ? 'ipv4' : 'ipv6'
  list.addSubnet(address, Number(bits ?? max), kind)
  return { has: (candidate, on) => on === port && isIP(candidate) === family && list.check(candidate, kind) }
}
