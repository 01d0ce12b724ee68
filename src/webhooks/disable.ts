import { auditValues } from '../core/audit/audit-values.js'
import { digest } from '../core/digest.js'
import { WEBHOOKS, type StoredWebhook } from '../core/model/webhook.js'
import { newUuid } from '../core/ids.js'
import type { Scope } from '../core/scope.js'
import type { Store } from '../core/store.js'

/**
 * Disables a webhook in the name of the daemon, with an audit entry. Returns false if it was disabled or deleted already, or
 * if `url` is passed and is not its destination any more.
 */
export async function disableWebhook(
  store: Store,
  { scope, id }: { readonly scope: Scope; readonly id: string },
  { reason, now, url }: { readonly reason: string; readonly now: number; readonly url?: string | undefined },
): Promise<boolean> {
  const at = new Date(now).toISOString()
  let disabled = false
  await store.change(
    WEBHOOKS,
    scope,
    id,
    (old): StoredWebhook | undefined => {
      disabled =
        old?.status === 'enabled' &&
        old.deleted_at === undefined &&
        (url ?? old.destination_url) === old.destination_url
      if (!old || !disabled) return old
      const version = old.version + 1
      return { ...old, status: 'disabled', version, updated_at: at, disabled_at: at, disabled_reason: reason }
    },
    (before, after) => ({
      at,
      actor: { type: 'daemon', id: 'edged', name: 'edged' },
      action: 'update',
      resource: { kind: WEBHOOKS.name, scope, id },
      requestId: newUuid(),
      before: digest(before),
      after: digest(after),
      values: auditValues(before, after),
    }),
  )
  return disabled
}
