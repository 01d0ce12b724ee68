import type { Ip } from './value.js'

/**
 * Returns the v4 or v6 address that a text names in the usual form. Undefined for any other text (zones and brackets
 * too).
 */
export function parseIp(text: string): Ip | undefined {
  return text.includes(':') ? parseIp6(text) : parseIp4(text)
}

// Called for every request. Takes one pass and creates no strings.
function parseIp4(text: string): number | undefined {
  if (text.length > 15) return undefined
  let address = 0
  let part = -1
  let parts = 1
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === 0x2e) {
      if (part === -1 || ++parts > 4) return undefined
      address = address * 256 + part
      part = -1
    } else {
      const digit = char - 0x30
      // A leading zero may mean octal to other readers. It is rejected, as in most parsers.
      if (digit < 0 || digit > 9 || part === 0) return undefined
      part = part === -1 ? digit : part * 10 + digit
      if (part > 255) return undefined
    }
  }
  return parts === 4 && part !== -1 ? address * 256 + part : undefined
}

function parseIp6(text: string): string | undefined {
  if (text.length > 45) return undefined
  const halves = text.split('::')
  if (halves.length > 2) return undefined
  const head = groups(halves[0] ?? '', halves.length === 1)
  const tail = halves.length === 2 ? groups(halves[1] ?? '', true) : []
  if (head === undefined || tail === undefined) return undefined
  const gap = 8 - head.length - tail.length
  if (halves.length === 1 ? gap !== 0 : gap < 1) return undefined
  const words = [...head, ...Array.from({ length: gap }, () => 0), ...tail]
  return String.fromCharCode(...words.flatMap((word) => [word >> 8, word & 255]))
}

/** Returns the 16-bit groups of one side of `::`. The last group may be written as a v4 address. */
function groups(text: string, last: boolean): number[] | undefined {
  if (text === '') return []
  const words: number[] = []
  const parts = text.split(':')
  for (const [at, part] of parts.entries()) {
    if (last && at === parts.length - 1 && part.includes('.')) {
      const v4 = parseIp4(part)
      if (v4 === undefined) return undefined
      words.push(v4 >>> 16, v4 & 0xffff)
    } else {
      if (!/^[0-9a-fA-F]{1,4}$/.test(part)) return undefined
      words.push(Number.parseInt(part, 16))
    }
  }
  return words
}

/** Returns the usual text of an address. A v6 address has the form of RFC 5952. */
export function formatIp(ip: Ip): string {
  if (typeof ip === 'number') return [ip >>> 24, (ip >>> 16) & 255, (ip >>> 8) & 255, ip & 255].join('.')
  const words: number[] = []
  for (let at = 0; at < 16; at += 2) words.push(ip.charCodeAt(at) * 256 + ip.charCodeAt(at + 1))
  if (words.slice(0, 5).every((word) => word === 0) && words[5] === 0xffff) {
    return `::ffff:${formatIp((words[6] ?? 0) * 65_536 + (words[7] ?? 0))}`
  }
  let best = { at: -1, length: 1 }
  for (let at = 0; at < 8; at++) {
    let length = 0
    while (words[at + length] === 0) length++
    if (length > best.length) best = { at, length }
  }
  if (best.at === -1) return hex(words)
  return `${hex(words.slice(0, best.at))}::${hex(words.slice(best.at + best.length))}`
}

const hex = (words: readonly number[]): string => words.map((word) => word.toString(16)).join(':')

/** Returns the first and the last address of the network of `bits` bits around `ip`. */
export function network(ip: Ip, bits: number): [first: Ip, last: Ip] {
  if (typeof ip === 'number') {
    const size = 2 ** (32 - bits)
    const first = Math.floor(ip / size) * size
    return [first, first + size - 1]
  }
  let first = ''
  let last = ''
  for (let at = 0; at < 16; at++) {
    const free = Math.min(8, Math.max(0, (at + 1) * 8 - bits))
    const low = (1 << free) - 1
    const byte = ip.charCodeAt(at)
    first += String.fromCharCode(byte & ~low)
    last += String.fromCharCode(byte | low)
  }
  return [first, last]
}

/** A closed range of addresses of one family. */
export interface IpRange {
  readonly first: Ip
  readonly last: Ip
}

/**
 * Returns the range that a text names. A range is an address, a network in CIDR form with no host bits set, or
 * `first..last`. For any other text, returns a message and the position of the error.
 */
export function parseIpRange(
  text: string,
): IpRange | { reason: string; kind: 'ParseNetwork' | 'IncompatibleRangeBounds'; from: number; to: number } {
  const dots = text.indexOf('..')
  if (dots !== -1) {
    const first = parseIp(text.slice(0, dots))
    if (first === undefined) return { kind: 'ParseNetwork', reason: NO_ADDRESS, from: 0, to: dots }
    const last = parseIp(text.slice(dots + 2))
    if (last === undefined) return { kind: 'ParseNetwork', reason: NO_ADDRESS, from: dots + 2, to: text.length }
    if (typeof first !== typeof last || first > last) {
      return { kind: 'IncompatibleRangeBounds', reason: 'incompatible range bounds', from: 0, to: text.length }
    }
    return { first, last }
  }
  const slash = text.indexOf('/')
  const ip = parseIp(slash === -1 ? text : text.slice(0, slash))
  if (ip === undefined) {
    return { kind: 'ParseNetwork', reason: NO_ADDRESS, from: 0, to: slash === -1 ? text.length : slash }
  }
  if (slash === -1) return { first: ip, last: ip }
  const length = text.slice(slash + 1)
  if (!/^[0-9]+$/.test(length) || Number(length) > 255) {
    return {
      kind: 'ParseNetwork',
      reason: `network length ${length} is not a number`,
      from: slash + 1,
      to: text.length,
    }
  }
  const max = typeof ip === 'number' ? 32 : 128
  if (Number(length) > max) {
    const reason = `network length ${length} is too long, at most ${max} here`
    return { kind: 'ParseNetwork', reason, from: 0, to: text.length }
  }
  const [first, last] = network(ip, Number(length))
  if (first !== ip) return { kind: 'ParseNetwork', reason: 'host part of address was not zero', from: 0, to: slash }
  return { first, last }
}

const NO_ADDRESS = "couldn't parse address in network: invalid IP address syntax"

/** Returns an IPv4 address of an IPv6 socket as IPv4. */
export const plainAddress = (address: string): string => (address.startsWith('::ffff:') ? address.slice(7) : address)
