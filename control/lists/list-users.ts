import { Type } from 'typebox'
import { mayUse } from '../http/auth/access.js'
import type { ControlDeps } from '../http/context.js'
import type { Call } from '../http/endpoint.js'
import type { ListRepository } from './list-repository.js'

/** A rule that uses a list, as the API returns it. */
export const ListUser = Type.Object({
  ruleset_id: Type.String(),
  rule_id: Type.String(),
  kind: Type.String({ description: 'Kind of the ruleset: `zone` or `root` for an entry point, or `custom`.' }),
  phase: Type.String(),
  name: Type.String({ description: 'Description of the rule. Can be empty.' }),
  zone: Type.Union([Type.Object({ id: Type.String(), name: Type.String() }), Type.Null()], {
    description: 'Null for a rule of the account.',
  }),
})

/** Returns the rules that use a list: of the account, and of its zones that the caller sees. */
export function listUsers(
  { config }: ControlDeps,
  repository: ListRepository,
  { scope, caller, accountId }: Pick<Call, 'scope' | 'caller' | 'accountId'>,
  id: string,
) {
  const { name } = repository.get(scope, id)
  const names = new Map(config().zones.map((zone) => [zone.id, zone.name]))
  return repository
    .users(accountId, name)
    .filter((user) => user.scope.type === 'account' || mayUse(caller, [], { account: accountId, zone: user.scope.id }))
    .map((user) => ({
      ruleset_id: user.ruleset,
      rule_id: user.rule,
      kind: user.home.kind,
      phase: user.home.phase,
      name: user.name,
      zone:
        user.scope.type === 'account' ? null : { id: user.scope.id, name: names.get(user.scope.id) ?? user.scope.id },
    }))
}
