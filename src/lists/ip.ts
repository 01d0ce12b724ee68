import { Type, type Static } from 'typebox'
import type { Issue } from '../core/errors.js'
import { formatIp, parseIpRange, type Ip } from '../expr/index.js'
import { listType } from './list-type.js'

const Item = Type.Object({
  ip: Type.String({ maxLength: 64, description: 'An IPv4 or IPv6 address, or a network in CIDR form.' }),
})

/** Minimum prefix length of an item. */
const WIDEST = { v4: 8, v6: 4 }

interface Network {
  readonly first: Ip
  /** Prefix length; 32 or 128 for an address. */
  readonly bits: number
}

function network(text: string): Network | string {
  if (text.includes('..')) return 'must be an address or a network in CIDR form'
  const range = parseIpRange(text)
  if (!('first' in range))
    return range.reason.startsWith('host part')
      ? 'has bits set after the network part'
      : 'is not an address or a network'
  const { first } = range
  const slash = text.indexOf('/')
  const v4 = typeof first === 'number'
  const bits = slash === -1 ? (v4 ? 32 : 128) : Number(text.slice(slash + 1))
  const widest = v4 ? WIDEST.v4 : WIDEST.v6
  return bits < widest ? `must be /${widest} or narrower` : { first, bits }
}

/** Returns the network of an item that has passed {@link issues}. */
function known({ ip }: Static<typeof Item>): Network {
  const found = network(ip)
  if (typeof found === 'string') throw new TypeError(`${ip} ${found}`)
  return found
}

function issues({ ip }: Static<typeof Item>): Issue[] {
  const found = network(ip)
  return typeof found === 'string' ? [{ pointer: '/ip', message: found }] : []
}

/** Addresses and networks. */
export const ip = listType<Static<typeof Item>>({
  kind: 'ip',
  member: 'ip',
  shape: Item,
  short: (value) => (typeof value === 'string' ? { ip: value } : undefined),
  issues,
  key(item) {
    const { first, bits } = known(item)
    return `${formatIp(first)}/${bits}`
  },
  found: ({ ip }, search) => ip.toLowerCase().startsWith(search.toLowerCase()),
  table() {
    const v4 = new Networks(cut4)
    const v6 = new Networks(cut6)
    const of = ({ first }: Network) => (typeof first === 'number' ? v4 : v6)
    return {
      add(item) {
        const network = known(item)
        of(network).add(network)
      },
      remove(item) {
        const network = known(item)
        of(network).remove(network)
      },
      has: (value) => (typeof value === 'number' ? v4 : v6).has(value as Ip),
    }
  },
})

/** Returns the first bits of an address, as a number. */
const cut4 = (ip: Ip, bits: number): Ip => Math.floor((ip as number) / 2 ** (32 - bits))

/** Returns the first bits of an address, as bytes. */
function cut6(ip: Ip, bits: number): Ip {
  const bytes = ip as string
  const whole = bits >> 3
  const rest = bits & 7
  if (rest === 0) return bytes.slice(0, whole)
  return bytes.slice(0, whole) + String.fromCharCode(bytes.charCodeAt(whole) & (0xff << (8 - rest)))
}

/**
 * Networks of one family by prefix length. An address is looked up once for each length that occurs. There are few
 * lengths, even for many networks.
 */
class Networks {
  readonly #byBits = new Map<number, Set<Ip>>()
  readonly #cut: (ip: Ip, bits: number) => Ip

  constructor(cut: (ip: Ip, bits: number) => Ip) {
    this.#cut = cut
  }

  add({ first, bits }: Network): void {
    let networks = this.#byBits.get(bits)
    if (!networks) this.#byBits.set(bits, (networks = new Set()))
    networks.add(this.#cut(first, bits))
  }

  remove({ first, bits }: Network): void {
    const networks = this.#byBits.get(bits)
    networks?.delete(this.#cut(first, bits))
    if (networks?.size === 0) this.#byBits.delete(bits)
  }

  has(ip: Ip): boolean {
    for (const [bits, networks] of this.#byBits) if (networks.has(this.#cut(ip, bits))) return true
    return false
  }
}
