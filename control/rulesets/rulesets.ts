import { Type } from 'typebox'
import { InvalidInput, type Issue } from '../../src/core/errors.js'
import type { Ruleset } from '../../src/core/model/ruleset.js'
import { ENTRY_KIND, kindsOf, phaseNamed, type Level } from '../../src/rules/phases.js'
import { createRuleset, replaceRuleset } from '../../src/rules/rulesets/edit.js'
import { rulesHints } from '../../src/rules/rulesets/hints.js'
import { endpoint, ApiResponse, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/auth/permissions.js'
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

const scopes = ['account', 'zone'] as const

/** Endpoints for whole rulesets: list, create, read, replace, delete. */
export function wholes(shelf: RulesetRepository, check: RulesCheck): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/rulesets',
      scopes,
      permissions: ACCESS.rulesets.read,
      summary: 'List the rulesets of an account or zone',
      query: ListQuery,
      result: Type.Array(RulesetSummary),
      handle({ scope, query: { cursor, per_page } }) {
        const all = shelf.list(scope)
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
    endpoint({
      method: 'post',
      path: '/rulesets',
      scopes,
      permissions: ACCESS.rulesets.write,
      summary: 'Create a ruleset',
      query: DryRun,
      body: NewRuleset,
      maxBytes: 5_000_000,
      result: WrittenRuleset,
      refusal: 'badRuleset',
      handle: async (call) =>
        await shelf.write(call, call.query.dry_run, () => {
          const { scope, body } = call
          const level = levelOf(scope)
          assertPlacement(body, level)
          if (body.kind === ENTRY_KIND[level] && shelf.entryPoint(scope, body.phase))
            throw new ApiError(
              'entryPointExists',
              '/phase',
              `the ${level} has an entry point for ${body.phase} already`,
            )
          const rules = check.rules(call, body, body.rules)
          const made = createRuleset({ ...body, rules: rules ?? [] }, shelf.making())
          return { ...shelf.created(call, made), hints: rulesHints(made.rules, made.phase) }
        }),
    }),
    endpoint({
      method: 'get',
      path: '/rulesets/:ruleset_id',
      scopes,
      permissions: ACCESS.rulesets.read,
      summary: 'Read a ruleset with its rules',
      result: RulesetResult,
      handle: ({ scope, params }) => shelf.get(scope, params.ruleset_id).value.ruleset,
    }),
    endpoint({
      method: 'put',
      path: '/rulesets/:ruleset_id',
      scopes,
      permissions: ACCESS.rulesets.write,
      summary: 'Replace the description and the rules of a ruleset; what is not sent stays',
      query: DryRun,
      body: RulesetChange,
      maxBytes: 5_000_000,
      result: WrittenRuleset,
      refusal: 'badRuleset',
      handle: async (call) =>
        await shelf.write(call, call.query.dry_run, () => {
          const { scope, params, body } = call
          const stored = shelf.get(scope, params.ruleset_id)
          const old = stored.value.ruleset
          assertUnchanged(old, body, ['id', 'name', 'kind', 'phase'])
          const rules = check.rules(call, old, body.rules)
          const { description } = body
          const change = { ...(description !== undefined && { description }), ...(rules && { rules }) }
          const next = replaceRuleset(old, change, shelf.making())
          return { ...shelf.changed(call, stored, next), hints: rules ? rulesHints(next.rules, next.phase) : [] }
        }),
    }),
    endpoint({
      method: 'delete',
      path: '/rulesets/:ruleset_id',
      scopes,
      permissions: ACCESS.rulesets.write,
      summary: 'Delete a ruleset with all of its versions; refused while execute rules run it',
      query: DryRun,
      status: 204,
      handle: async (call) =>
        await shelf.write(call, call.query.dry_run, () =>
          shelf.removed(call, shelf.get(call.scope, call.params.ruleset_id)),
        ),
    }),
  ]
}

/** Throws with a pointer for each member that is sent with another value than the current one. */
export function assertUnchanged(
  old: Partial<Ruleset>,
  body: RulesetChange,
  members: readonly ('id' | 'name' | 'kind' | 'phase')[],
): void {
  const issues = members
    .filter((name) => body[name] !== undefined && body[name] !== old[name])
    .map((name) => ({ pointer: `/${name}`, message: `cannot be changed; it is ${old[name]}` }))
  if (issues.length > 0) throw new InvalidInput(issues)
}

function assertPlacement({ kind, phase: name }: Pick<Ruleset, 'kind' | 'phase'>, level: Level): void {
  const phase = phaseNamed(name)
  const kinds = phase ? kindsOf(phase, level) : []
  if (kinds.includes(kind)) return
  const issue: Issue =
    kinds.length === 0
      ? { pointer: '/phase', message: `${name} has no rulesets of ${level}s` }
      : { pointer: '/kind', message: `must be one of ${kinds.join(', ')} for ${name} in ${level}s` }
  throw new InvalidInput([issue])
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
