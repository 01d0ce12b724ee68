import { Type } from 'typebox'
import type { Ruleset, StoredRuleset } from '../../src/core/model/ruleset.js'
import type { Scope } from '../../src/core/scope.js'
import type { Stored } from '../../src/core/store.js'
import { ENTRY_KIND, phaseNamed, type Phase } from '../../src/rules/phases.js'
import { createRuleset, replaceRuleset } from '../../src/rules/rulesets/edit.js'
import { area } from '../http/area.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import type { RulesCheck } from './rule-validation.js'
import { DryRun, RulesetChange, RulesetResult, RulesetSummary, WrittenRuleset } from './schemas.js'
import { levelOf, type Decided, type RulesetRepository, type Writer } from './ruleset-repository.js'
import { versionList } from './versions.js'
import { changedFixed } from './rulesets.js'

const PATH = '/rulesets/phases/:ruleset_phase/entrypoint'

const rows = area(
  { scopes: ['account', 'zone'], access: ACCESS.rulesets, refusal: 'badRuleset' },
  (repository: RulesetRepository, check: RulesCheck) => {
    const existing = (scope: Scope, name: string): Stored<StoredRuleset> => {
      const found = repository.entryPoint(scope, phaseOf(name).name)
      if (found) return found
      const where = `in the ${name} phase at the ${levelOf(scope)} level`
      throw new ApiError('noEntryPoint', undefined, `could not find entrypoint ruleset ${where}`)
    }
    /** A new name is ignored, not rejected: clients put an entry point without knowing its name. */
    const put = async (actor: Writer, phase: Phase, body: RulesetChange): Promise<Decided> => {
      const level = levelOf(actor.scope)
      if (!phase.levels.includes(level))
        throw new ApiError('badRuleset', undefined, `${phase.name} has no rulesets of ${level}s`)
      const fixed = { kind: ENTRY_KIND[level], phase: phase.name }
      repository.assertNotOfFile(actor.scope, fixed)
      const stored = repository.entryPoint(actor.scope, phase.name)
      const old = stored?.value.ruleset
      const changed = changedFixed(old ?? fixed, body, old ? ['id', 'kind', 'phase'] : ['kind', 'phase'])
      const rules = await check.rules(actor, fixed, body.rules, changed)
      const { name, description } = body
      const given = { ...(description !== undefined && { description }), ...(rules && { rules }) }
      if (!stored || !old) {
        const made: Ruleset = createRuleset({ ...fixed, ...given, name: name ?? 'default' }, repository.making())
        const hints = await repository.hints(actor.scope, made)
        return { ...(await repository.created(actor, made)), hints }
      }
      const next = replaceRuleset(old, given, repository.making())
      const hints = rules ? await repository.hints(actor.scope, next) : []
      return { ...(await repository.changed(actor, stored, next)), hints }
    }
    return { existing, repository, check, put }
  },
)

/** Entry points of phases: read, and put, which creates a missing one. */
export const entryPoints = rows.endpoints([
  rows.get(PATH, {
    summary: 'Read the entry point of a phase',
    result: RulesetResult,
    handle: ({ existing, repository }, { scope, params }) =>
      repository.shown(scope, existing(scope, params.ruleset_phase).value.ruleset),
  }),
  rows.put(PATH, {
    summary: 'Replace the entry point of a phase, or create it',
    query: DryRun,
    conditional: true,
    body: RulesetChange,
    maxBytes: 5_000_000,
    result: WrittenRuleset,
    async further({ check }, call) {
      const fixed = { kind: ENTRY_KIND[levelOf(call.scope)], phase: phaseOf(call.params.ruleset_phase).name }
      return [
        ...changedFixed(fixed, call.body, ['kind', 'phase']),
        ...(await check.issues(call, fixed, call.body.rules)),
      ]
    },
    handle: async ({ repository, put }, call) =>
      await repository.write(call, call.query.dry_run, () => put(call, phaseOf(call.params.ruleset_phase), call.body)),
  }),
  rows.get(`${PATH}/versions`, {
    summary: 'List the versions of the entry point of a phase',
    result: Type.Array(RulesetSummary),
    handle: ({ existing }, { scope, params }) => versionList(existing(scope, params.ruleset_phase)),
  }),
  rows.get(`${PATH}/versions/:ruleset_version`, {
    summary: 'Read a version of the entry point of a phase',
    result: RulesetResult,
    handle: ({ repository, existing }, { scope, params }) =>
      repository.version(existing(scope, params.ruleset_phase), params.ruleset_version),
  }),
])

function phaseOf(name: string): Phase {
  const phase = phaseNamed(name)
  if (!phase) throw new ApiError('unknownPhase', undefined, `unknown phase ${JSON.stringify(name)}`)
  return phase
}
