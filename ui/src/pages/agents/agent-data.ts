import type { Group } from '../../analytics.ts'
import type { Source } from '../../api/types.ts'

/** An entry of `agents.access` in the configuration file. */
interface FileAccess {
  readonly do: string
  readonly price: string | null
  readonly edged_source: Source | null
}

/** An agent of `edged/agents`. */
export interface Agent {
  readonly name: string
  readonly operator: string
  readonly category: string
  readonly requests: number
  readonly markdown_requests: number
  readonly bytes: number
  readonly tokens: number
  readonly tokens_saved: number
  readonly verified: { readonly none: number; readonly address: number; readonly signature: number }
  /** The entry of the file that decides, by how the agent is verified. */
  readonly access: Readonly<Record<'none' | 'address' | 'signature', FileAccess | null>>
  readonly charged: Readonly<Record<string, string>>
  readonly paths: readonly { readonly path: string; readonly requests: number }[]
}

export type AgentRow = Agent & { readonly refused: number }

/** Returns the agents with the pages that could not be converted for them. */
export function rowsOf(agents: readonly Agent[], groups: readonly Group[]): readonly AgentRow[] {
  const refused = new Map(groups.map(({ key, markdown }) => [key, markdown.refused + markdown.failed]))
  return agents.map((agent) => ({ ...agent, refused: refused.get(agent.name) ?? 0 }))
}

export type Verification = 'signature' | 'address' | 'partly' | 'none'

/** Returns the proof of an agent's identity, for all of its requests or only for some. */
export function verificationOf({ verified: { none, address, signature } }: Agent): Verification {
  if (address + signature === 0) return 'none'
  if (none > 0) return 'partly'
  return signature >= address ? 'signature' : 'address'
}

/** Names of what `agents.access` does. */
export const FILE_ACCESS: Readonly<Record<string, string>> = {
  allow: 'Allowed',
  block: 'Blocked',
  markdown: 'Markdown only',
  canonical: 'Canonical page',
  challenge: 'Challenge',
  pay: 'Pay',
}

/** Returns the entry of the file that decides for most requests of an agent. Undefined if no entry fits. */
export function fileAccessOf({ access, verified }: Pick<Agent, 'access' | 'verified'>): FileAccess | undefined {
  const proofs = ['none', 'address', 'signature'] as const
  const [usual] = proofs.toSorted((a, b) => verified[b] - verified[a])
  return access[usual!] ?? undefined
}

/** Returns the lines of the configuration file that give an agent an access. */
export const fileLines = (agent: string, access: 'markdown' | 'pay'): string =>
  [
    'agents:',
    '  access:',
    `    - who: { name: ${JSON.stringify(agent)} }`,
    `      do: ${access}`,
    ...(access === 'pay' ? ['      price: USD 0.01'] : []),
  ].join('\n')

const POINTS = 100
const STEPS = [60, 300, 900, 3600, 7200, 21_600, 43_200]

/** Returns the seconds of one point, so that a range has about 100 points for each agent. */
export const stepFor = (rangeMs: number): number => STEPS.find((step) => step * 1000 * POINTS >= rangeMs) ?? 86_400
