import { of, type Mutant } from './mutant.js'

/** Guards of the access of agents. */
export const AGENTS: readonly Mutant[] = [
  ...of(
    'src/edge/agents/canonical/canonical-address.ts',
    'test/edge/agents/canonical.test.ts',
    [`if (url.host !== own.host || url.username`, `if (url.username`],
    [`if (url.pathname + url.search === own.pathname + own.search) return undefined`, ''],
  ),
  ...of('src/edge/agents/canonical/canonical-response.ts', 'test/edge/agents/canonical.test.ts', [
    `this.#pages.leads(canonical, this.#page) || `,
    '',
  ]),
  ...of('src/edge/agents/payments.ts', 'test/edge/agents/access.test.ts', [
    `if (reason !== undefined) return refusal`,
    'if (false) return refusal',
  ]),
  ...of('src/daemon/proxy/stored-signatures.ts', 'test/daemon/stored-signatures.test.ts', [
    `value: { expires }, ifVersion: 0`,
    'value: { expires }',
  ]),
  ...of(
    'src/edge/serve/internal.ts',
    'test/edge/agents/mcp-attacks.test.ts',
    [`  other.agent = exchange.agent\n`, ''],
    [` && !needsAuthentication(other)`, ''],
  ),
  ...of('src/edge/agents/mcp/observed-page.ts', 'test/edge/agents/mcp-attacks.test.ts', [
    `exchange.target.includes('?') || `,
    '',
  ]),
  ...of('src/agents/identity.ts', 'test/agents/identity.test.ts', [`type === 'directory' || isReplaced ? `, 'true ? ']),
  ...of('src/agents/signatures/directories.ts', 'test/agents/identity.test.ts', [
    `if (fetching || isKept) continue`,
    'if (fetching) continue',
  ]),
]
