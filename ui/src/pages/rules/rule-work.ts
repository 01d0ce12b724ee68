import { useQueryClient } from '@tanstack/react-query'
import { messageOf, patch, post, put, remove } from '../../api/client.ts'
import { useToast } from '../../parts/toast.tsx'
import { nameOf, plainRule, positionAt, type Params, type Rule, type Ruleset } from './rule.ts'

interface Stored {
  readonly phase: string
  /** Undefined: the phase has no rules yet. */
  readonly ruleset: Ruleset | undefined
  /** Undefined: a new one. */
  readonly rule: Rule | undefined
  readonly body: Params
  readonly position: Params | undefined
}

/** Changes of the rules of one account or zone. */
export interface RuleWork {
  readonly store: (stored: Stored) => Promise<void>
  /** Sends all members of a rule as they were. */
  readonly putBack: (rulesetId: string, rule: Rule) => Promise<void>
  /** Moves a rule to a place, counted from 0. */
  readonly move: (ruleset: Ruleset, from: number, to: number) => Promise<void>
  readonly enable: (ruleset: Ruleset, rules: readonly Rule[], on: boolean) => Promise<void>
  readonly remove: (ruleset: Ruleset, rules: readonly Rule[]) => Promise<void>
  /** Replaces all rules, as an earlier version had them. */
  readonly restore: (ruleset: Ruleset, rules: readonly Rule[]) => Promise<void>
}

/** Returns the changes. Each but `store` says what happened, with a button that takes it back. */
export function useRuleWork(base: string): RuleWork {
  const client = useQueryClient()
  const toast = useToast()
  const pathOf = (rulesetId: string, ruleId = ''): string =>
    `${base}/rulesets/${rulesetId}/rules${ruleId === '' ? '' : `/${ruleId}`}`
  const reread = async (): Promise<void> =>
    await client.invalidateQueries({ predicate: ({ queryKey: [path] }) => String(path).includes('/rulesets') })
  const doing = async (text: string, work: () => Promise<unknown>, undo: () => Promise<unknown>): Promise<void> => {
    try {
      await work()
      toast(text, {
        undo: async () => {
          await undo()
          await reread()
        },
      })
    } catch (error) {
      toast(messageOf(error), { kind: 'bad' })
    }
    await reread()
  }
  const replaceAll = async (ruleset: Ruleset, rules: readonly Rule[]): Promise<unknown> =>
    await put(`${base}/rulesets/${ruleset.id}`, {
      rules: rules.map((rule) => ({ id: rule.id, ...plainRule(rule) })),
    })
  return {
    store: async ({ phase, ruleset, rule, body, position }) => {
      const placed = { ...body, ...(position && { position }) }
      if (!ruleset) await put(`${base}/rulesets/phases/${phase}/entrypoint`, { rules: [body] })
      else if (rule) await patch(pathOf(ruleset.id, rule.id), placed)
      else await post(pathOf(ruleset.id), placed)
    },
    putBack: async (rulesetId, rule) => {
      await patch(pathOf(rulesetId, rule.id), { action_parameters: {}, ...plainRule(rule) })
      await reread()
    },
    move: async (ruleset, from, to) => {
      const { rules = [] } = ruleset
      const rule = rules[from]
      if (!rule || from === to || to < 0 || to >= rules.length) return
      const place = async (at: number): Promise<unknown> =>
        await patch(pathOf(ruleset.id, rule.id), { position: positionAt(at) })
      const name = nameOf(rule, from)
      await doing(
        `${name} is now rule ${to + 1} of ${rules.length}.`,
        () => place(to),
        () => place(from),
      )
    },
    enable: async (ruleset, rules, on) => {
      const all = async (enabled: boolean): Promise<void> => {
        for (const { id } of rules) await patch(pathOf(ruleset.id, id), { enabled })
      }
      const changed = rules.filter(({ enabled = true }) => enabled !== on)
      const text = `${namesOf(ruleset, changed)} ${changed.length === 1 ? 'is' : 'are'} ${on ? 'on' : 'off'}.`
      rules = changed
      await doing(
        text,
        () => all(on),
        () => all(!on),
      )
    },
    remove: async (ruleset, rules) => {
      const before = ruleset.rules ?? []
      const all = async (): Promise<void> => {
        for (const { id } of rules) await remove(pathOf(ruleset.id, id))
      }
      const back = async (): Promise<void> => {
        for (const rule of rules)
          await post(pathOf(ruleset.id), { ...plainRule(rule), position: positionAt(before.indexOf(rule)) })
      }
      await doing(`${namesOf(ruleset, rules)} ${rules.length === 1 ? 'is' : 'are'} deleted.`, all, back)
    },
    restore: async (ruleset, rules) => {
      await doing(
        'The earlier version is restored.',
        () => replaceAll(ruleset, rules),
        () => replaceAll(ruleset, ruleset.rules ?? []),
      )
    },
  }
}

const namesOf = (ruleset: Ruleset, rules: readonly Rule[]): string =>
  rules.length === 1 ? nameOf(rules[0]!, ruleset.rules!.indexOf(rules[0]!)) : `${rules.length} rules`
