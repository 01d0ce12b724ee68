import { digest } from '../core/digest.js'
import { WEBHOOKS, type StoredWebhook } from '../core/model/webhook.js'
import { newUuid } from '../core/ids.js'
import type { Scope } from '../core/scope.js'
import type { Store } from '../core/store.js'

/**
 * Disables a webhook on the daemon's own account, with an audit entry. False: it was disabled or deleted already, or sends
 * elsewhere than to `url`, where that is given.
 */
export async function disableWebhook(
  store: Store,
  scope: Scope,
  id: string,
  now: number,
  url?: string,
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
      return old && disabled ? { ...old, status: 'disabled', version: old.version + 1, updated_at: at } : old
    },
    (before, after) => ({
      at,
      actor: { type: 'daemon', id: 'edged', name: 'edged' },
      action: 'update',
      resource: { kind: WEBHOOKS.name, scope, id },
      requestId: newUuid(),
      before: digest(before),
      after: digest(after),
    }),
  )
  return disabled
}
