import { createHash } from 'node:crypto'
import { BUFFER_STEPS, UNLIMITED, type Budget } from '../language/budget.js'
import { TRANSFORM_PHASES } from '../fields/info.js'
import type { ArgInfo, Callee, FunctionDef } from '../language/scheme.js'
import { BYTES } from '../language/types.js'
import { bytes, flags } from './params.js'
import { decodeFully, decodeOnce } from './percent.js'

/** Decodes `%XX` and `+`. Flag `u` also accepts `%uXXXX`, flag `r` repeats until nothing is left to decode. */
export const urlDecode: FunctionDef = {
  name: 'url_decode',
  params: [bytes()],
  optional: [flags('ru')],
  callSteps: BUFFER_STEPS,
  returns: () => BYTES,
  prepare: (args) => decoding(args)(UNLIMITED),
  prepareWithin: decoding,
}

/** Decoding again, and `%uXXXX`, take twice the time of one pass. */
function decoding([, options]: readonly ArgInfo[]): (budget: Budget) => Callee {
  const letters = String(options?.literal ?? '')
  const decode = letters.includes('r') ? decodeFully : decodeOnce
  const unicode = letters.includes('u')
  return (budget) => (text) => {
    if (typeof text !== 'string') return undefined
    if (letters !== '') budget.spend(text.length)
    return decode(text, unicode)
  }
}

/** Decodes Base64, padded or not. Missing if the text is not Base64. */
export const decodeBase64: FunctionDef = {
  name: 'decode_base64',
  params: [bytes()],
  optional: [],
  callSteps: BUFFER_STEPS,
  phases: [...TRANSFORM_PHASES, 'http_request_firewall_custom', 'http_ratelimit'],
  returns: () => BYTES,
  prepare: () => (text) => {
    if (typeof text !== 'string' || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined
    if (text.replace(/=+$/, '').length % 4 === 1) return undefined
    return Buffer.from(text, 'base64').toString('latin1')
  },
}

/** Encodes as Base64 without padding. Flag `p` pads, flag `u` uses the alphabet for URLs. */
export const encodeBase64: FunctionDef = {
  name: 'encode_base64',
  callSteps: BUFFER_STEPS,
  params: [bytes('any')],
  optional: [flags('up')],
  phases: ['http_request_late_transform', 'http_response_headers_transform'],
  returns: () => BYTES,
  prepare: ([, options]) => {
    const letters = String(options?.literal ?? '')
    return (text) => {
      if (typeof text !== 'string') return undefined
      const encoded = Buffer.from(text, 'latin1').toString(letters.includes('u') ? 'base64url' : 'base64')
      const bare = encoded.replace(/=+$/, '')
      return letters.includes('p') ? bare.padEnd(Math.ceil(bare.length / 4) * 4, '=') : bare
    }
  },
}

/** Returns the 32 bytes of SHA-256. */
export const sha256: FunctionDef = {
  name: 'sha256',
  params: [bytes('any')],
  optional: [],
  callSteps: 250,
  returns: () => BYTES,
  prepare: () => (text) =>
    typeof text === 'string' ? createHash('sha256').update(text, 'latin1').digest('binary') : undefined,
}

/** Creates a version 4 UUID from the first sixteen bytes of the argument. Missing if it has fewer. */
export const uuidv4: FunctionDef = {
  name: 'uuidv4',
  params: [bytes()],
  optional: [],
  phases: TRANSFORM_PHASES,
  valueOnly: true,
  callSteps: 150,
  returns: () => BYTES,
  prepare: () => (random) => {
    if (typeof random !== 'string' || random.length < 16) return undefined
    const id = Buffer.from(random.slice(0, 16), 'latin1')
    // RFC 9562, 5.4. Version and variant replace six random bits.
    id.writeUInt8((id.readUInt8(6) & 0x0f) | 0x40, 6)
    id.writeUInt8((id.readUInt8(8) & 0x3f) | 0x80, 8)
    return id.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  },
}
