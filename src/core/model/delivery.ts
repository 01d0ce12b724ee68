import type { Scope } from '../scope.js'
import { kind, type AuditEntry, type Write } from '../store.js'
import type { AuthenticationType } from './webhook.js'

export const DELIVERY_STATUSES = ['pending', 'processing', 'completed', 'failed'] as const
export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number]

export const FAILURE_REASONS = [
  'Permission Denied',
  'Integration Unavailable',
  'Service Temporarily Unavailable',
  'System Error',
] as const
export type FailureReason = (typeof FAILURE_REASONS)[number]

/** Who asked for a delivery: the owner of a legacy key, or a token. */
export const ACTORS = ['user', 'account_token'] as const

/**
 * One finding instance on its way to one webhook: what was accepted, which never changes. Scope: the account; id: a UUID
 * that sorts by the time of acceptance, the `webhook-id` of every try.
 */
export interface Delivery {
  readonly id: string
  readonly webhook_id: string
  readonly finding_instance_id: string
  readonly integration_id: string
  readonly created_at: string
  readonly triggered_by_actor: (typeof ACTORS)[number]
  readonly triggered_by_id: string
  /** The policy that sent it; absent where a person or a program did. */
  readonly policy_id?: string
  /** The very text that each try sends: JSON, UTF-8. */
  readonly payload: string
}

/** One try to deliver. */
export interface Try {
  /** RFC 3339; when it began. */
  readonly at: string
  /** 0: no answer. */
  readonly status_code: number
  readonly duration_ms: number
  /** Null where it succeeded. */
  readonly error: string | null
  /** The first KiB of the answer's body as text. */
  readonly response: string
}

/** How a delivery fares; a record of its own, with scope and id of the delivery, so that tries do not rewrite the payload. */
export interface DeliveryState {
  readonly status: DeliveryStatus
  readonly last_updated_at: string
  /** Oldest first. */
  readonly tries: readonly Try[]
  /** Attempts since it was accepted or retried by hand; absent before the first. `tries` keeps the newest only. */
  readonly attempts?: number
  /** Attempts before it was last retried by hand. */
  readonly earlier_attempts?: number
  /** RFC 3339; no try before then. Absent once it is over. */
  readonly due_at?: string
  readonly failure_reason?: FailureReason
  readonly failure_details?: Readonly<Record<string, unknown>>
}

export const DELIVERIES = kind<Delivery>('delivery')
export const DELIVERY_STATES = kind<DeliveryState>('delivery_state')

/** A delivery and how it fares. */
export interface Job {
  readonly delivery: Delivery
  readonly state: DeliveryState
}

/** Which jobs are meant; each member narrows it down. */
export interface JobFilter {
  readonly status?: DeliveryStatus
  readonly webhook_id?: string
  readonly finding_instance_id?: string
  /** RFC 3339; accepted then or later. */
  readonly since?: string
  /** RFC 3339; accepted before then. */
  readonly until?: string
}

/** Jobs of a filter, by what a bulk retry did with them. */
export interface RetryResult {
  readonly retried: number
  /** Not over yet, so left as they were. */
  readonly pending: number
  /** Their webhook is disabled or deleted. */
  readonly disabled: number
  /** The limit of waiting deliveries was reached. */
  readonly over_limit: number
}

/** What becomes durable together with deliveries, all or nothing. */
export interface Together {
  readonly writes?: readonly Write[]
  readonly audit?: readonly AuditEntry[]
}

/** The queue of deliveries, as whoever fills it and looks at it sees it. */
export interface Deliveries {
  /** How many more an account may have waiting; 0: {@link Deliveries.accept} would go beyond what is allowed. */
  room(scope: Scope): number
  /**
   * Takes deliveries, in this order, and stores `together` in the same batch; durable when it resolves, sent later. With no
   * deliveries it only stores. Rejects like `Store.batch`, with nothing stored.
   */
  accept(scope: Scope, deliveries: readonly Delivery[], together?: Together): Promise<void>
  get(scope: Scope, id: string): Job | undefined
  /** Newest first; `from` counts from 0. */
  list(
    scope: Scope,
    filter: JobFilter,
    from: number,
    most: number,
  ): { readonly jobs: readonly Job[]; readonly total: number }
  /** The newest job of each webhook that an instance was sent to. */
  latest(scope: Scope, instanceId: string): readonly Job[]
  /** Sends a job that is over once more, with the same id and bytes; undefined where there is none, or where it is not over. */
  retry(scope: Scope, id: string): Promise<Job | undefined>
  /** Retries all jobs that match a filter, are over and belong to a webhook that `isEnabled`, oldest first. */
  retryAll(scope: Scope, filter: JobFilter, isEnabled: (webhookId: string) => boolean): Promise<RetryResult>
}

/** Where to send, and how the sender shows who it is; secrets in the clear, so never logged. */
export interface Destination {
  readonly destination_url: string
  readonly authentication_type: AuthenticationType
  readonly headers: readonly { readonly key: string; readonly value: string }[]
  /** All that sign, the current one first; empty but for HMAC-Signing. */
  readonly signing_secrets: readonly string[]
}

/** What came of a test delivery. */
export interface Evaluation {
  /** A 2xx came back. */
  readonly success: boolean
  /** 0: no answer. */
  readonly status_code: number
  readonly message: string
}

/** Sends one request now and tells what came back. Rejects only with `NotPublic`, where the destination may not be reached. */
export interface Tester {
  evaluate(destination: Destination, signal?: AbortSignal): Promise<Evaluation>
}
