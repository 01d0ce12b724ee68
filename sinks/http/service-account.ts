import { createPrivateKey, type KeyObject } from 'node:crypto'
import { SignJWT } from 'jose'
import { Type } from 'typebox'
import { parser } from '../../src/core/schema.js'
import type { Clock } from '../../src/core/clock.js'
import { publicUrl } from '../../src/egress/public-url.js'
import { reject } from '../contract/params.js'
import type { Grant } from './access-tokens.js'

/** The used members of a Google service account key. */
export interface ServiceAccount {
  readonly email: string
  readonly keyId: string | undefined
  readonly key: KeyObject
  /** Endpoint for tokens. */
  readonly tokenUrl: URL
}

const parseKey = parser(
  Type.Object({
    client_email: Type.String({ minLength: 1 }),
    private_key: Type.String({ minLength: 1 }),
    private_key_id: Type.Optional(Type.String()),
    token_uri: Type.Optional(Type.String()),
  }),
)

/** Reads `base64:..` or `url:..`, the JSON of a key of a service account. Throws InvalidInput with the pointer "" and a message without the key. */
export function serviceAccount(credentials: string): ServiceAccount {
  const [form, text] = [credentials.split(':', 1)[0], credentials.slice(credentials.indexOf(':') + 1)]
  if (form !== 'base64' && form !== 'url') reject('has credentials that begin with neither base64: nor url:')
  try {
    const json = form === 'base64' ? Buffer.from(text, 'base64').toString('utf8') : text
    const given = parseKey(JSON.parse(json))
    const key = createPrivateKey(given.private_key)
    if (key.asymmetricKeyType !== 'rsa') throw new Error('not RSA')
    const tokenUrl = publicUrl(given.token_uri ?? 'https://oauth2.googleapis.com/token')
    return { email: given.client_email, keyId: given.private_key_id, key, tokenUrl }
  } catch {
    return reject('has credentials that are not a key of a service account')
  }
}

/**
 * Returns a function that gets tokens of an account. It exchanges an assertion signed by the account for a token (RFC
 * 7523, 2.1).
 */
export const accountGrant =
  ({ email, keyId, key, tokenUrl }: ServiceAccount, scope: string, clock: Clock): (() => Promise<Grant>) =>
  async () => {
    const seconds = Math.floor(clock.now() / 1000)
    const assertion = await new SignJWT({ scope })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId !== undefined && { kid: keyId }) })
      .setIssuer(email)
      .setAudience(tokenUrl.href)
      .setIssuedAt(seconds)
      .setExpirationTime(seconds + 3600)
      .sign(key)
    return { url: tokenUrl, form: { grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion } }
  }
