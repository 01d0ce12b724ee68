import { randomBytes } from 'node:crypto'
import { InvalidInput, type Issue } from '../../src/core/errors.js'
import { newId, newUuid } from '../../src/core/ids.js'
import { CREDENTIAL, TOKEN, type Credential, type Token } from '../../src/core/model/token.js'
import { accessIssues, type FlatAccess } from '../../src/core/permissions.js'
import { DAEMON, type Scope } from '../../src/core/scope.js'
import type { Store } from '../../src/core/store.js'
import { systemClock, type Clock } from '../../src/core/clock.js'
import { audited } from '../resources/audit.js'
import { sha256 } from '../http/auth/config-index.js'
import type { Call } from '../http/endpoint.js'
import { flatPolicies } from '../http/auth/policies.js'

/** The author of a change, for the audit record. */
export type Actor = Pick<Call, 'caller' | 'requestId' | 'source'>

/** A token and its secret. The secret is returned once and never stored. */
export interface NewToken {
  readonly token: Token
  readonly value: string
}

/** Returns 240 random bits in the 40 characters that clients expect of a token. */
export const newSecret = (): string => randomBytes(30).toString('base64url')

/** Returns the record that finds a token by its secret. */
export const credentialOf = (scope: Scope, id: string): Credential => ({
  token_id: id,
  ...(scope.type === 'account' && { account_id: scope.id }),
})

/** Stores a new token of users, or of the account `scope`. */
export async function addToken(
  store: Store,
  clock: Clock,
  maker: Actor,
  token: Pick<Token, 'name' | 'policies' | 'expires_on' | 'not_before' | 'condition'>,
  scope: Scope = DAEMON,
): Promise<NewToken> {
  const value = newSecret()
  const now = new Date(clock.now()).toISOString()
  const after: Token = {
    id: newId(),
    hash: sha256(value),
    status: 'active',
    issued_on: now,
    modified_on: now,
    ...token,
  }
  const { id, hash } = after
  await store.batch(
    ...audited(clock, maker, { kind: TOKEN, scope, id, after }, [
      { kind: CREDENTIAL, scope: DAEMON, id: hash, value: credentialOf(scope, id), ifVersion: 0 },
    ]),
  )
  return { token: after, value }
}

/**
 * Creates an API token from the command line, in a store that no daemon has open. Throws {@link InvalidInput} if
 * permissions are unknown, ids are malformed or `expires_on` is not in the future.
 */
export async function createToken(
  store: Store,
  { name, expires_on, ...access }: FlatAccess & { readonly name: string; readonly expires_on?: string },
  clock: Clock = systemClock,
): Promise<NewToken> {
  const issues: Issue[] = [...accessIssues(access), ...timeIssues({ expires_on }, clock.now())]
  if (name.length === 0 || name.length > 120)
    issues.push({ pointer: '/name', message: 'must have 1 to 120 characters' })
  if (access.permissions.length === 0) issues.push({ pointer: '/permissions', message: 'must name at least one' })
  if (issues.length > 0) throw new InvalidInput(issues)
  const maker: Actor = {
    caller: { type: 'token', id: 'command-line', name: 'edged token create', grants: [] },
    requestId: newUuid(),
  }
  return await addToken(store, clock, maker, {
    name,
    policies: flatPolicies(access),
    ...(expires_on !== undefined && { expires_on }),
  })
}

/** Returns issues with the times between which a token is valid. */
export function timeIssues(
  times: { readonly expires_on?: string | undefined; readonly not_before?: string | undefined },
  now: number,
): Issue[] {
  const { expires_on, not_before } = times
  const [start, end] = [Date.parse(not_before ?? ''), Date.parse(expires_on ?? '')]
  if (expires_on !== undefined && !(end > now))
    return [{ pointer: '/expires_on', message: 'must be a time to come, as in 2030-01-31T00:00:00Z' }]
  // The schema accepts leap seconds, which cannot be compared.
  if (not_before !== undefined && Number.isNaN(start))
    return [{ pointer: '/not_before', message: 'must be a time, as in 2030-01-31T00:00:00Z' }]
  return start >= end ? [{ pointer: '/not_before', message: 'must be before expires_on' }] : []
}
