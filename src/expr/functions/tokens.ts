import { createHmac, timingSafeEqual } from 'node:crypto'
import type { FunctionDef } from '../language/scheme.js'
import { BOOL, INT } from '../language/types.js'
import { bytes, flags, int, of } from './params.js'
import { decodeOnce } from './percent.js'

/**
 * Returns whether `message`, separator, ten digits of unix time, `-` and a MAC match and are at most `ttl` seconds old
 * at `now`. The MAC is HMAC-SHA256 of message and time: Base64 that may be URL-encoded, with flag `s` the 43 characters
 * of the unpadded alphabet for URLs.
 */
export const isTimedHmacValidV0: FunctionDef = {
  name: 'is_timed_hmac_valid_v0',
  params: [bytes('literal'), bytes(), int('literal', 0), of(INT)],
  optional: [int('literal', 0, 255), flags('s')],
  callSteps: 1000,
  returns: () => BOOL,
  prepare: ([key, , ttl, , separator, options]) => {
    const secret = Buffer.from(String(key?.literal), 'latin1')
    const seconds = Number(ttl?.literal)
    const separatorLength = Number(separator?.literal ?? 0)
    const safe = options?.literal === 's'
    return (_key, message, _ttl, now) => {
      if (typeof message !== 'string' || typeof now !== 'number') return undefined
      const parts = dissect(message, separatorLength, safe)
      if (parts === undefined || now > parts.time + seconds) return false
      const expected = createHmac('sha256', secret)
        .update(parts.message + parts.timestamp, 'latin1')
        .digest()
      return parts.mac.length === expected.length && timingSafeEqual(parts.mac, expected)
    }
  },
}

function dissect(text: string, separatorLength: number, safe: boolean) {
  const dash = safe ? text.length - 44 : text.lastIndexOf('-')
  if (dash < 10 + separatorLength || text[dash] !== '-') return undefined
  const timestamp = text.slice(dash - 10, dash)
  const encoded = text.slice(dash + 1)
  if (!/^[0-9]{10}$/.test(timestamp)) return undefined
  // A plus sign in a query is literal here, because it is a character of Base64.
  const mac = safe ? encoded : decodeOnce(encoded.replace(/\+/g, '%2B'), false)
  if (!(safe ? /^[A-Za-z0-9_-]{43}$/ : /^[A-Za-z0-9+/]{43}=$/).test(mac)) return undefined
  return {
    message: text.slice(0, dash - 10 - separatorLength),
    timestamp,
    time: Number(timestamp),
    mac: Buffer.from(mac, safe ? 'base64url' : 'base64'),
  }
}

/**
 * Returns whether the request has a valid token of a token configuration. The source of the field
 * `http.request.jwt.claims` reads the tokens. The field contains the claims of valid ones by configuration.
 */
export const isJwtValid: FunctionDef = {
  name: 'is_jwt_valid',
  params: [bytes('literal')],
  optional: [],
  reads: ['http.request.jwt.claims'],
  returns: () => BOOL,
  prepare: () => (configuration, claims) =>
    claims instanceof Map && configuration !== undefined ? claims.has(configuration) : false,
}

/** Returns whether the request has a token of a token configuration. The names field alone shows an invalid token. */
export const isJwtPresent: FunctionDef = {
  name: 'is_jwt_present',
  params: [bytes('literal')],
  optional: [],
  reads: ['http.request.jwt.claims', 'http.request.jwt.claims.iss.names'],
  returns: () => BOOL,
  prepare: () => (configuration, claims, names) => {
    if (configuration === undefined) return false
    return (
      (claims instanceof Map && claims.has(configuration)) || (Array.isArray(names) && names.includes(configuration))
    )
  },
}
