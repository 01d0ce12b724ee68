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

/** The caller that requested a delivery. Either the owner of a legacy key or a token. */
export const ACTORS = ['user', 'account_token'] as const

/**
 * One finding instance to deliver to one webhook, as accepted. Immutable. The scope is the account. The id is a UUID
 * that sorts by the time of acceptance, the `webhook-id` of every attempt.
 */
export interface Delivery {
  readonly id: string
  readonly webhook_id: string
  readonly finding_instance_id: string
  /** Finding of the instance. Its deliveries to one webhook are sent in order. Absent in older records. */
  readonly finding_id?: string
  readonly integration_id: string
  readonly created_at: string
  readonly triggered_by_actor: (typeof ACTORS)[number]
  readonly triggered_by_id: string
  /** The policy that sent it. Absent if an API call did. */
  readonly policy_id?: string
  /** `test`: a test delivery to a stored webhook. Absent for findings. */
  readonly kind?: 'test'
  /** The exact body of each attempt: JSON, UTF-8. */
  readonly payload: string
}

/** One delivery attempt. */
export interface Try {
  /** RFC 3339. Start of the attempt. */
  readonly at: string
  /** 0 if there was no response. */
  readonly status_code: number
  readonly duration_ms: number
  /** Null if it succeeded. */
  readonly error: string | null
  /** The first KiB of the response body as text. */
  readonly response: string
}

/**
 * State of a delivery, in a separate record with its scope and id, so that attempts do not rewrite the payload. The
 * record is stored after the first attempt. Before that, the state is {@link acceptedState}.
 */
export interface DeliveryState {
  readonly status: DeliveryStatus
  readonly last_updated_at: string
  /** Oldest first. */
  readonly tries: readonly Try[]
  /**
   * Attempts since it was accepted or manually retried. Absent before the first attempt. `tries` retains only the
   * newest.
   */
  readonly attempts?: number
  /** Attempts before the last manual retry. */
  readonly earlier_attempts?: number
  /** RFC 3339. Time of the next attempt. Absent after it has finished. */
  readonly due_at?: string
  readonly failure_reason?: FailureReason
  readonly failure_details?: Readonly<Record<string, unknown>>
}

export const DELIVERIES = kind<Delivery>('delivery')
export const DELIVERY_STATES = kind<DeliveryState>('delivery_state')

/**
 * Returns the state of a delivery that has had no attempt. Not stored, because a second record would double the cost of
 * accepting.
 */
export const acceptedState = ({ created_at }: Delivery): DeliveryState => ({
  status: 'pending',
  last_updated_at: created_at,
  tries: [],
  due_at: created_at,
})

/** A delivery and its state. */
export interface Job {
  readonly delivery: Delivery
  readonly state: DeliveryState
}

export const DELIVERY_KINDS = ['finding', 'manual', 'test'] as const
/** `finding`: a policy sent it. `manual`: an API call sent it. */
export type DeliveryKind = (typeof DELIVERY_KINDS)[number]

export const kindOf = ({ kind: own, policy_id: policy }: Pick<Delivery, 'kind' | 'policy_id'>): DeliveryKind =>
  own ?? (policy === undefined ? 'manual' : 'finding')

/** Selects jobs that match all members. */
export interface JobFilter {
  /** Absent: all but tests. */
  readonly kind?: DeliveryKind

  readonly status?: DeliveryStatus
  readonly webhook_id?: string
  readonly finding_instance_id?: string
  /** RFC 3339. Accepted at this time or later. */
  readonly since?: string
  /** RFC 3339. Accepted before this time. */
  readonly until?: string
}

/** Counts of the matching jobs of a bulk retry, by outcome. */
export interface RetryResult {
  readonly retried: number
  /** Unfinished, so left unchanged. */
  readonly pending: number
  /** Their webhook is disabled or deleted. */
  readonly disabled: number
  /** The limit of waiting deliveries was reached. */
  readonly over_limit: number
}

/** How a webhook fares. */
export interface WebhookHealthState {
  /** `paused`: its circuit breaker is open. */
  readonly state: 'healthy' | 'failing' | 'paused'
  /** RFC 3339. Null if it does not fail. */
  readonly failing_since: string | null
  /** Consecutive failures. */
  readonly failures: number
  /** RFC 3339. Earliest time of the next attempt of a paused webhook. */
  readonly next_try_at: string | null
  /** Unfinished deliveries. */
  readonly waiting: number
  /** Attempts of the last 24 hours, the current hour at the end. */
  readonly success: readonly (readonly [ok: number, failed: number])[]
}

/** Records that are stored atomically with deliveries. */
export interface Together {
  readonly writes?: readonly Write[]
  readonly audit?: readonly AuditEntry[]
}

/** The queue of deliveries, for its producers and readers. */
export interface Deliveries {
  /** Returns how many more deliveries an account can queue; 0: {@link Deliveries.accept} would exceed the limit. */
  room(scope: Scope): number
  /**
   * Accepts deliveries, in this order, and stores `together` in the same batch. Durable when it resolves. Sent later.
   * Without deliveries, only `together` is stored. Rejects like `Store.batch`, with nothing stored.
   */
  accept(scope: Scope, deliveries: readonly Delivery[], together?: Together): Promise<void>
  get(scope: Scope, id: string): Job | undefined
  /** Newest first; `from` counts from 0. */
  list(
    scope: Scope,
    filter: JobFilter,
    from: number,
    max: number,
  ): { readonly jobs: readonly Job[]; readonly total: number }
  /** Returns the newest job of each webhook that an instance was sent to. */
  latest(scope: Scope, instanceId: string): readonly Job[]
  /** Sends a finished job again with the same id and bytes. Undefined if the job does not exist or has not finished. */
  retry(scope: Scope, id: string): Promise<Job | undefined>
  /** Retries all finished jobs that match a filter and whose webhook `isEnabled`, oldest first. */
  retryAll(
    scope: Scope,
    filter: JobFilter,
    isEnabled: (webhookId: string) => boolean,
    options?: { readonly countOnly?: boolean },
  ): Promise<RetryResult>
  /** Stores a test delivery with its attempt. */
  tested(scope: Scope, delivery: Delivery, attempt: Try): Promise<void>
}

/** URL and authentication of a destination. The secrets are unencrypted, so this is never logged. */
export interface Destination {
  readonly destination_url: string
  readonly authentication_type: AuthenticationType
  readonly headers: readonly { readonly key: string; readonly value: string }[]
  /** All signing secrets, the current one first. Empty except for HMAC-Signing. */
  readonly signing_secrets: readonly string[]
}

/** The outcome of a test delivery. */
export interface Evaluation {
  /** The response was 2xx. */
  readonly success: boolean
  /** 0 if there was no response. */
  readonly status_code: number
  readonly message: string
  /** Body and attempt. Absent if nothing was sent. */
  readonly sent?: { readonly payload: string; readonly attempt: Try }
}

/** Sends one request and returns the outcome. Rejects only with `NotPublic`, if the address is not allowed. */
export interface Tester {
  evaluate(destination: Destination, signal?: AbortSignal): Promise<Evaluation>
}
