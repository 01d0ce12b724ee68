import { InvalidInput, type Issue } from '../../src/core/errors.js'
import type { Rule, Ruleset } from '../../src/core/model/ruleset.js'
import { issuesOf } from '../../src/core/schema.js'
import { addRule, changeRule, patched, removeRule, ruleIn } from '../../src/rules/rulesets/edit.js'
import { PlacedRule, Position, RulePatch } from '../../src/rules/rulesets/rule-input.js'
import { buildTables } from '../../src/rules/rulesets/validate.js'
import { area } from '../http/area.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import type { RulesCheck } from './rule-validation.js'
import { DryRun, WrittenRuleset } from './schemas.js'
import { assertCurrent, type RulesetRepository } from './ruleset-repository.js'

const PATH = '/rulesets/:ruleset_id/rules'

const rows = area(
  { scopes: ['account', 'zone'], access: ACCESS.rulesets, refusal: 'badRuleset' },
  (repository: RulesetRepository, check: RulesCheck) => ({ repository, check }),
)

/**
 * Endpoints for single rules: add, change, move, delete. Each endpoint creates a ruleset version and returns the whole
 * ruleset.
 */
export const rules = rows.endpoints([
  rows.post(PATH, {
    summary: 'Add a rule to a ruleset, at its end or at a position',
    query: DryRun,
    conditional: true,
    body: PlacedRule,
    maxBytes: 1_000_000,
    result: WrittenRuleset,
    handle: async ({ repository, check }, call) =>
      await repository.write(call, call.query.dry_run, async () => {
        await buildTables(call.body, repository.pause)
        const stored = repository.get(call.scope, call.params.ruleset_id)
        const old = stored.value.ruleset
        repository.assertNotOfFile(call.scope, old)
        check.room(old.rules.length + 1)
        const { members, position } = apart(call.body)
        const rule = checked(position, () => check.rule(call, old, members))
        const next = addRule(old, rule, position.value, repository.making())
        const added = next.rules.find(({ id }) => !ruleIn(old, id))
        return {
          ...(await repository.changed(call, stored, next)),
          hints: repository.ruleHints(call.scope, next, added?.id),
        }
      }),
  }),
  rows.patch(`${PATH}/:rule_id`, {
    summary: 'Change or move a rule of a ruleset; members that are not sent stay',
    query: DryRun,
    conditional: true,
    body: RulePatch,
    maxBytes: 1_000_000,
    result: WrittenRuleset,
    handle: async ({ repository, check }, call) =>
      await repository.write(call, call.query.dry_run, async () => {
        const { scope, params, body } = call
        await buildTables(body, repository.pause)
        const stored = repository.get(scope, params.ruleset_id)
        const old = stored.value.ruleset
        repository.assertNotOfFile(call.scope, old)
        const rule = known(old, params.rule_id)
        const { members, position } = apart(body)
        if (members['id'] !== undefined && members['id'] !== rule.id)
          position.issues.push({ pointer: '/id', message: 'is not the rule of the path' })
        const input = checked(position, () => check.rule(call, old, patched(rule, members)))
        const next = changeRule(old, rule.id, input, position.value, repository.making())
        const hints = repository.ruleHints(call.scope, next, rule.id)
        if (next !== old) return { ...(await repository.changed(call, stored, next)), hints }
        assertCurrent(call, old)
        return { ...UNCHANGED, result: old, hints }
      }),
  }),
  rows.delete(`${PATH}/:rule_id`, {
    summary: 'Delete a rule of a ruleset',
    query: DryRun,
    conditional: true,
    result: WrittenRuleset,
    handle: async ({ repository }, call) =>
      await repository.write(call, call.query.dry_run, async () => {
        const stored = repository.get(call.scope, call.params.ruleset_id)
        const old = stored.value.ruleset
        repository.assertNotOfFile(call.scope, old)
        const { id } = known(old, call.params.rule_id)
        return await repository.changed(call, stored, removeRule(old, id, repository.making()))
      }),
  }),
])

/** A write that changes nothing creates no version and no audit entry. */
const UNCHANGED = { writes: [], audit: [] } as const

const positionIssues = issuesOf(Position)

interface Place {
  readonly value: Position | undefined
  readonly issues: Issue[]
}

/** Splits a body into the members of the rule and its position. */
function apart(body: unknown): { members: Readonly<Record<string, unknown>>; position: Place } {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    throw new InvalidInput([{ pointer: '', message: 'must be object' }])
  const { position, ...members } = body as Record<string, unknown>
  const issues =
    position === undefined
      ? []
      : positionIssues(position).map(({ pointer, message }) => ({ pointer: `/position${pointer}`, message }))
  return { members, position: { value: position as Position | undefined, issues } }
}

/** Returns the result of `check`. Throws its issues together with the issues of the position. */
function checked<T>({ issues }: Place, check: () => T): T {
  try {
    const result = check()
    if (issues.length === 0) return result
  } catch (error) {
    if (error instanceof InvalidInput) throw new InvalidInput([...error.issues, ...issues])
    throw error
  }
  throw new InvalidInput(issues)
}

function known(ruleset: Ruleset, ruleId: string): Rule {
  const rule = ruleIn(ruleset, ruleId)
  if (!rule) throw new ApiError('ruleNotFound', undefined, `could not find the rule ${ruleId} in the ruleset`)
  return rule
}
