import { patch, post, put, remove } from '../../api/client.ts'
import { useRead, useWork } from '../../api/queries.ts'
import { usePlace } from '../../place.tsx'

/** What rules of the zone can do with an agent. */
export type RuleAccess = 'allow' | 'block' | 'managed_challenge'

interface Rule {
  readonly id: string
  readonly action: string
  readonly expression: string
  readonly description?: string
  readonly enabled: boolean
  readonly version?: string
  readonly last_updated?: string
  readonly ref?: string
}

interface Listed {
  readonly id: string
  readonly kind: string
  readonly phase: string
}

interface Ruleset {
  readonly id: string
  readonly rules?: readonly Rule[]
}

const PHASE = 'http_request_firewall_custom'
const VERBS = { block: 'Block', managed_challenge: 'Challenge' } as const

const expressionFor = (agent: string): string => `edged.agent.name eq "${agent.replace(/["\\]/g, '\\$&')}"`

/** The access of agents by custom rules of the zone. */
export interface Access {
  /** What a rule of the zone that names this agent alone does. Undefined without one. */
  readonly ruleOf: (agent: string) => Rule | undefined
  /** Changes the access of an agent. Returns what takes the change back, and the rule. */
  readonly change: (input: { agent: string; to: RuleAccess }) => Promise<Change>
  /** The rules are read: a change can be made. */
  readonly isReady: boolean
  readonly mayChange: boolean
}

export interface Change {
  readonly undo: () => Promise<unknown>
  readonly rule: string | undefined
}

export function useAccess(): Access {
  const { ofZone, may } = usePlace()
  // The entry point itself is an error until the first rule is there.
  const all = useRead<readonly Listed[]>(`${ofZone}/rulesets`).value
  const own = all?.find(({ kind, phase }) => kind === 'zone' && phase === PHASE)
  const { value } = useRead<Ruleset>(own && `${ofZone}/rulesets/${own.id}`)
  const rules = value?.rules ?? []
  const ruleOf = (agent: string): Rule | undefined =>
    rules.find(({ expression, enabled }) => enabled && expression === expressionFor(agent))
  const work = useWork(
    async ({ agent, to }: { agent: string; to: RuleAccess }) =>
      await changed(ofZone, { ruleset: value, old: ruleOf(agent), agent, to }),
    [`${ofZone}/rulesets`, `${ofZone}/edged/agents`],
  )
  // Taking a change back reads the rules again in the same way.
  const undo = useWork(async (take: () => Promise<unknown>) => await take(), [`${ofZone}/rulesets`])
  return {
    ruleOf,
    change: async (input) => {
      const change = await work.run(input)
      return { ...change, undo: async () => await undo.run(change.undo) }
    },
    isReady: all !== undefined && (own === undefined || value !== undefined),
    mayChange: may('Account WAF Write') || may('Account Rulesets Write'),
  }
}

async function changed(
  ofZone: string,
  { ruleset, old, agent, to }: { ruleset: Ruleset | undefined; old: Rule | undefined; agent: string; to: RuleAccess },
): Promise<Change> {
  const rulesOf = (id: string): string => `${ofZone}/rulesets/${id}/rules`
  if (old && ruleset) {
    const path = `${rulesOf(ruleset.id)}/${old.id}`
    const before = written(old)
    if (to === 'allow') {
      const index = ruleset.rules!.indexOf(old) + 1
      await remove(path)
      return { rule: undefined, undo: async () => await post(rulesOf(ruleset.id), { ...before, position: { index } }) }
    }
    await patch(path, { ...before, action: to, description: `${VERBS[to]} ${agent}` })
    return { rule: old.id, undo: async () => await patch(path, before) }
  }
  if (to === 'allow') return { rule: undefined, undo: async () => await Promise.resolve() }
  const rule = { action: to, description: `${VERBS[to]} ${agent}`, expression: expressionFor(agent) }
  const made = ruleset
    ? await post<Ruleset>(rulesOf(ruleset.id), { ...rule, position: { index: 1 } })
    : await put<Ruleset>(`${ofZone}/rulesets/phases/${PHASE}/entrypoint`, { rules: [rule] })
  const known = new Set(ruleset?.rules?.map(({ id }) => id))
  const id = made.rules!.find((one) => !known.has(one.id))!.id
  return { rule: id, undo: async () => await remove(`${rulesOf(made.id)}/${id}`) }
}

/** Members of a rule that the API takes back. */
const written = ({ version: _version, last_updated: _time, id: _id, ...rest }: Rule) => rest
