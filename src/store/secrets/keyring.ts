import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from 'node:crypto'
import { StoreUnavailable } from '../../core/store.js'
import type { Sealed, Vault } from '../../core/vault.js'

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
  readonly #keys: readonly Buffer[]
  readonly #ids: readonly string[]
  readonly #choice: Choice
  readonly #derived = new Map<string, Keyring>()

  /** Creates a key ring. The first key encrypts until `use` names another one. All keys decrypt. */
  constructor(keys: readonly [Buffer, ...Buffer[]], choice: Choice = { position: 0, missing: undefined }) {
    this.#keys = keys.filter((key, i) => keys.findIndex((same) => same.equals(key)) === i)
    this.#ids = this.#keys.map(keyId)
    this.#choice = choice
  }

  /** Id of the key that encrypts. */
  get id(): string {
    return this.#ids[this.#choice.position]!
  }

  /** Ids of all keys, in the order of the configuration. */
  get ids(): readonly string[] {
    return this.#ids
  }

  /** Encrypts with the key that has this id from now on, in derived rings too. Without that key `seal` throws. */
  use(id: string): void {
    const position = this.#ids.indexOf(id)
    this.#choice.missing = position < 0 ? id : undefined
    if (position >= 0) this.#choice.position = position
  }

  /** Id of the key that the other machines encrypt with and that this ring lacks. */
  get missing(): string | undefined {
    return this.#choice.missing
  }

  seal(plaintext: string, aad: string): string {
    const { missing } = this.#choice
    if (missing !== undefined)
      throw new StoreUnavailable(`the machines encrypt secrets with key ${missing}: name it in secrets and restart`)
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', this.#current, nonce)
    cipher.setAAD(Buffer.from(aad))
    const body = Buffer.concat([nonce, cipher.update(plaintext, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return `v1.${this.id}.${body.toString('base64url')}`
  }

  open(sealed: string, aad: string): string {
    const [, id = '', text = ''] = FORM.exec(sealed) ?? []
    const key = this.#keys[this.#ids.indexOf(id)]
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
    return derived(this.#current, purpose)
  }

  /** Derives a key from each key, the current one first. For a part that must not decrypt anything else. */
  deriveAll(purpose: string): [Buffer, ...Buffer[]] {
    const others = this.#keys.filter((key) => key !== this.#current)
    return [this.derive(purpose), ...others.map((key) => derived(key, purpose))]
  }

  /** Returns a function for the keys of {@link deriveAll}. Its result is another array after another key was chosen. */
  derivedKeys(purpose: string): () => readonly [Buffer, ...Buffer[]] {
    let keys = this.deriveAll(purpose)
    let id = this.id
    return () => {
      if (id !== this.id) keys = this.deriveAll(purpose)
      id = this.id
      return keys
    }
  }

  /** Returns the ring of the derived keys. It encrypts with the key that derives from the current one of this ring. */
  derivedRing(purpose: string): Keyring {
    const known = this.#derived.get(purpose)
    if (known) return known
    const [first, ...others] = this.#keys.map((key) => derived(key, purpose))
    const ring = new Keyring([first!, ...others], this.#choice)
    this.#derived.set(purpose, ring)
    return ring
  }

  /** The current key, as in a file of a key. */
  get text(): string {
    return this.#current.toString('hex')
  }

  /** Position of the key that encrypted a text; -1 if the ring lacks it. */
  positionOf(sealed: string): number {
    return this.#ids.indexOf(keyIdOf(sealed) ?? '')
  }

  /** Returns whether a text is encrypted with another key than the current one. */
  stale(sealed: string): boolean {
    return keyIdOf(sealed) !== this.id
  }

  get #current(): Buffer {
    return this.#keys[this.#choice.position]!
  }
}

/** The position of the key in a ring that encrypts. Rings derived from one another share this choice. */
interface Choice {
  position: number
  missing: string | undefined
}

const derived = (key: Buffer, purpose: string): Buffer =>
  Buffer.from(hkdfSync('sha256', key, '', `edged ${purpose}`, 32))

/** Parses 32 bytes from 64 hexadecimal digits or 44 of base64. The error names the place, never the text. */
export function parsedKey(text: string, place: string): Buffer {
  if (/^[0-9a-fA-F]{64}$/.test(text)) return Buffer.from(text, 'hex')
  if (/^[A-Za-z0-9+/_-]{43}=?$/.test(text)) return Buffer.from(text, 'base64')
  throw new Error(`${place} is not a key; use 64 hexadecimal digits or 44 characters of base64`)
}

export const keyId = (key: Buffer): string => createHash('sha256').update(key).digest('hex').slice(0, 8)

/** Returns the id of the key that encrypted a text. */
export const keyIdOf = (sealed: string): string | undefined => FORM.exec(sealed)?.[1]
