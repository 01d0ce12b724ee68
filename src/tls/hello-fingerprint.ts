import { createHash } from 'node:crypto'

/** Values of a ClientHello that distinguish clients. Hashes are computed when a rule reads them. */
export class HelloFingerprint {
  /** The random value of the client, base64. */
  readonly random: string
  // Text of one byte per character. A slice of the message would keep the whole message in memory until the connection
  // closes.
  readonly #ciphers: string
  readonly #extensions: readonly number[]

  /** `ciphers` is the list of cipher suites as sent. `extensions` has the extension types in the client's order. */
  constructor(random: Buffer, ciphers: Buffer, extensions: readonly number[]) {
    this.random = random.toString('base64')
    this.#ciphers = ciphers.toString('latin1')
    this.#extensions = extensions
  }

  /** SHA-1 of the cipher suites, base64. */
  get ciphersSha1(): string {
    return sha1(Buffer.from(this.#ciphers, 'latin1'))
  }

  /** SHA-1 of the extension types, each two bytes with the high one first, base64. */
  get extensionsSha1(): string {
    return sha1(this.#types().swap16())
  }

  /** The same with the low byte first. */
  get extensionsSha1Le(): string {
    return sha1(this.#types())
  }

  /** Returns the extension types, low byte first. */
  #types(): Buffer {
    const bytes = Buffer.alloc(2 * this.#extensions.length)
    this.#extensions.forEach((type, at) => bytes.writeUInt16LE(type, 2 * at))
    return bytes
  }
}

const sha1 = (bytes: Buffer): string => createHash('sha1').update(bytes).digest('base64')
