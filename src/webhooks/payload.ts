import type { Delivery } from '../core/model/delivery.js'
import type { StoredFinding, StoredInstance } from '../core/model/finding.js'
import type { StoredWebhook } from '../core/model/webhook.js'
import { newOrderedUuid } from '../core/ids.js'
import type { TestPayload, WebhookPayload } from './payload-schema.js'

/** Trigger of a delivery, as shown in job and payload. */
export interface Sender {
  readonly triggered_by_actor: Delivery['triggered_by_actor']
  readonly triggered_by_id: string
  readonly policy_id?: string
}

/** Creates the delivery of one instance to one webhook. Its bytes never change. */
export function deliveryOf(
  now: number,
  sender: Sender,
  webhook: Pick<StoredWebhook, 'id' | 'label'>,
  {
    integration,
    created_at: _created,
    updated_at: _updated,
    ignored: _ignored,
    severity_override: _override,
    ...finding
  }: StoredFinding,
  { id: instanceId, finding_id, affliction_date, dlp_contexts, asset }: StoredInstance,
): Delivery {
  const id = newOrderedUuid(now)
  const sent_at = new Date(now).toISOString()
  const { policy_id } = sender
  const payload: WebhookPayload = {
    id,
    type: 'posture.finding_instance',
    metadata: {
      actor:
        policy_id === undefined
          ? { type: sender.triggered_by_actor, id: sender.triggered_by_id }
          : { type: 'policy', id: policy_id },
      destination: { webhook_id: webhook.id, label: webhook.label },
      sent_at,
      payload_version: 1,
    },
    data: {
      finding,
      instance: { id: instanceId, affliction_date, ...(dlp_contexts && { dlp_contexts }) },
      asset,
      integration,
    },
  }
  return {
    id,
    webhook_id: webhook.id,
    finding_instance_id: instanceId,
    finding_id,
    integration_id: integration.id,
    created_at: sent_at,
    ...sender,
    payload: JSON.stringify(payload),
  }
}

/** Returns the asset of a delivery. */
export const assetOf = ({ payload }: Delivery): Record<string, unknown> =>
  (JSON.parse(payload) as WebhookPayload).data.asset

/** Returns the body of a test delivery. */
export function testPayload(now: number): string {
  const payload: TestPayload = {
    event_type: 'webhook.test',
    timestamp: new Date(now).toISOString(),
    message: 'This is a test delivery from edged.',
    data: { test: true },
  }
  return JSON.stringify(payload)
}

/** Returns a test delivery as it is stored. */
export const testDelivery = (now: number, sender: Sender, webhookId: string, payload: string): Delivery => ({
  id: newOrderedUuid(now),
  webhook_id: webhookId,
  finding_instance_id: '',
  integration_id: '',
  created_at: new Date(now).toISOString(),
  ...sender,
  kind: 'test',
  payload,
})
