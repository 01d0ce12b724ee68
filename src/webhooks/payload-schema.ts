import { Type, type Static } from 'typebox'
import { Asset, FindingMembers, InstanceMembers, Integration } from '../core/model/finding.js'
import { strict } from '../core/schema.js'

const { integration: _integration, ...finding } = FindingMembers.properties
const { asset: _asset, is_archived: _archived, ...instance } = InstanceMembers.properties

const EXAMPLE = {
  id: '0199f4a2-7c1e-7000-8b5e-2f6d1c3a9e47',
  type: 'posture.finding_instance',
  metadata: {
    actor: { type: 'account_token', id: '4b1c6d0c1f0f4f5c9d1f3a0e6c5d7b21' },
    destination: { webhook_id: '182bd5e5-6e1a-4fe4-a799-aa6d9a6ab26e', label: 'Security channel' },
    sent_at: '2026-11-21T12:00:00.000Z',
    payload_version: 1,
  },
  data: {
    finding: {
      id: 'U3RhaW5sZXNzIHJvY2tz',
      finding_type_id: '5a7d9e2f-1b3c-4d5e-8f6a-7b8c9d0e1f2a',
      name: 'File publicly accessible with edit permissions',
      description: 'Anyone with the link can change the file.',
      severity: 'High',
      vendor: 'GOOGLE_WORKSPACE',
      category: { observation: 'Issue', product: 'SaaS', type: 'Posture' },
    },
    instance: { id: '497f6eca-6276-4993-bfeb-53cbbbba6f08', affliction_date: '2026-11-21T11:58:03Z' },
    asset: {
      external_id: '1AbC',
      name: 'plan.pdf',
      link: 'https://drive.example.com/1AbC',
      category: { vendor: 'GOOGLE_WORKSPACE', service: 'Drive', type: 'File' },
      fields: [{ name: 'Owner', value: 'ann@example.com' }],
    },
    integration: { id: '770e8400-e29b-41d4-a716-446655440002', name: 'Workspace' },
  },
}

/** Request body for a finding instance. */
export const WebhookPayload = Type.Object(
  {
    id: Type.String({
      description:
        'Equals the header webhook-id and is the same for every attempt, so that receivers can drop repetitions.',
    }),
    type: Type.Literal('posture.finding_instance'),
    metadata: Type.Object(
      {
        actor: Type.Object(
          { type: Type.Enum(['user', 'account_token', 'policy']), id: Type.String() },
          { ...strict, description: 'User, token or policy that triggered the delivery.' },
        ),
        destination: Type.Object({ webhook_id: Type.String(), label: Type.String() }, strict),
        sent_at: Type.String({ format: 'date-time', description: 'When it was accepted for delivery, UTC.' }),
        payload_version: Type.Literal(1),
      },
      strict,
    ),
    data: Type.Object(
      {
        finding: Type.Object(finding, strict),
        instance: Type.Object(instance, strict),
        asset: Asset,
        integration: Integration,
      },
      strict,
    ),
  },
  { ...strict, title: 'Webhook payload', examples: [EXAMPLE] },
)
export type WebhookPayload = Static<typeof WebhookPayload>

/** Request body of a test delivery. */
export const TestPayload = Type.Object(
  {
    event_type: Type.Literal('webhook.test'),
    timestamp: Type.String({ format: 'date-time', description: 'UTC.' }),
    message: Type.String(),
    data: Type.Object({ test: Type.Literal(true) }, strict),
  },
  {
    ...strict,
    title: 'Webhook test payload',
    examples: [
      {
        event_type: 'webhook.test',
        timestamp: '2026-11-21T12:00:00.000Z',
        message: 'This is a test delivery from edged.',
        data: { test: true },
      },
    ],
  },
)
export type TestPayload = Static<typeof TestPayload>
