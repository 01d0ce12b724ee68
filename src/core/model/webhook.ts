import type { Sealed } from '../vault.js'
import { kind } from '../store.js'

/** How a destination knows who sends. */
export const AUTHENTICATION_TYPES = ['None', 'Basic Auth', 'Bearer Auth', 'Static Headers', 'HMAC-Signing'] as const
export type AuthenticationType = (typeof AUTHENTICATION_TYPES)[number]

export const WEBHOOK_STATUSES = ['enabled', 'disabled'] as const
export type WebhookStatus = (typeof WEBHOOK_STATUSES)[number]

/** A signing secret that was replaced; it signs beside the new one until then (RFC 3339). */
export interface FormerSecret {
  readonly secret: Sealed
  readonly until: string
}

/**
 * A destination as it is stored. Scope: the account; id: a UUID. What is sealed is sealed for this record
 * (`secretOf(WEBHOOKS, scope, id)`).
 */
export interface StoredWebhook {
  readonly id: string
  readonly label: string
  readonly destination_url: string
  readonly authentication_type: AuthenticationType
  /** Only an enabled one takes jobs. */
  readonly status: WebhookStatus
  /** From 1, one more with each update. */
  readonly version: number
  readonly created_at: string
  readonly updated_at: string
  /** Keys in lower case. */
  readonly headers: readonly { readonly key: string; readonly value: Sealed }[]
  readonly signing_secret?: Sealed
  /** Newest first. */
  readonly former_secrets?: readonly FormerSecret[]
  /** When the daemon disabled it, and why; absent once it is enabled again. */
  readonly disabled_at?: string
  readonly disabled_reason?: string
  /** Set when it was deleted; such a record has no secrets any more and is only there to tell what its jobs were for. */
  readonly deleted_at?: string
}

export const WEBHOOKS = kind<StoredWebhook>('webhook')
