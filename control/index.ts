import { accounts } from './accounts/index.js'
import type { Endpoint } from './http/endpoint.js'
import { hostnames } from './zones/hostnames.js'
import { lists } from './lists/index.js'
import { logpush } from './logpush/index.js'
import type { LogpushDeps } from './logpush/services.js'
import { posture } from './webhooks/index.js'
import { rulesets } from './rulesets/index.js'
import { settings } from './zones/settings.js'
import { tokens } from './tokens/index.js'
import { tracer } from './rulesets/tracer.js'
import { user } from './tokens/user.js'
import type { PostureDeps } from './webhooks/services.js'
import { workers } from './workers/index.js'
import type { WorkersServices } from './workers/services/index.js'
import { zones } from './zones/index.js'

/** Every endpoint of the areas that need no more than configuration and store. */
export const basicEndpoints = (deps: LogpushDeps): Endpoint[] => [
  ...user(),
  ...tokens(deps),
  ...accounts(deps),
  ...zones(deps),
  ...settings(deps),
  ...hostnames(deps),
  ...rulesets(deps),
  ...lists(deps),
  ...logpush(deps),
  ...tracer(deps),
]

/** Every endpoint of the API. */
export const endpoints = (
  deps: LogpushDeps & PostureDeps & { readonly workers: () => WorkersServices },
): Endpoint[] => [...basicEndpoints(deps), ...posture(deps), ...workers(deps)]
