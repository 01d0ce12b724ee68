import { Type } from 'typebox'
import { keyOf, MIN_KEY_BYTES, newSecret } from '../../src/webhooks/signature.js'
import { ACCOUNT_ONLY as scopes, ApiResponse, endpoint, type Endpoint, type Message } from '../http/endpoint.js'
import { ACCESS } from '../http/permissions.js'

/** Code of the message for a signing secret that can be guessed. */
const WEAK_SECRET = 10910

const Generated = Type.Object({
  signing_secret: Type.String({ description: 'For a webhook and its receiver. Not stored, and returned this once.' }),
})

/** Endpoint that generates signing secrets. */
export const signingSecrets = (): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/edged/signing_secrets',
    scopes,
    permissions: ACCESS.webhooks.write,
    summary: 'Generate a signing secret for a webhook. It is not stored',
    result: Generated,
    handle: () => new ApiResponse({ signing_secret: newSecret() }, { headers: { 'cache-control': 'no-store' } }),
  }),
]

/** Returns a message about a signing secret that can be guessed. The public API accepts every length. */
export function secretMessages({
  signing_secret: secret,
}: {
  readonly signing_secret?: string | undefined
}): Message[] {
  const bytes = secret === undefined ? undefined : keyOf(secret)?.length
  if (bytes === undefined || bytes >= MIN_KEY_BYTES) return []
  const message =
    `the key of the signing secret has ${bytes} bytes and can be guessed; use at least ${MIN_KEY_BYTES} random bytes, ` +
    'for example the secret that POST edged/signing_secrets returns'
  return [{ code: WEAK_SECRET, message, source: { pointer: '/signing_secret' } }]
}
