import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import type { Sealed, Vault } from '../core/vault.js'

const FORM = /^v1\.([0-9a-f]{8})\.([\w-]{38,})$/
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** Returns whether a value in a record is an encrypted secret. */
export const isSealed = (value: unknown): value is Sealed =>
  typeof value === 'object' &&
  value !== null &&
  Object.keys(value).length === 1 &&
  FORM.test(String((value as Partial<Sealed>).sealed))

/**
 * Secrets at rest: AES-256-GCM with a random 96-bit nonce for each. An encrypted text is
 *
 *     v1.9f86d081.<nonce, ciphertext and tag in base64url>
 *        ^ first 8 hexadecimal digits of the key's SHA-256
 */
export class Keyring implements Vault {
  readonly #keys: ReadonlyMap<string, Buffer>
  /** Prefix of texts that are encrypted with the current key. */
  readonly #current: string

  /** Creates a key ring. The first key encrypts; all of them decrypt. */
  constructor(keys: readonly [Buffer, ...Buffer[]]) {
    this.#keys = new Map(keys.map((key) => [keyId(key), key]))
    this.#current = keyId(keys[0])
  }

  /** Id of the key that encrypts. */
  get id(): string {
    return this.#current
  }

  seal(plaintext: string, aad: string): string {
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#keys.get(this.#current)!, nonce)
    cipher.setAAD(Buffer.from(aad))
    const body = Buffer.concat([nonce, cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `v1.${this.#current}.${body.toString('base64url')}`
  }

  open(sealed: string, aad: string): string {
    const [, id = '', text = ''] = FORM.exec(sealed) ?? []
    const key = this.#keys.get(id)
    if (!key) throw new Error(id ? `no key ${id} is configured` : 'not a sealed text')
    const body = Buffer.from(text, 'base64url')
    const decipher = createDecipheriv('aes-256-gcm', key, body.subarray(0, NONCE_BYTES))
    decipher.setAAD(Buffer.from(aad))
    decipher.setAuthTag(body.subarray(-TAG_BYTES))
    try {
      return decipher.update(body.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    } catch (cause) {
      throw new Error(`the sealed text does not fit key ${id} and its place`, { cause })
    }
  }

  /** Derives a key of 32 bytes for another purpose. It depends on the current key only and reveals nothing about it. */
  derive(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.#keys.get(this.#current)!, '', `edged ${purpose}`, 32))
  }

  /** Derives a key from each key, the current one first: for a ring of a part that may open nothing else. */
  deriveAll(purpose: string): [Buffer, ...Buffer[]] {
    const [first, ...rest] = [...this.#keys.values()].map((key) =>
      Buffer.from(hkdfSync('sha256', key, '', `edged ${purpose}`, 32)),
    )
    return [first!, ...rest]
  }

  /** Returns whether a text is encrypted with another key than the current one. */
  stale(sealed: string): boolean {
    return keyIdOf(sealed) !== this.#current
  }
}

/** Parses 32 bytes from 64 hexadecimal digits or 44 of base64. The error names the place, never the text. */
export function parsedKey(text: string, place: string): Buffer {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex')
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, 'base64')
  throw new Error(`${place} is not a key; use 64 hexadecimal digits or 44 characters of base64`)
}

export const keyId = (key: Buffer): string => createHash('sha256').update(key).digest('hex').slice(0, 8)

/** Returns the id of the key that encrypted a text. */
export const keyIdOf = (sealed: string): string | undefined => FORM.exec(sealed)?.[1]
