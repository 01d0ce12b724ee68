import { isIP } from 'node:net'
import { HelloFingerprint } from './hello-fingerprint.js'

/**
 * The parts of a ClientHello that choose a server. Read before TLS starts, because `SNICallback` cannot choose a
 * version.
 */
export interface ClientHello {
  /**
   * `server_name` in lower case. Undefined if the client sends none, or an IP address, which is not a server name (RFC
   * 6066, 3).
   */
  readonly serverName: string | undefined
  /** Names offered by ALPN (RFC 7301), in the client's order. */
  readonly protocols: readonly string[]
  /** Bytes of the handshake message without its header of 4 bytes. */
  readonly length: number
  readonly fingerprint: HelloFingerprint
}

const HANDSHAKE_RECORD = 22
const CLIENT_HELLO = 1
const RECORD_HEADER_BYTES = 5
const MESSAGE_HEADER_BYTES = 4
/** By RFC 8446, 5.1, plaintext records have at most 2^14 bytes. */
const MAX_RECORD_BYTES = 16_384
/** Maximum size of a ClientHello; OpenSSL allows 131,396 bytes, real ones have 200 to 2,000. */
export const MAX_HELLO_BYTES = 16_384

const SERVER_NAME = 0
const ALPN = 16

/**
 * Parses the ClientHello at the start of a TLS connection (RFC 8446, 4.1.2). Returns `incomplete` if more bytes are
 * needed and `invalid` if the bytes cannot be the start of a TLS connection or the message is too large.
 */
export function parseClientHello(bytes: Buffer): ClientHello | 'incomplete' | 'invalid' {
  const message = handshakeMessage(bytes)
  if (typeof message === 'string') return message
  try {
    return readHello(new Reader(message))
  } catch (error) {
    if (error instanceof RangeError) return 'invalid'
    throw error
  }
}

/** Returns the first handshake message without its header. The message may be split over several records. */
function handshakeMessage(bytes: Buffer): Buffer | 'incomplete' | 'invalid' {
  const parts: Buffer[] = []
  let received = 0
  let wanted = MESSAGE_HEADER_BYTES
  for (let at = 0; received < wanted;) {
    if (bytes.length > at && bytes[at] !== HANDSHAKE_RECORD) return 'invalid'
    if (bytes.length > at + 1 && bytes[at + 1] !== 3) return 'invalid'
    if (bytes.length < at + RECORD_HEADER_BYTES) return 'incomplete'
    const size = bytes.readUInt16BE(at + 3)
    if (size === 0 || size > MAX_RECORD_BYTES) return 'invalid'
    const start = at + RECORD_HEADER_BYTES
    const part = bytes.subarray(start, start + size)
    parts.push(part)
    received += part.length
    const head = parts.length === 1 && part.length >= MESSAGE_HEADER_BYTES ? part : Buffer.concat(parts)
    if (head.length > 0 && head[0] !== CLIENT_HELLO) return 'invalid'
    if (head.length >= MESSAGE_HEADER_BYTES) {
      wanted = MESSAGE_HEADER_BYTES + head.readUIntBE(1, 3)
      if (wanted > MAX_HELLO_BYTES) return 'invalid'
    }
    if (part.length < size && received < wanted) return 'incomplete'
    at = start + size
  }
  return Buffer.concat(parts).subarray(MESSAGE_HEADER_BYTES, wanted)
}

function readHello(message: Reader): ClientHello {
  message.skip(2)
  const random = message.bytes(32)
  message.skip(message.uint8())
  const ciphers = message.bytes(message.uint16())
  message.skip(message.uint8())
  let serverName: string | undefined
  let protocols: string[] = []
  const types: number[] = []
  if (!message.ended) {
    const extensions = message.part(message.uint16())
    while (!extensions.ended) {
      const type = extensions.uint16()
      types.push(type)
      const content = extensions.part(extensions.uint16())
      if (type === SERVER_NAME) serverName = nameIn(content)
      else if (type === ALPN) protocols = protocolsIn(content)
    }
  }
  return { serverName, protocols, length: message.length, fingerprint: new HelloFingerprint(random, ciphers, types) }
}

const HOST_NAME = 0

function nameIn(content: Reader): string | undefined {
  const list = content.part(content.uint16())
  while (!list.ended) {
    const type = list.uint8()
    const name = list.text(list.uint16())
    if (type === HOST_NAME) return isIP(name.replace(/^\[(.*)\]$/, '$1')) === 0 ? name.toLowerCase() : undefined
  }
  return undefined
}

function protocolsIn(content: Reader): string[] {
  const list = content.part(content.uint16())
  const names: string[] = []
  while (!list.ended) names.push(list.text(list.uint8()))
  return names
}

/** Reads numbers and parts of a buffer in order. Throws RangeError beyond its end. */
class Reader {
  readonly #bytes: Buffer
  #at = 0

  constructor(bytes: Buffer) {
    this.#bytes = bytes
  }

  get length(): number {
    return this.#bytes.length
  }

  get ended(): boolean {
    return this.#at >= this.#bytes.length
  }

  uint8(): number {
    return this.#bytes.readUInt8(this.#next(1))
  }

  uint16(): number {
    return this.#bytes.readUInt16BE(this.#next(2))
  }

  skip(count: number): void {
    this.#next(count)
  }

  part(count: number): Reader {
    return new Reader(this.bytes(count))
  }

  bytes(count: number): Buffer {
    const start = this.#next(count)
    return this.#bytes.subarray(start, start + count)
  }

  text(count: number): string {
    const start = this.#next(count)
    return this.#bytes.toString('latin1', start, start + count)
  }

  #next(count: number): number {
    const start = this.#at
    if (start + count > this.#bytes.length) throw new RangeError('the message ends early')
    this.#at = start + count
    return start
  }
}
