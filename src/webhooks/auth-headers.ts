import type { Destination } from '../core/model/delivery.js'
import { WEBHOOKS, type StoredWebhook } from '../core/model/webhook.js'
import type { Scope } from '../core/scope.js'
import { secretOf, type Vault } from '../core/vault.js'
import { signatureOf } from './signature.js'

/** Returns the destination of a stored webhook with its secrets decrypted, as of `now`. */
export function destinationOf(webhook: StoredWebhook, scope: Scope, vault: Vault, now: number): Destination {
  const aad = secretOf(WEBHOOKS, scope, webhook.id)
  const { destination_url, authentication_type, headers, signing_secret, former_secrets = [] } = webhook
  const former = former_secrets.filter(({ until }) => Date.parse(until) > now).map(({ secret }) => secret)
  const secrets = signing_secret ? [signing_secret, ...former] : []
  return {
    destination_url,
    authentication_type,
    headers: headers.map(({ key, value }) => ({ key, value: vault.open(value.sealed, aad) })),
    signing_secrets: secrets.map(({ sealed }) => vault.open(sealed, aad)),
  }
}

/**
 * Returns the header fields of one attempt, names in lower case. They are the fields of the webhook, and `webhook-id`
 * for every type, so that a receiver can drop repetitions. HMAC-Signing adds the fields of Standard Webhooks 1.0.0.
 */
export function requestHeaders(
  { headers, signing_secrets }: Destination,
  id: string,
  now: number,
  body: string,
): Record<string, string> {
  const timestamp = Math.floor(now / 1000)
  return {
    ...Object.fromEntries(headers.map(({ key, value }) => [key.toLowerCase(), value])),
    'content-type': 'application/json',
    'user-agent': 'edged',
    'webhook-id': id,
    ...(signing_secrets.length > 0 && {
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatureOf(signing_secrets, id, timestamp, body),
    }),
  }
}
