import type { Sealed } from '../vault.js'
import { kind } from '../store.js'

/** Ways to authenticate to a destination. */
export const AUTHENTICATION_TYPES = ['None', 'Basic Auth', 'Bearer Auth', 'Static Headers', 'HMAC-Signing'] as const
export type AuthenticationType = (typeof AUTHENTICATION_TYPES)[number]

export const WEBHOOK_STATUSES = ['enabled', 'disabled'] as const
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number]

/** A replaced signing secret. It signs in addition to the new one until then (RFC 3339). */
export interface FormerSecret {
  readonly secret: Sealed
  readonly until: string
}

/**
 * A stored destination. The scope is the account. The id is a UUID. Secrets are encrypted for this record
 * (`secretOf(WEBHOOKS, scope, id)`).
 */
export interface StoredWebhook {
  readonly id: string
  readonly label: string
  readonly destination_url: string
  readonly authentication_type: AuthenticationType
  /** Only an enabled one accepts jobs. */
  readonly status: WebhookStatus
  /** Starts at 1 and grows by 1 with each update. */
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
  /** Keys in lower case. */
  readonly headers: readonly { readonly key: string; readonly value: Sealed }[]
  readonly signing_secret?: Sealed
  /** Newest first. */
  readonly former_secrets?: readonly FormerSecret[]
  /** Time and reason of the daemon disabling it. Absent after it is enabled again. */
  readonly disabled_at?: string
  readonly disabled_reason?: string
  /** Time of deletion. Such a record has no secrets. It only describes the webhook of earlier jobs. */
  readonly deleted_at?: string
}

export const WEBHOOKS = kind<StoredWebhook>('webhook')
