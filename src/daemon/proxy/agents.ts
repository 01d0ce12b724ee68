import { reverse } from 'node:dns/promises'
import { readCatalogue } from '../../agents/catalogue/catalogue.js'
import { LIST_LIMITS } from '../../agents/addresses/address-lists.js'
import { AgentIdentity } from '../../agents/identity.js'
import { DIRECTORY_LIMITS } from '../../agents/signatures/directories.js'
import type { Config } from '../../config/schema.js'
import type { Clock } from '../../core/clock.js'
import type { Log } from '../../core/log.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import { SignatureMetrics } from '../../edge/agents/metrics.js'
import { fetchResponse } from '../../egress/fetch-page.js'
import type { GuardedEgress } from '../../egress/guarded-egress.js'
import type { Resolve } from '../../egress/fair-resolve.js'
import { VERSION } from '../../release/package.js'

interface AgentsDeps {
  readonly egress: GuardedEgress
  readonly resolve: Resolve
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
}

const USER_AGENT = `edged/${VERSION}`

/** Creates what recognizes agents in this process. Key directories and lists of addresses pass the guarded egress. */
export function openAgents({ egress, resolve, clock, log, metrics }: AgentsDeps): AgentIdentity {
  const signatures = new SignatureMetrics(metrics)
  return new AgentIdentity({
    fetchKeys: async (url) => await fetchResponse(egress, url, { ...DIRECTORY_LIMITS, userAgent: USER_AGENT }),
    fetchList: async (url) => {
      const { status, bytes } = await fetchResponse(egress, url, { ...LIST_LIMITS, userAgent: USER_AGENT })
      if (status !== 200) throw new Error(`the status is ${status}`)
      return bytes
    },
    reverse: async (address) => await reverse(address),
    resolve: async (name) => await resolve(name, 'agents'),
    judged: (verdict) => signatures.judged(verdict),
    clock,
    log,
  })
}

/** Applies the options of a configuration whose catalogue file was checked. */
export function configureAgents(identity: AgentIdentity, { agents, zones }: Pick<Config, 'agents' | 'zones'>): void {
  const { catalogue, verify_addresses } = agents
  identity.configure({ catalogue: readCatalogue(catalogue), verify_addresses })
  identity.directories.preload(new Set(zones.flatMap((zone) => Object.values(zone.agents.web_bot_auth.keys))))
}
