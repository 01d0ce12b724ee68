import { of, type Mutant } from './mutant.js'

/** Guards of permissions and of the age of data. */
export const ACCESS: readonly Mutant[] = [
  ...of('src/daemon/admin/admin.ts', 'test/daemon/admin/hosts.test.ts', [
    `if (issue !== undefined) return`,
    'if (false) return',
  ]),
  ...of('control/rulesets/ruleset-repository.ts', 'test/control/rulesets/conditions.test.ts', [
    `    assertCurrent(actor, before)\n`,
    '',
  ]),
  ...of('src/rules/engine/run.ts', 'test/rules/action-effects.test.ts', [
    `if (this.exchange.settle()) this.context`,
    'if (false) this.context',
  ]),
  ...of(
    'control/http/auth/policies.ts',
    'test/control/tokens/tokens-zones.test.ts',
    [`if (giver.some(({ effect }) => effect === 'deny')) return false`, ''],
    [`.every((grant) => grant.permissions.every((permission) => mayGive(permission, grant)))`, '.every(() => true)'],
  ),
  ...of(
    'control/tokens/index.ts',
    'test/control/tokens/token-limits.test.ts',
    [`if (excess) throw`, 'if (false && excess) throw'],
    [`if (!mayGive(call, token.policies) || excessOf(call.credentials, token))`, 'if (false)'],
  ),
  ...of('control/http/auth/access.ts', 'test/control/http/auth.test.ts', [
    `touching.every(({ effect }) => effect === 'allow')`,
    'true',
  ]),
  ...of(
    'control/http/auth/authenticate.ts',
    'test/control/http/auth.test.ts',
    [`if (status !== 'active') throw`, 'if (false) throw'],
    [`not_before !== undefined && Date.parse(not_before) > now`, 'false'],
    [`token.expires_on !== undefined && Date.parse(token.expires_on) <= now`, 'false'],
    [`if (!pair || !sameHash(pair.hash, hash))`, 'if (!pair)'],
  ),
  ...of(
    'control/http/server/scope.ts',
    'test/control/http/auth.test.ts',
    [`if (!mayUse(caller, [], { account: id }))`, 'if (false)'],
    [`if (!mayUse(caller, permissions, placeOf({ scope, accountId })))`, 'if (false)'],
  ),
  ...of('control/http/json-limits.ts', 'test/control/http/request-bodies.test.ts', [
    `if (FORBIDDEN.has(key)) issues`,
    'if (false) issues',
  ]),
  ...of(
    'control/http/auth/failed-attempts.ts',
    'test/control/http/wrong-credentials.test.ts',
    [`if ((own?.failures ?? 0) + (others?.failures ?? 0) < MAX_FAILURES) return`, 'return'],
    [`if (!address.includes(':') || address.includes('.')) return address`, 'return address'],
  ),
  ...of('control/http/server/client-address.ts', 'test/control/http/wrong-credentials.test.ts', [
    `visitorAddress(peer, ctx.get('x-forwarded-for') || undefined, trusted)`,
    "visitorAddress(peer, ctx.get('x-forwarded-for') || undefined, () => true)",
  ]),
  ...of(
    'control/http/json-body.ts',
    'test/control/http/request-bodies.test.ts',
    [`depth: MAX_DEPTH`, 'depth: Infinity'],
    [`members: 100_000`, 'members: Infinity'],
  ),
  ...of(
    'control/logpush/jobs.ts',
    'test/control/logpush/destinations.test.ts',
    [`if (!(await tokens().valid(challenge, scope, destination)))`, 'if (false)'],
    [`if (moved) await assertOwned(scope, destination, body.ownership_challenge)`, ''],
  ),
  ...of('control/logpush/ownership-token.ts', 'test/control/logpush/destinations.test.ts', [
    `.every(([name, value]) => payload[name] === value)`,
    '.length > 0',
  ]),
  ...of(
    'src/daemon/workers/outbound.ts',
    'test/workers/runtime-outbound.test.ts',
    [`!served || served.zone.accountId !== this.#scope.id`, '!served'],
    [`...(hasNamedOrigin && { agent: protocol === 'https:' ? this.#agents.https : this.#agents.http }),`, ''],
  ),

  // What a disabled or changed job still reads.
  ...of(
    'pipelines/logpush/job-loop.ts',
    'test/pipelines/logpush/jobs.test.ts',
    [`return redo !== undefined || limit === undefined || reader.place.position < limit`, 'return true'],
    [`|| (control.changed && left.length === 0)`, ''],
  ),
]
