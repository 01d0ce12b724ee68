import type { Catalogue } from '../catalogue/catalogue.js'
import type { AgentEntry } from '../catalogue/form.js'
import type { AccessEntry, AccessOptions } from './access.js'

/** Product tokens of crawlers in a robots.txt. */
export interface RobotsTokens {
  readonly blocked: readonly string[]
  readonly allowed: readonly string[]
}

/** A product token. RFC 9309, 2.2.1. */
const TOKEN = /^[A-Za-z_-]+$/

/**
 * Returns the crawlers that a robots.txt names because of `access`: those that are blocked even if they are verified, and
 * those that an entry allows by name. `entries` are the entries in force of `options`.
 */
export function robotsTokens(
  options: readonly AccessOptions[],
  entries: readonly AccessEntry[],
  catalogue: Catalogue,
): RobotsTokens {
  const blocked: string[] = []
  const allowed: string[] = []
  for (const agent of catalogue.values()) {
    const { name, operator, category } = agent
    // An entry about impostors does not concern the crawler itself.
    const at = entries.findIndex(
      (entry) =>
        entry.fits({ name, operator, category, verified: 'signature' }) ||
        entry.fits({ name, operator, category, verified: 'address' }),
    )
    if (at < 0) continue
    if (entries[at]!.action === 'block') blocked.push(...tokensOf(agent))
    else if (entries[at]!.action === 'allow' && options[at]?.who.name !== undefined) allowed.push(...tokensOf(agent))
  }
  return { blocked: [...new Set(blocked)], allowed: [...new Set(allowed)] }
}

const tokensOf = ({ name, user_agent, robots_only }: AgentEntry): string[] =>
  (robots_only === true || user_agent.length === 0 ? [name] : user_agent).filter((token) => TOKEN.test(token))
