import { kind } from '../store.js'
import type { Delivery } from './delivery.js'

/** What sends new instances of one type of finding by itself. Scope: the account; id: a UUID. */
export interface StoredPolicy {
  readonly id: string
  readonly display_name: string
  readonly description: string
  readonly finding_type_id: string
  readonly applies_to_all_integrations: boolean
  readonly integration_ids: readonly string[]
  /** Webhooks to send to. */
  readonly webhook_ids: readonly string[]
  readonly created_at: string
  readonly updated_at: string
  /** Absent: it is enabled. */
  readonly disabled_at?: string
  /** Who saved it last, and so stands behind what it sends. */
  readonly saved_by: Pick<Delivery, 'triggered_by_actor' | 'triggered_by_id'>
}

export const POLICIES = kind<StoredPolicy>('posture_policy')

/** When a policy last sent something; scope and id: those of the policy. */
export const POLICY_RUNS = kind<{ readonly last_triggered_at: string }>('posture_policy_run')
