import { createHmac, randomBytes } from 'node:crypto'

const PREFIX = 'whsec_'
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** Time that a replaced secret signs together with the new one, so that receivers can change theirs. */
export const FORMER_SECRET_MS = 24 * 60 * 60 * 1000

/** Keys with fewer bytes can be guessed from one signed delivery. */
export const MIN_KEY_BYTES = 16
/** Bytes of a generated key, as Standard Webhooks recommends. */
const KEY_BYTES = 24

/** Generates a signing secret. */
export const newSecret = (): string => PREFIX + randomBytes(KEY_BYTES).toString('base64')

/**
 * Returns the key of a signing secret. This is the base64 after `whsec_` (Standard Webhooks 1.0.0), or else the UTF-8
 * bytes of the secret. Undefined if the part after `whsec_` is empty or not base64.
 */
export function keyOf(secret: string): Buffer | undefined {
  if (!secret.startsWith(PREFIX)) return Buffer.from(secret, 'utf8')
  const text = secret.slice(PREFIX.length)
  return text !== '' && BASE64.test(text) ? Buffer.from(text, 'base64') : undefined
}

/**
 * Returns the value of `webhook-signature`, with a `v1` signature (HMAC-SHA256 over `id.timestamp.body`, base64) per
 * secret, separated by spaces. `timestamp` is in seconds, like the header `webhook-timestamp`.
 */
export const signatureOf = (secrets: readonly string[], id: string, timestamp: number, body: string): string =>
  secrets.map((secret) => `v1,${hmac(secret, `${id}.${timestamp}.${body}`)}`).join(' ')

function hmac(secret: string, text: string): string {
  const key = keyOf(secret)
  if (!key) throw new Error('the signing secret is not valid')
  return createHmac('sha256', key).update(text).digest('base64')
}
