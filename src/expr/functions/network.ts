import { network } from '../language/ip.js'
import type { Callee, FunctionDef } from '../language/scheme.js'
import { INT, IP } from '../language/types.js'
import type { Ip } from '../language/value.js'
import { bytes, int, of } from './params.js'

const PHASES = ['http_request_firewall_custom', 'http_ratelimit']

/** Returns the network of an address, which is its first `ipv4_bits` or `ipv6_bits` bits, followed by zeros. */
export const cidr: FunctionDef = {
  name: 'cidr',
  params: [of(IP), int('any', 1, 32), int('any', 1, 128)],
  optional: [],
  phases: PHASES,
  returns: () => IP,
  prepare: () => mask,
}

/** Returns the network of a version 6 address. Version 4 is returned unchanged. */
export const cidr6: FunctionDef = {
  name: 'cidr6',
  params: [of(IP), int('any', 1, 128)],
  optional: [],
  phases: PHASES,
  returns: () => IP,
  prepare: () => (ip, bits) => mask(ip, 32, bits),
}

const mask: Callee = (ip, bits4, bits6) => {
  const bits = typeof ip === 'number' ? bits4 : bits6
  if (ip === undefined || typeof bits !== 'number' || bits < 1 || bits > (typeof ip === 'number' ? 32 : 128)) {
    return undefined
  }
  return network(ip as Ip, bits)[0]
}

/** Returns the number in bits `start` to before `end` of a packet's header, at most 32 bits. */
export const bitSlice: FunctionDef = {
  name: 'bit_slice',
  params: [bytes('any'), int('any', 0, 2040), int('any', 0, 2072)],
  optional: [],
  phases: ['magic_transit', 'magic_transit_managed', 'magic_transit_ratelimit', 'magic_transit_ids_managed'],
  returns: () => INT,
  prepare: () => (header, start, end) => {
    if (typeof header !== 'string' || typeof start !== 'number' || typeof end !== 'number') return undefined
    if (start < 0 || start > 2040 || end < start || end - start > 32 || end > header.length * 8) return undefined
    let number = 0
    for (let bit = start; bit < end; bit++) {
      number = number * 2 + ((header.charCodeAt(bit >> 3) >> (7 - (bit & 7))) & 1)
    }
    return number
  },
}
