import { isIP, SocketAddress } from 'node:net'

/*
 * The PROXY protocol, versions 1 and 2. This is a header in front of a connection that a load balancer forwards. The
 * header has the addresses of the client's own connection (haproxy, doc/proxy-protocol.txt).
 */

/** Addresses of a connection. Undefined after it is closed. A socket has them. */
export interface ConnectionEnds {
  readonly remoteAddress?: string | undefined
  readonly remotePort?: number | undefined
  readonly localAddress?: string | undefined
  readonly localPort?: number | undefined
}

/** A header at the beginning of a connection. */
export interface ProxyHeader {
  /** Bytes of the header. */
  readonly length: number
  /** Undefined if the load balancer itself is the client, for example in a health check (LOCAL and UNKNOWN). */
  readonly ends: ConnectionEnds | undefined
}

/** Maximum length of version 1, which is one line, with two long IPv6 addresses. */
const MAX_LINE = 107
const LINE_PREFIX = Buffer.from('PROXY ')
const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1')
const FIXED_BYTES = 16
/** Addresses and extensions of version 2. The longest addresses have 216 bytes, and extensions are not used. */
const MAX_VARIABLE_BYTES = 4096

const LOCAL = 0x20
const PROXIED = 0x21
const UNSPECIFIED = 0x00
const TCP_IPV4 = 0x11
const TCP_IPV6 = 0x21
const UNIX_STREAM = 0x31

/** Parses a header. Returns `incomplete` if more bytes are needed and `invalid` if the bytes cannot be one. */
export function parseProxyHeader(bytes: Buffer): ProxyHeader | 'incomplete' | 'invalid' {
  if (startsWith(bytes, LINE_PREFIX)) return parseLine(bytes)
  if (startsWith(bytes, SIGNATURE)) return parseBinary(bytes)
  return 'invalid'
}

/** Returns whether the bytes begin like this, as far as they are present. */
const startsWith = (bytes: Buffer, prefix: Buffer): boolean => {
  const length = Math.min(bytes.length, prefix.length)
  return bytes.subarray(0, length).equals(prefix.subarray(0, length))
}

const PORT = '(0|[1-9]\\d{0,4})'
const LINE = new RegExp(`^PROXY TCP([46]) ([0-9A-Fa-f.:]+) ([0-9A-Fa-f.:]+) ${PORT} ${PORT}$`)

function parseLine(bytes: Buffer): ProxyHeader | 'incomplete' | 'invalid' {
  const end = bytes.subarray(0, MAX_LINE).indexOf('\r\n')
  if (end < 0) return bytes.length < MAX_LINE ? 'incomplete' : 'invalid'
  const line = bytes.toString('latin1', 0, end)
  const length = end + 2
  if (/^PROXY UNKNOWN( |$)/.test(line)) return { length, ends: undefined }
  const [, family, source = '', destination = '', sourcePort, destinationPort] = LINE.exec(line) ?? []
  if (isIP(source) !== Number(family) || isIP(destination) !== Number(family)) return 'invalid'
  const ports = [Number(sourcePort), Number(destinationPort)] as const
  if (ports[0] > 65_535 || ports[1] > 65_535) return 'invalid'
  return { length, ends: endsOf(source, destination, ports) }
}

function parseBinary(bytes: Buffer): ProxyHeader | 'incomplete' | 'invalid' {
  if (bytes.length < FIXED_BYTES) return 'incomplete'
  const command = bytes[12]!
  const transport = bytes[13]!
  const variable = bytes.readUInt16BE(14)
  if ((command !== LOCAL && command !== PROXIED) || variable > MAX_VARIABLE_BYTES) return 'invalid'
  const length = FIXED_BYTES + variable
  if (bytes.length < length) return 'incomplete'
  if (command === LOCAL || transport === UNSPECIFIED || transport === UNIX_STREAM) return { length, ends: undefined }
  const size = transport === TCP_IPV4 ? 4 : transport === TCP_IPV6 ? 16 : undefined
  if (size === undefined || variable < 2 * size + 4) return 'invalid'
  const addresses = FIXED_BYTES + 2 * size
  const ports = [bytes.readUInt16BE(addresses), bytes.readUInt16BE(addresses + 2)] as const
  const text = size === 4 ? ipv4 : ipv6
  const source = text(bytes.subarray(FIXED_BYTES, FIXED_BYTES + size))
  return { length, ends: endsOf(source, text(bytes.subarray(FIXED_BYTES + size, addresses)), ports) }
}

