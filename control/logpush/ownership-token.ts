import { createHash, createHmac } from 'node:crypto'
import { errors, jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../../src/core/clock.js'
import type { Scope } from '../../src/core/scope.js'

const WEEK_S = 7 * 24 * 60 * 60
const ISSUER = 'edged'

/**
 * Ownership challenges: a JWT (RFC 7519, HS256) that is bound to an account or zone and to a destination, for seven days.
 * It lies in the destination, where others may read it: of the destination it has a keyed hash only, as there are
 * credentials in it, and a fingerprint of the place, which is the URI without its parameters.
 */
export class OwnershipTokens {
  readonly #keys: readonly [Uint8Array, ...Uint8Array[]]
  readonly #clock: Clock

  /** The first key signs; each is valid. */
  constructor(keys: readonly [Uint8Array, ...Uint8Array[]], clock: Clock) {
    this.#keys = keys
    this.#clock = clock
  }

  async issue(scope: Scope, destination: string): Promise<string> {
    const now = Math.floor(this.#clock.now() / 1000)
    return await new SignJWT({ ...claimsOf(this.#keys[0], scope, destination) })
      .setProtectedHeader({ alg: 'HS256', typ: 'JWT' })
      .setIssuer(ISSUER)
      .setIssuedAt(now)
      .setExpirationTime(now + WEEK_S)
      .sign(this.#keys[0])
  }

  /** Whether the token was issued for this scope and destination and has not expired. */
  async valid(token: string, scope: Scope, destination: string): Promise<boolean> {
    const found = await Promise.all(
      this.#keys.map(async (key) => await this.#validWith(key, token, scope, destination)),
    )
    return found.includes(true)
  }

  async #validWith(key: Uint8Array, token: string, scope: Scope, destination: string): Promise<boolean> {
    try {
      const { payload } = await jwtVerify(token, key, {
        algorithms: ['HS256'],
        issuer: ISSUER,
        requiredClaims: ['exp'],
        currentDate: new Date(this.#clock.now()),
      })
      return Object.entries(claimsOf(key, scope, destination)).every(([name, value]) => payload[name] === value)
    } catch (error) {
      if (error instanceof errors.JOSEError) return false
      throw error
    }
  }
}

function claimsOf(key: Uint8Array, scope: Scope, destination: string) {
  const [place = ''] = destination.split('?', 1)
  return {
    object_type: scope.type,
    object_id: scope.id,
    destination: createHmac('sha256', key).update(`destination ${destination}`).digest('hex'),
    fingerprint: createHash('sha256').update(place).digest('hex'),
  }
}
