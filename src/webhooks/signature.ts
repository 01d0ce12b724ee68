import { createHmac } from 'node:crypto'

const PREFIX = 'whsec_'
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/

/** How long a replaced secret goes on signing beside the new one, so that receivers can change theirs in between. */
export const FORMER_SECRET_MS = 24 * 60 * 60 * 1000

/**
 * The key that a signing secret stands for: base64 behind `whsec_` (Standard Webhooks 1.0.0), else the UTF-8 bytes of the
 * text itself. Undefined where what stands behind `whsec_` is no base64, or nothing.
 */
export function keyOf(secret: string): Buffer | undefined {
  if (!secret.startsWith(PREFIX)) return Buffer.from(secret, 'utf8')
  const text = secret.slice(PREFIX.length)
  return text !== '' && BASE64.test(text) ? Buffer.from(text, 'base64') : undefined
}

/**
 * The value of `webhook-signature`: a `v1` signature (HMAC-SHA256 over `id.timestamp.body`, base64) for each secret, a space
 * between them. `timestamp` in seconds, as the header `webhook-timestamp` has it.
 */
export const signatureOf = (secrets: readonly string[], id: string, timestamp: number, body: string): string =>
  secrets.map((secret) => `v1,${hmac(secret, `${id}.${timestamp}.${body}`)}`).join(' ')

function hmac(secret: string, text: string): string {
  const key = keyOf(secret)
  if (!key) throw new Error('the signing secret is not one')
  return createHmac('sha256', key).update(text).digest('base64')
}
