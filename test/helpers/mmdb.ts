import { BlockList } from 'node:net'
import { parseIp } from '../../src/expr/index.js'

/** Returns a database in MaxMind format (version 2.0) with these networks. They must not overlap. */
export function mmdb(
  networks: Readonly<Record<string, object>>,
  { ipVersion = 6 }: { ipVersion?: 4 | 6 } = {},
): Buffer {
  type Node = [left: Node | number | undefined, right: Node | number | undefined]
  const root: Node = [undefined, undefined]
  const nodes: Node[] = [root]
  const data: Buffer[] = []
  let dataLength = 0
  for (const [cidr, record] of Object.entries(networks)) {
    const bits = bitsOf(cidr, ipVersion)
    let node = root
    for (const bit of bits.slice(0, -1)) {
      const next = node[bit] ?? [undefined, undefined]
      if (typeof next === 'number') throw new TypeError(`${cidr} lies within another network`)
      if (node[bit] === undefined) nodes.push(next)
      node[bit] = next
      node = next
    }
    node[bits.at(-1)!] = dataLength
    const encoded = encode(record)
    data.push(encoded)
    dataLength += encoded.length
  }
  const numbers = new Map(nodes.map((node, number) => [node, number]))
  const tree = Buffer.alloc(nodes.length * 6)
  for (const [number, node] of nodes.entries()) {
    for (const side of [0, 1] as const) {
      const to = node[side]
      const record =
        to === undefined ? nodes.length : typeof to === 'number' ? nodes.length + 16 + to : numbers.get(to)!
      tree.writeUIntBE(record, number * 6 + side * 3, 3)
    }
  }
  const metadata = {
    binary_format_major_version: 2,
    binary_format_minor_version: 0,
    build_epoch: 1_700_000_000,
    database_type: 'Test',
    ip_version: ipVersion,
    languages: ['en'],
    node_count: nodes.length,
    record_size: 24,
  }
  return Buffer.concat([
    tree,
    Buffer.alloc(16),
    ...data,
    Buffer.from('\xab\xcd\xefMaxMind.com', 'latin1'),
    encode(metadata),
  ])
}

/** The bits of a network; IPv4 lies in the first 2^32 addresses of IPv6. */
function bitsOf(cidr: string, ipVersion: 4 | 6): (0 | 1)[] {
  const [address = '', length = ''] = cidr.split('/')
  // Throws if it is not a network.
  new BlockList().addSubnet(address, Number(length), address.includes(':') ? 'ipv6' : 'ipv4')
  const ip = parseIp(address)!
  const bytes =
    typeof ip === 'number'
      ? [ip >>> 24, (ip >>> 16) & 255, (ip >>> 8) & 255, ip & 255]
      : Array.from(ip, (char) => char.charCodeAt(0))
  const bits = bytes.flatMap((byte) => Array.from({ length: 8 }, (_, i) => ((byte >> (7 - i)) & 1) as 0 | 1))
  const padding = typeof ip === 'number' && ipVersion === 6 ? 96 : 0
  return [...Array.from({ length: padding }, (): 0 | 1 => 0), ...bits.slice(0, Number(length))]
}

const TEXT = 2
const DOUBLE = 3
const UINT32 = 6
const MAP = 7
const ARRAY = 11
const BOOLEAN = 14

function encode(value: unknown): Buffer {
  if (typeof value === 'string') return Buffer.concat([control(TEXT, Buffer.byteLength(value)), Buffer.from(value)])
  if (typeof value === 'boolean') return control(BOOLEAN, value ? 1 : 0)
  if (Array.isArray(value)) return Buffer.concat([control(ARRAY, value.length), ...value.map(encode)])
  if (typeof value === 'number') {
    const whole = Number.isInteger(value) && value >= 0
    const bytes = Buffer.alloc(whole ? 4 : 8)
    if (whole) bytes.writeUInt32BE(value)
    else bytes.writeDoubleBE(value)
    return Buffer.concat([control(whole ? UINT32 : DOUBLE, bytes.length), bytes])
  }
  const members = Object.entries(value as object)
  return Buffer.concat([
    control(MAP, members.length),
    ...members.flatMap(([name, member]) => [encode(name), encode(member)]),
  ])
}

/** Returns the bytes that encode the type and length of a value. */
function control(type: number, length: number): Buffer {
  if (length >= 285) throw new TypeError('too long for a test')
  const size = Math.min(length, 29)
  const extended = type > 7
  return Buffer.from([
    (extended ? 0 : type << 5) | size,
    ...(extended ? [type - 7] : []),
    ...(size === 29 ? [length - 29] : []),
  ])
}
