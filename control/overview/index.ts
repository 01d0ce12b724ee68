import type { Endpoint } from '../http/endpoint.js'
import { agentReports } from './agents.js'
import { analytics } from './analytics.js'
import { attention } from './attention.js'
import { auditEntries } from './audit.js'
import { certificates } from './certificates.js'
import type { OverviewDeps } from './services.js'
import { ruleCounts } from './rule-counts.js'
import { traffic } from './traffic.js'
import { tries } from './try.js'

/** The state of the daemon: numbers, certificates, changes, and trial requests. */
export const overview = (deps: OverviewDeps): Endpoint[] => [
  ...attention(deps),
  ...traffic(deps),
  ...analytics(deps),
  ...agentReports(deps),
  ...auditEntries(deps),
  ...certificates(deps),
  ...ruleCounts(deps),
  ...tries(deps),
]
