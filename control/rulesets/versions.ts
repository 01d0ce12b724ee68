import { Type } from 'typebox'
import type { StoredRuleset } from '../../src/core/model/ruleset.js'
import type { Stored } from '../../src/core/store.js'
import { area } from '../http/area.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import { DryRun, RulesetResult, RulesetSummary, summaryOf } from './schemas.js'
import type { RulesetRepository } from './ruleset-repository.js'

const PATH = '/rulesets/:ruleset_id/versions'

const rows = area<RulesetRepository>({ scopes: ['account', 'zone'], access: ACCESS.rulesets })

/** Versions of a ruleset: the latest, and as many older ones as the configuration retains. */
export const versions = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the versions of a ruleset, oldest first',
    result: Type.Array(RulesetSummary),
    handle: (repository, { scope, params }) => versionList(repository.get(scope, params.ruleset_id)),
  }),
  rows.get(`${PATH}/:ruleset_version`, {
    summary: 'Read a version of a ruleset with its rules',
    result: RulesetResult,
    handle: (repository, { scope, params }) =>
      repository.version(repository.get(scope, params.ruleset_id), params.ruleset_version),
  }),
  rows.delete(`${PATH}/:ruleset_version`, {
    summary: 'Delete an older version of a ruleset',
    query: DryRun,
    conditional: true,
    status: 204,
    handle: async (repository, call) =>
      await repository.write(
        call,
        call.query.dry_run,
        async () =>
          await repository.versionRemoved(
            call,
            repository.get(call.scope, call.params.ruleset_id),
            call.params.ruleset_version,
          ),
      ),
  }),
  rows.get(`${PATH}/:ruleset_version/by_tag/:rule_tag`, {
    scopes: ['account'],
    summary: 'Read the rules of one category of a version of a managed ruleset',
    result: RulesetResult,
    handle(repository, { scope, params }) {
      const ruleset = repository.version(repository.get(scope, params.ruleset_id), params.ruleset_version)
      if (ruleset.kind !== 'managed') throw new ApiError('badRuleset', undefined, 'the ruleset is not a managed one')
      const rules = ruleset.rules.filter(({ categories }) => categories?.includes(params.rule_tag))
      return { ...ruleset, rules }
    },
  }),
])

/** Returns every stored version, oldest first, without rules. */
export const versionList = ({ value: { ruleset, older } }: Stored<StoredRuleset>): RulesetSummary[] =>
  [...older, ruleset].map((version) => summaryOf(ruleset, version))
