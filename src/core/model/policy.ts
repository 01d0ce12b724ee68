import { kind } from '../store.js'
import type { Delivery } from './delivery.js'

/** A policy that sends new instances of one finding type automatically. The scope is the account. The id is a UUID. */
export interface StoredPolicy {
  readonly id: string
  readonly display_name: string
  readonly description: string
  readonly finding_type_id: string
  readonly applies_to_all_integrations: boolean
  readonly integration_ids: readonly string[]
  /** Webhooks that it sends to. */
  readonly webhook_ids: readonly string[]
  readonly created_at: string
  readonly updated_at: string
  /** Absent if enabled. */
  readonly disabled_at?: string
  /** Who saved it last, and is the author of its deliveries. */
  readonly saved_by: Pick<Delivery, 'triggered_by_actor' | 'triggered_by_id'>
}

export const POLICIES = kind<StoredPolicy>('posture_policy')

/** The time of the last delivery of a policy. It has the scope and id of the policy. */
export const POLICY_RUNS = kind<{ readonly last_triggered_at: string }>('posture_policy_run')
