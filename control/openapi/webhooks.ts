import type { TSchema } from 'typebox'
import { TestPayload, WebhookPayload } from '../../src/webhooks/payload-schema.js'

const header = (name: string, required: boolean, description: string) => ({
  name,
  in: 'header',
  required,
  description,
  schema: { type: 'string' },
})

const request = (summary: string, schema: TSchema) => ({
  post: {
    summary,
    parameters: [
      header('webhook-id', true, 'The same on every try: a receiver drops what it has seen.'),
      header('webhook-timestamp', false, 'With HMAC-Signing: when this try was made, in seconds since 1970.'),
      header(
        'webhook-signature',
        false,
        'With HMAC-Signing (Standard Webhooks 1.0.0): "v1," and the base64 of the HMAC-SHA256 over id.timestamp.body; for ' +
          'a day after a change of the secret one of the old and one of the new, a space between them.',
      ),
    ],
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: {
      '2XX': { description: 'It was received.' },
      '410': { description: 'Nothing more is wanted: the webhook is disabled.' },
      default: { description: 'It is sent again later.' },
    },
  },
})

/** Payloads of webhooks, for the manual. */
export const OPENAPI_WEBHOOKS = {
  'posture.finding_instance': request('A finding instance that a person, a program or a policy sends', WebhookPayload),
  'webhook.test': request('A test delivery', TestPayload),
}
