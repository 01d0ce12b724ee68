import { accounts } from './accounts/index.js'
import { members } from './accounts/members.js'
import { auditLogs } from './accounts/audit-logs.js'
import { logsAudit } from './accounts/logs-audit.js'
import type { ControlDeps } from './http/context.js'
import type { Endpoint } from './http/endpoint.js'
import { listenControl, type Control } from './http/server/listen.js'
import { cacheSettings } from './zones/cache-settings.js'
import { certificatePacks } from './zones/certificate-packs.js'
import { fallbackOrigin } from './zones/fallback-origin.js'
import { hostnames } from './zones/hostnames.js'
import { inertSettings } from './zones/inert-settings.js'
import { ips } from './zones/ips.js'
import { lists } from './lists/index.js'
import { logpush } from './logpush/index.js'
import type { LogpushDeps } from './logpush/services.js'
import { manual } from './openapi/index.js'
import { requestTail } from './logpush/request-tail.js'
import type { RequestsDeps } from './resources/request-item.js'
import { pages } from './ui/index.js'
import { posture } from './webhooks/index.js'
import { overview } from './overview/index.js'
import { requests } from './overview/requests.js'
import type { OverviewDeps } from './overview/services.js'
import { dryRun } from './rulesets/dry-run.js'
import { rulesets } from './rulesets/index.js'
import type { StoredPagesDeps } from './rulesets/stored-pages.js'
import { managedHeaders } from './zones/managed-headers.js'
import { urlNormalization } from './zones/url-normalization.js'
import { purge } from './zones/purge.js'
import { settings } from './zones/settings.js'
import { settingsByTopic } from './zones/settings-by-topic.js'
import { permissions } from './tokens/permissions.js'
import { tokens } from './tokens/index.js'
import { tracer, type TracerDeps } from './rulesets/tracer.js'
import { user } from './tokens/user.js'
import type { PostureDeps } from './webhooks/services.js'
import { workers } from './workers/index.js'
import type { WorkersServices } from './workers/services/index.js'
import { zones } from './zones/index.js'

/** Dependencies of the endpoints that need no Workers and no webhooks. */
export type BasicDeps = LogpushDeps & TracerDeps & StoredPagesDeps

/** Every endpoint of the areas that need no more than configuration and store. */
export const basicEndpoints = (deps: BasicDeps): Endpoint[] => [
  ...user(),
  ...permissions(deps),
  ...tokens(deps),
  ...accounts(deps),
  ...members(deps),
  ...auditLogs(deps),
  ...logsAudit(deps),
  ...ips(deps),
  ...zones(deps),
  ...settings(deps),
  ...settingsByTopic(deps),
  ...managedHeaders(deps),
  ...urlNormalization(deps),
  ...cacheSettings(deps),
  ...inertSettings(deps),
  ...purge(deps),
  ...hostnames(deps),
  ...fallbackOrigin(deps),
  ...certificatePacks(deps),
  ...rulesets(deps),
  ...lists(deps),
  ...logpush(deps),
  ...tracer(deps),
]

/** Every endpoint of the API. */
export const endpoints = (
  deps: BasicDeps & PostureDeps & OverviewDeps & RequestsDeps & { readonly workers: () => WorkersServices },
): Endpoint[] => [
  ...basicEndpoints(deps),
  ...posture(deps),
  ...workers(deps),
  ...overview(deps),
  ...requests(deps),
  ...requestTail(deps),
  ...dryRun(deps),
]

/**
 * Opens the API's listener: the endpoints, their OpenAPI document, the dashboard and the manual, whose built files are in
 * `built`. Rejects if the address is not available.
 */
export const startControl = async (endpoints: readonly Endpoint[], deps: ControlDeps, built = ''): Promise<Control> =>
  await listenControl(endpoints, deps, [manual(endpoints), pages(built)])
