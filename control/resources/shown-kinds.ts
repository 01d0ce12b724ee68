import { R2_CORS, R2_DOMAINS, R2_LIFECYCLES, R2_LOCKS } from '../../src/core/model/bucket-settings.js'
import { ERROR_ASSETS, ERROR_PAGES } from '../../src/core/model/error-page.js'
import { FALLBACK_ORIGIN, HOSTNAME } from '../../src/core/model/hostname.js'
import { HYPERDRIVES } from '../../src/core/model/hyperdrive.js'
import { INTEGRATIONS } from '../../src/core/model/integration.js'
import { LISTS } from '../../src/core/model/list.js'
import { LOG_RETENTION, LOGPUSH_JOBS } from '../../src/core/model/logpush-job.js'
import { POLICIES } from '../../src/core/model/policy.js'
import { PURGE } from '../../src/core/model/purge.js'
import { QUEUE_CONSUMERS, QUEUES } from '../../src/core/model/queues.js'
import { OLDER_RULESETS, RULESETS } from '../../src/core/model/ruleset.js'
import { SECRET_STORES, STORE_SECRETS } from '../../src/core/model/secrets-store.js'
import { SETTING } from '../../src/core/model/setting.js'
import { D1_DATABASES, KV_NAMESPACES, R2_BUCKETS } from '../../src/core/model/storage.js'
import { TOKEN } from '../../src/core/model/token.js'
import { MANAGED_TRANSFORMS, URL_NORMALIZATION } from '../../src/core/model/transforms.js'
import { WEBHOOKS } from '../../src/core/model/webhook.js'
import * as routing from '../../src/core/model/worker-routing.js'
import { WORKER_SCRIPTS } from '../../src/core/model/worker.js'
import { ZONES, ZONE_STATES } from '../../src/core/model/zone.js'
import type { Kind } from '../../src/core/store.js'
import { ACCESS, type Permission } from '../http/permissions.js'

interface ShownKind {
  /** One of these permissions is enough to read such a record. */
  readonly read: readonly Permission[]
  /** Members that are secret although they are not encrypted. */
  readonly secrets?: readonly string[]
}

const rows = (read: readonly Permission[], ...kinds: readonly Kind<unknown>[]): [string, ShownKind][] =>
  kinds.map(({ name }) => [name, { read }])

/** Kinds of records that audit entries hold before and after a change. Findings are data and too many for it. */
export const SHOWN_KINDS: ReadonlyMap<string, ShownKind> = new Map<string, ShownKind>([
  ...rows(ACCESS.zones.read, ZONES, ZONE_STATES, PURGE),
  ...rows(ACCESS.zoneSettings.read, SETTING),
  ...rows(ACCESS.urlNormalization.read, URL_NORMALIZATION),
  ...rows(ACCESS.managedHeaders.read, MANAGED_TRANSFORMS),
  ...rows(ACCESS.certificates.read, HOSTNAME, FALLBACK_ORIGIN),
  ...rows(ACCESS.rulesets.read, RULESETS, OLDER_RULESETS),
  ...rows(ACCESS.lists.read, LISTS),
  ...rows(ACCESS.customPages.read, ERROR_ASSETS, ERROR_PAGES),
  ...rows(ACCESS.logpush.read, LOGPUSH_JOBS, LOG_RETENTION),
  ...rows(ACCESS.webhooks.read, WEBHOOKS, POLICIES, INTEGRATIONS),
  ...rows(
    ACCESS.workers.read,
    WORKER_SCRIPTS,
    routing.WORKER_DOMAINS,
    routing.ACCOUNT_SUBDOMAIN,
    routing.SCRIPT_SUBDOMAINS,
    routing.SCRIPT_SCHEDULES,
    routing.WORKERS_ACCOUNT_SETTINGS,
  ),
  ...rows(ACCESS.routes.read, routing.WORKER_ROUTES),
  ...rows(ACCESS.kv.read, KV_NAMESPACES),
  ...rows(ACCESS.r2.read, R2_BUCKETS, R2_CORS, R2_DOMAINS, R2_LIFECYCLES, R2_LOCKS),
  ...rows(ACCESS.d1.read, D1_DATABASES),
  ...rows(ACCESS.queues.read, QUEUES, QUEUE_CONSUMERS),
  ...rows(ACCESS.hyperdrive.read, HYPERDRIVES),
  ...rows(ACCESS.secretsStore.read, SECRET_STORES, STORE_SECRETS),
  [TOKEN.name, { read: ['Account API Tokens Read', 'Account API Tokens Write'], secrets: ['hash'] }],
])