const ipv4 = (bytes: Buffer): string => bytes.join('.')
const ipv6 = (bytes: Buffer): string => bytes.toString('hex').replace(/(.{4})(?!$)/g, '$1:')

function endsOf(source: string, destination: string, [remotePort, localPort]: readonly [number, number]) {
  return { remoteAddress: canonical(source), remotePort, localAddress: canonical(destination), localPort }
}

/** One client has one spelling, so that limits and lists recognize it. */
const canonical = (address: string): string =>
  new SocketAddress({ address, family: isIP(address) === 6 ? 'ipv6' : 'ipv4' }).address

/** Versions of the header that is sent to origins. */
export type ProxyProtocol = 'off' | 'v1' | 'v2'

/**
 * Returns the header for a connection that is opened for a client. Undefined ends are for a connection of the proxy
 * itself. Addresses of two families become IPv6 addresses.
 */
export function proxyHeader(version: 'v1' | 'v2', ends: ConnectionEnds | undefined): Buffer {
  const { remoteAddress = '', remotePort = 0, localAddress = '', localPort = 0 } = ends ?? {}
  const [source, destination] = [remoteAddress, localAddress].map(unscoped) as [string, string]
  if (isIP(source) === 0 || isIP(destination) === 0)
    return version === 'v1' ? Buffer.from('PROXY UNKNOWN\r\n') : binary(LOCAL, UNSPECIFIED, Buffer.alloc(0))
  const isIpv4 = isIP(source) === 4 && isIP(destination) === 4
  if (version === 'v1') {
    const [from, to] = isIpv4 ? [source, destination] : [mapped(source), mapped(destination)]
    return Buffer.from(`PROXY TCP${isIpv4 ? 4 : 6} ${from} ${to} ${remotePort} ${localPort}\r\n`)
  }
  const ports = Buffer.alloc(4)
  ports.writeUInt16BE(remotePort, 0)
  ports.writeUInt16BE(localPort, 2)
  const bytesOf = isIpv4 ? ipv4Bytes : (address: string) => ipv6Bytes(mapped(address))
  return binary(PROXIED, isIpv4 ? TCP_IPV4 : TCP_IPV6, Buffer.concat([bytesOf(source), bytesOf(destination), ports]))
}

function binary(command: number, transport: number, variable: Buffer): Buffer {
  const head = Buffer.from([...SIGNATURE, command, transport, 0, 0])
  head.writeUInt16BE(variable.length, FIXED_BYTES - 2)
  return Buffer.concat([head, variable])
}

const unscoped = (address: string): string => address.split('%', 1)[0]!
const mapped = (address: string): string => (isIP(address) === 4 ? `::ffff:${address}` : address)
const ipv4Bytes = (address: string): Buffer => Buffer.from(address.split('.').map(Number))

function ipv6Bytes(address: string): Buffer {
  const dotted = /[\d.]+$/.exec(address)![0]
  const plain = dotted.includes('.')
    ? address.slice(0, -dotted.length) +
      ipv4Bytes(dotted)
        .toString('hex')
        .replace(/(.{4})/, '$1:')
    : address
  const [before = [], after = []] = plain.split('::').map((part) => part.split(':').filter((group) => group !== ''))
  const groups = [...before, ...Array<string>(8 - before.length - after.length).fill('0'), ...after]
  return Buffer.from(groups.map((group) => group.padStart(4, '0')).join(''), 'hex')
}
