import { Type } from 'typebox'
import type { Issue } from '../../src/core/errors.js'
import type { Ruleset } from '../../src/core/model/ruleset.js'
import { ENTRY_KIND, kindsOf, phaseNamed, type Level } from '../../src/rules/phases.js'
import { createRuleset, replaceRuleset } from '../../src/rules/rulesets/edit.js'
import { area } from '../http/area.js'
import { ApiResponse } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import type { RulesCheck } from './rule-validation.js'
import {
  DryRun,
  ListQuery,
  NewRuleset,
  RulesetChange,
  RulesetResult,
  RulesetSummary,
  summaryOf,
  WrittenRuleset,
} from './schemas.js'
import { levelOf, type RulesetRepository } from './ruleset-repository.js'

const rows = area(
  { scopes: ['account', 'zone'], access: ACCESS.rulesets, refusal: 'badRuleset' },
  (repository: RulesetRepository, check: RulesCheck) => ({ repository, check }),
)

/** Endpoints for whole rulesets: list, create, read, replace, delete. */
export const wholes = rows.endpoints([
  rows.get('/rulesets', {
    summary: 'List the rulesets of an account or zone',
    query: ListQuery,
    result: Type.Array(RulesetSummary),
    handle({ repository }, { scope, query: { cursor, per_page } }) {
      const all = repository.list(scope)
      const start = cursor === undefined ? 0 : behind(all, idOf(cursor))
      const shown = all.slice(start, start + per_page)
      const last = start + per_page < all.length ? shown.at(-1) : undefined
      const after = last && Buffer.from(last.id).toString('base64url')
      return new ApiResponse(
        shown.map(({ value: { ruleset } }) => summaryOf(ruleset, ruleset)),
        { result_info: { count: shown.length, per_page, ...(after && { cursor: after, cursors: { after } }) } },
      )
    },
  }),
  rows.post('/rulesets', {
    summary: 'Create a ruleset',
    query: DryRun,
    conditional: true,
    body: NewRuleset,
    maxBytes: 5_000_000,
    result: WrittenRuleset,
    further: async ({ check }, call) => [
      ...placementIssues(call.body, levelOf(call.scope)),
      ...(await check.issues(call, call.body, call.body.rules)),
    ],
    handle: async ({ repository, check }, call) =>
      await repository.write(call, call.query.dry_run, async () => {
        const { scope, body } = call
        const level = levelOf(scope)
        repository.assertNotOfFile(scope, body)
        const misplaced = placementIssues(body, level)
        if (misplaced.length === 0 && body.kind === ENTRY_KIND[level] && repository.entryPoint(scope, body.phase))
          throw new ApiError('entryPointExists', '/phase', `the ${level} has an entry point for ${body.phase} already`)
        const rules = await check.rules(call, body, body.rules, misplaced)
        const made = createRuleset({ ...body, rules: rules ?? [] }, repository.making())
        const hints = await repository.hints(scope, made)
        return { ...(await repository.created(call, made)), hints }
      }),
  }),
  rows.get('/rulesets/:ruleset_id', {
    summary: 'Read a ruleset with its rules',
    result: RulesetResult,
    handle: ({ repository }, { scope, params }) =>
      repository.shown(scope, repository.get(scope, params.ruleset_id).value.ruleset),
  }),
  rows.put('/rulesets/:ruleset_id', {
    summary: 'Replace the description and the rules of a ruleset; what is not sent stays',
    query: DryRun,
    conditional: true,
    body: RulesetChange,
    maxBytes: 5_000_000,
    result: WrittenRuleset,
    async further({ repository, check }, call) {
      const old = repository.get(call.scope, call.params.ruleset_id).value.ruleset
      return [...changedFixed(old, call.body, FIXED), ...(await check.issues(call, old, call.body.rules))]
    },
    handle: async ({ repository, check }, call) =>
      await repository.write(call, call.query.dry_run, async () => {
        const { scope, params, body } = call
        const stored = repository.get(scope, params.ruleset_id)
        const old = stored.value.ruleset
        repository.assertNotOfFile(scope, old)
        const rules = await check.rules(call, old, body.rules, changedFixed(old, body, FIXED))
        const { description } = body
        const change = { ...(description !== undefined && { description }), ...(rules && { rules }) }
        const next = replaceRuleset(old, change, repository.making())
        const hints = rules ? await repository.hints(scope, next) : []
        return { ...(await repository.changed(call, stored, next)), hints }
      }),
  }),
  rows.delete('/rulesets/:ruleset_id', {
    summary: 'Delete a ruleset with all of its versions; refused while execute rules run it',
    query: DryRun,
    conditional: true,
    status: 204,
    handle: async ({ repository }, call) =>
      await repository.write(
        call,
        call.query.dry_run,
        async () => await repository.removed(call, repository.get(call.scope, call.params.ruleset_id)),
      ),
  }),
])

const FIXED = ['id', 'name', 'kind', 'phase'] as const

/** Returns an issue for each of these members that is sent with another value than the current one. */
export const changedFixed = (
  old: Partial<Ruleset>,
  body: Partial<RulesetChange>,
  members: readonly (typeof FIXED)[number][],
): Issue[] =>
  members
    .filter((name) => body[name] !== undefined && body[name] !== old[name])
    .map((name) => ({ pointer: `/${name}`, message: `cannot be changed; it is ${old[name]}` }))

function placementIssues({ kind, phase: name }: Partial<Pick<Ruleset, 'kind' | 'phase'>>, level: Level): Issue[] {
  const phase = name === undefined ? undefined : phaseNamed(name)
  if (!phase) return []
  const kinds = kindsOf(phase, level)
  if (kinds.length === 0) return [{ pointer: '/phase', message: `${name} has no rulesets of ${level}s` }]
  if (kind === undefined || kinds.includes(kind)) return []
  return [{ pointer: '/kind', message: `must be one of ${kinds.join(', ')} for ${name} in ${level}s` }]
}

/** Decodes a cursor to its id. */
function idOf(cursor: string): string {
  const id = Buffer.from(cursor, 'base64url').toString()
  if (!/^[0-9a-f]{32}$/.test(id)) throw new ApiError('badQuery', '/cursor', 'is not one that a list has given')
  return id
}

/** Returns the index of the first ruleset after an id, by binary search; the list is in the order of ids. */
function behind(all: readonly { readonly id: string }[], id: string): number {
  let low = 0
  let high = all.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if ((all[middle]?.id ?? '') <= id) low = middle + 1
    else high = middle
  }
  return low
}
