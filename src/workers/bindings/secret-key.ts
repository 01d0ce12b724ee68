import { Type } from 'typebox'
import { bindingKind } from './binding-kind.js'

// The group takes four at a time, so that nothing is tried twice.
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** A cryptographic key, ready to use. */
export const secretKey = bindingKind({
  type: 'secret_key',
  description: 'A cryptographic key, ready to use.',
  fields: {
    algorithm: Type.Unknown({ description: 'As `importKey` of Web Crypto takes it.' }),
    format: Type.Enum(['raw', 'pkcs8', 'spki', 'jwk']),
    usages: Type.Array(
      Type.Enum(['encrypt', 'decrypt', 'sign', 'verify', 'deriveKey', 'deriveBits', 'wrapKey', 'unwrapKey']),
    ),
    key_base64: Type.Optional(Type.String({ description: 'The key, for all formats but `jwk`.' })),
    key_jwk: Type.Optional(Type.Object({}, { description: 'The key as a JSON Web Key.' })),
  },
  example: { algorithm: { name: 'HMAC', hash: 'SHA-256' }, format: 'raw', usages: ['sign'], key_base64: 'c2VjcmV0' },
  secret: ['key_base64', 'key_jwk'],

  check({ algorithm, format, key_base64: base64, key_jwk: jwk }) {
    if (
      typeof algorithm !== 'string' &&
      (typeof algorithm !== 'object' || algorithm === null || Array.isArray(algorithm))
    )
      return [{ pointer: '/algorithm', message: 'must be a name or an object' }]
    const [wanted, other] =
      format === 'jwk' ? (['key_jwk', 'key_base64'] as const) : (['key_base64', 'key_jwk'] as const)
    const given = { key_base64: base64, key_jwk: jwk }
    if (given[wanted] === undefined)
      return [{ pointer: `/${wanted}`, message: `is required by the format ${String(format)}` }]
    if (given[other] !== undefined)
      return [{ pointer: `/${other}`, message: `does not go with the format ${String(format)}` }]
    if (typeof base64 === 'string' && !BASE64.test(base64))
      return [{ pointer: '/key_base64', message: 'must be base64' }]
    return []
  },
})
