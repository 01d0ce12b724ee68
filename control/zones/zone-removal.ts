import { ERROR_ASSETS, ERROR_PAGES } from '../../src/core/model/error-page.js'
import { FALLBACK_ORIGIN, HOSTNAME, HOSTNAME_OWNER } from '../../src/core/model/hostname.js'
import { LOGPUSH_JOBS, LOGPUSH_STATUS } from '../../src/core/model/logpush-job.js'
import { PURGE } from '../../src/core/model/purge.js'
import { ENTRY_POINTS, OLDER_RULESETS, RULESET_USES, RULESETS } from '../../src/core/model/ruleset.js'
import { SETTING } from '../../src/core/model/setting.js'
import { MANAGED_TRANSFORMS, URL_NORMALIZATION } from '../../src/core/model/transforms.js'
import { ROUTE_PATTERNS, WORKER_DOMAINS, WORKER_ROUTES } from '../../src/core/model/worker-routing.js'
import { ZONE_STATES } from '../../src/core/model/zone.js'
import { account, DAEMON, type Scope } from '../../src/core/scope.js'
import type { Kind, Store, Write } from '../../src/core/store.js'
import { useWrites } from '../rulesets/list-references.js'

/** Every kind of record that belongs to a zone. */
const KINDS: readonly Kind<unknown>[] = [
  SETTING,
  ZONE_STATES,
  MANAGED_TRANSFORMS,
  URL_NORMALIZATION,
  HOSTNAME,
  FALLBACK_ORIGIN,
  PURGE,
  RULESETS,
  OLDER_RULESETS,
  ENTRY_POINTS,
  RULESET_USES,
  ERROR_ASSETS,
  ERROR_PAGES,
  LOGPUSH_JOBS,
  LOGPUSH_STATUS,
  WORKER_ROUTES,
  ROUTE_PATTERNS,
]

/** Returns the writes that delete everything that belongs to a zone, and that release what its rules use. */
export function removalWrites(store: Store, scope: Scope, accountId: string): Write[] {
  const own = KINDS.flatMap((kind) => store.list(kind, scope).map(({ id }) => ({ kind, scope, id, value: undefined })))
  const names = store
    .list(HOSTNAME, scope)
    .map(({ value }) => ({ kind: HOSTNAME_OWNER, scope: DAEMON, id: value.hostname, value: undefined }))
  const home = account(accountId)
  const domains = store
    .list(WORKER_DOMAINS, home)
    .filter(({ value }) => value.zone_id === scope.id)
    .map(({ id }) => ({ kind: WORKER_DOMAINS, scope: home, id, value: undefined }))
  const rules = store.list(RULESETS, scope).flatMap(({ value }) => value.ruleset.rules)
  // Counts of the zone itself are deleted above.
  const uses = useWrites(store, { scope, accountId }, { rules }, undefined).filter(
    (write) => write.scope.type === 'account',
  )
  return [...own, ...names, ...domains, ...uses]
}
