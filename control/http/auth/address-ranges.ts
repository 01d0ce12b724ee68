import { isIP } from 'node:net'

/** Addresses from `first` to `last`, both included, as numbers of 128 bits. */
export interface AddressRange {
  readonly first: bigint
  readonly last: bigint
}

const BITS = 128n
/** IPv4 addresses are numbered as the IPv6 addresses that stand for them (RFC 4291, 2.5.5.2). */
const MAPPED = 0xffffn << 32n

/** All addresses. */
export const EVERYWHERE: readonly AddressRange[] = [{ first: 0n, last: (1n << BITS) - 1n }]

/** Returns the addresses of networks, sorted and without overlaps. Each is an IP address or CIDR. */
export function rangesOf(networks: readonly string[]): AddressRange[] {
  const sorted = networks.map(rangeOf).sort((a, b) => (a.first < b.first ? -1 : 1))
  const joined: AddressRange[] = []
  for (const range of sorted) {
    const before = joined.at(-1)
    if (!before || range.first > before.last + 1n) joined.push(range)
    else if (range.last > before.last) joined[joined.length - 1] = { first: before.first, last: range.last }
  }
  return joined
}

/** Returns the addresses of `ranges` that are not in `holes`. Both are sorted and without overlaps. */
export function without(ranges: readonly AddressRange[], holes: readonly AddressRange[]): AddressRange[] {
  return ranges.flatMap(({ first, last }) => {
    const left: AddressRange[] = []
    let next = first
    for (const hole of holes) {
      if (hole.last < next || hole.first > last) continue
      if (hole.first > next) left.push({ first: next, last: hole.first - 1n })
      next = hole.last + 1n
    }
    return next <= last ? [...left, { first: next, last }] : left
  })
}

function rangeOf(network: string): AddressRange {
  const [address = '', length] = network.split('/')
  const isV4 = isIP(address) === 4
  const bits = length === undefined ? BITS : BigInt(length) + (isV4 ? 96n : 0n)
  const size = 1n << (BITS - bits)
  const first = (numberOf(address) / size) * size
  return { first, last: first + size - 1n }
}

function numberOf(address: string): bigint {
  if (isIP(address) === 4) return MAPPED | v4Number(address)
  // The parser of URLs writes an IPv4 address at the end, and leading zeros, in the usual form.
  const [head = '', tail] = new URL(`http://[${address.split('%', 1)[0]}]`).hostname.slice(1, -1).split('::')
  const left = head.split(':').filter(Boolean)
  const right = tail?.split(':').filter(Boolean) ?? []
  const groups = [...left, ...Array<string>(8 - left.length - right.length).fill('0'), ...right]
  return groups.reduce((number, group) => (number << 16n) | BigInt(`0x${group}`), 0n)
}

const v4Number = (address: string): bigint =>
  address.split('.').reduce((number, part) => (number << 8n) | BigInt(part), 0n)
