import { createHash, createPublicKey, type KeyObject } from 'node:crypto'

/** Algorithms of signatures (RFC 9421, 3.3). HMAC is forbidden by the protocol. */
export type Algorithm = 'ed25519' | 'rsa-pss-sha512'

/** A public key of a key directory. */
export interface VerificationKey {
  readonly key: KeyObject
  readonly algorithm: Algorithm
  /** Seconds since 1970; the key is not used outside of them. */
  readonly notBefore: number
  readonly expires: number
}

/** Keys of one directory, by their thumbprint (RFC 7638). */
export type KeySet = ReadonlyMap<string, VerificationKey>

const MAX_KEYS = 100
const MIN_MODULUS = 2048
const MAX_MODULUS = 8192

/** Thumbprints of the keys of RFC 9421, B.1, whose private halves everyone has. */
const PUBLIC_TEST_KEYS: ReadonlySet<string> = new Set([
  'poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U',
  'oD0HwocPBSfpNy5W3bpJeyFGY_IQ_YpqxSjQ3Yd-CLA',
])

/**
 * Returns the usable keys of a directory, a JWK set or one bare JWK. Keys of other types and uses are left out. Throws
 * an Error if the text is neither. `known`: keys of an earlier copy, which are used again.
 */
export function keySetOf(text: string, known?: KeySet): KeySet {
  const read: unknown = JSON.parse(text)
  const { keys } = Object(read) as { keys?: unknown }
  const listed: unknown[] = Array.isArray(keys) ? keys : [read]
  if (!Array.isArray(keys) && typeof (Object(read) as Jwk).kty !== 'string') throw new Error('is no JWK set')
  const found = new Map<string, VerificationKey>()
  for (const jwk of listed.slice(0, MAX_KEYS)) {
    const [thumbprint, key] = keyOf(Object(jwk) as Jwk, known) ?? []
    if (thumbprint !== undefined && key !== undefined) found.set(thumbprint, key)
  }
  return found
}

interface Jwk {
  readonly kty?: unknown
  readonly crv?: unknown
  readonly x?: unknown
  readonly n?: unknown
  readonly e?: unknown
  readonly use?: unknown
  readonly nbf?: unknown
  readonly exp?: unknown
}

function keyOf(jwk: Jwk, known: KeySet | undefined): [string, VerificationKey] | undefined {
  const { use, nbf, exp } = jwk
  if (use !== undefined && use !== 'sig') return undefined
  const members = membersOf(jwk)
  if (members === undefined) return undefined
  const thumbprint = createHash('sha256').update(JSON.stringify(members)).digest('base64url')
  if (PUBLIC_TEST_KEYS.has(thumbprint)) return undefined
  const period = {
    notBefore: typeof nbf === 'number' ? nbf : -Infinity,
    expires: typeof exp === 'number' ? exp : Infinity,
  }
  const old = known?.get(thumbprint)
  if (old !== undefined) return [thumbprint, { ...old, ...period }]
  try {
    const key = createPublicKey({ key: { ...members }, format: 'jwk' })
    const bits = key.asymmetricKeyDetails?.modulusLength
    if (bits !== undefined && (bits < MIN_MODULUS || bits > MAX_MODULUS)) return undefined
    return [thumbprint, { key, algorithm: members.kty === 'RSA' ? 'rsa-pss-sha512' : 'ed25519', ...period }]
  } catch {
    return undefined
  }
}

/** Returns the members that identify a key, in the order that its thumbprint needs (RFC 7638, 3.2; RFC 8037, A.3). */
function membersOf({ kty, crv, x, n, e }: Jwk): Readonly<Record<string, string>> | undefined {
  if (kty === 'OKP' && crv === 'Ed25519' && typeof x === 'string') return { crv, kty, x }
  if (kty === 'RSA' && typeof n === 'string' && typeof e === 'string') return { e, kty, n }
  return undefined
}
