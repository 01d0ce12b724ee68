import { put } from '../../api/client.ts'

/** A destination of findings. */
export interface Webhook {
  readonly id: string
  readonly label: string
  readonly destination_url: string
  readonly authentication_type: string
  readonly status: 'enabled' | 'disabled'
  readonly disabled_reason?: string
  readonly created_at: string
  readonly updated_at: string
  /** Names only. */
  readonly headers?: readonly { readonly key: string }[]
  readonly edged: {
    readonly state: 'healthy' | 'failing' | 'paused'
    readonly failing_since: string | null
    readonly failures: number
    readonly next_try_at: string | null
    readonly waiting: number
    /** Attempts that succeeded and failed, by hour, the current one at the end. */
    readonly success: readonly (readonly [ok: number, failed: number])[]
  }
}

export interface Delivery {
  readonly id: string
  readonly webhook_id: string
  readonly kind: 'finding' | 'manual' | 'test'
  readonly status: 'pending' | 'processing' | 'completed' | 'failed'
  readonly created_at: string
  readonly attempts: number
  readonly last_status_code: number | null
  readonly next_try_at: string | null
  readonly asset_data: { readonly name?: string; readonly external_id?: string }
  readonly failure_reason?: string
}

export interface Attempt {
  readonly at: string
  readonly status_code: number
  readonly duration_ms: number
  readonly error: string | null
  readonly response: string
}

export interface DeliveryDetails extends Delivery {
  readonly tries: readonly Attempt[]
  readonly payload?: unknown
}

/** Replaces the configuration of a webhook with a part of it changed. Stored secrets stay. */
export const replaceWebhook = async (
  posture: string,
  { id, label, destination_url, authentication_type, status, headers }: Webhook,
  change: object,
): Promise<Webhook> =>
  await put<Webhook>(`${posture}/webhooks/${id}`, {
    label,
    destination_url,
    authentication_type,
    status,
    ...(headers && { headers }),
    ...change,
  })

/** What the tabs of the attempts show, as parameters of the API. */
export const TABS = [
  ['all', 'All', ''],
  ['failed', 'Failed', 'status=failed'],
  ['waiting', 'Waiting', 'status=pending'],
  ['delivered', 'Delivered', 'status=completed'],
  ['tests', 'Tests', 'kind=test'],
] as const

/** Attempts of the last 24 hours together. */
export function successOf({ edged: { success } }: Webhook): { ok: number; all: number } {
  const ok = success.reduce((sum, [good]) => sum + good, 0)
  return { ok, all: ok + success.reduce((sum, [, failed]) => sum + failed, 0) }
}
