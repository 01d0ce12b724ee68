import { accounts } from './accounts.js'
import type { Endpoint } from './endpoint.js'
import { hostnames } from './hostnames.js'
import { lists } from './lists.js'
import { logpush } from './logpush.js'
import type { LogpushDeps } from './logpush/engine.js'
import { posture } from './posture.js'
import { rulesets } from './rulesets.js'
import { settings } from './settings.js'
import { tokens } from './tokens.js'
import { tracer } from './tracer.js'
import { user } from './user.js'
import type { PostureDeps } from './webhooks/engine.js'
import { workers } from './workers.js'
import type { WorkersEngine } from './workers/engine.js'
import { zones } from './zones.js'

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
export const endpoints = (deps: LogpushDeps & PostureDeps & { readonly workers: () => WorkersEngine }): Endpoint[] => [
  ...basicEndpoints(deps),
  ...posture(deps),
  ...workers(deps),
]
