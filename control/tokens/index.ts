import { isDeepStrictEqual } from 'node:util'
import { Type } from 'typebox'
import { assertNoIssues, type Issue } from '../../src/core/errors.js'
import { newId } from '../../src/core/ids.js'
import { CREDENTIAL, TOKEN, TOKEN_USES, type Token, type TokenPolicy } from '../../src/core/model/token.js'
import { DAEMON, type Scope } from '../../src/core/scope.js'
import { pointerToken, strict } from '../../src/core/schema.js'
import type { Store, Stored } from '../../src/core/store.js'
import { KeyedEdits } from '../resources/keyed-edits.js'
import { audited, auditOf } from '../resources/audit.js'
import { statusOf } from '../http/auth/authenticate.js'
import { configIndex, sha256 } from '../http/auth/config-index.js'
import { endpoint, type Call, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, paging, whole } from '../http/paging.js'
import { PERMISSION_NAMES, permissionId } from '../http/permissions.js'
import { conditionIssues } from '../http/auth/token-condition.js'
import { excessOf } from '../http/auth/token-limits.js'
import { foreignResources, grantsIn, resourceIssues, within } from '../http/auth/policies.js'
import { QuotaReservation } from '../resources/quota.js'
import type { ControlDeps } from '../http/context.js'
import { addToken, credentialOf, newSecret, timeIssues } from './token-repository.js'
import { CreatedResult, CreateInput, ReadResult, TokenResult, UpdateInput } from './schemas.js'

/** Maximum number of tokens of all users, and of one account. */
const MAX_TOKENS = 500

const SCOPES = ['com.cloudflare.api.account', 'com.cloudflare.api.account.zone'] as const

/** Tokens of users, and tokens that an account owns: these are limited to it. */
const OWNERS = [
  {
    scopes: ['daemon'],
    path: '/user/tokens',
    readers: ['API Tokens Read', 'API Tokens Write'],
    writers: ['API Tokens Write'],
  },
  {
    scopes: ['account'],
    path: '/tokens',
    readers: ['Account API Tokens Read', 'Account API Tokens Write'],
    writers: ['Account API Tokens Write'],
  },
] as const

type Owner = (typeof OWNERS)[number]

/** API tokens in the store. Tokens of the configuration are not listed and cannot be changed here. */
export function tokens(deps: ControlDeps): Endpoint[] {
  const services = servicesOf(deps)
  return OWNERS.flatMap((owner) => [
    listTokens(services, owner),
    listPermissionGroups(owner),
    readToken(services, owner),
    createToken(services, owner),
    replaceToken(services, owner),
    rollToken(services, owner),
    removeToken(services, owner),
  ])
}

type Author = Pick<Call, 'caller' | 'credentials' | 'scope'>

type Services = ReturnType<typeof servicesOf>

/** Returns the dependencies that these endpoints share. */
function servicesOf({ config, store, clock }: ControlDeps) {
  const edits = new KeyedEdits()
  const room = new QuotaReservation()

  const stored = (scope: Scope, id: string): Stored<Token> => {
    const found = store.get(TOKEN, scope, id)
    if (!found) throw new ApiError('noSuchToken')
    return found
  }

  const furtherIssues = ({ scope }: Pick<Call, 'scope'>, body: Partial<CreateInput>): Issue[] => [
    ...read({ policies: [], ...body }).issues,
    ...(scope.type === 'account' ? foreignIssues(scope.id, body) : []),
    ...timeIssues(body, clock.now()),
    ...conditionIssues(body.condition),
  ]

  /** Returns issues for resources that do not belong to the account. */
  const foreignIssues = (id: string, { policies = [] }: Partial<CreateInput>): Issue[] => {
    const { zones } = configIndex(config())
    return policies.flatMap(({ resources }, index) =>
      foreignResources(resources, id, (zone) => zones.get(zone)?.account).map((name) => ({
        pointer: `/policies/${index}/resources/${pointerToken(name)}`,
        message: 'does not belong to the account that owns the token',
      })),
    )
  }

  const mayGive = ({ caller, scope }: Author, policies: readonly TokenPolicy[]): boolean =>
    within(caller.grants, grantsIn(scope, policies), configIndex(config()))

  /** Returns the policies as stored. Throws if they are not valid, or the token would exceed the caller. */
  const policiesOf = (call: Author, body: CreateInput): TokenPolicy[] => {
    assertNoIssues(furtherIssues(call, body))
    const { policies } = read(body)
    if (!mayGive(call, policies)) throw new ApiError('notYours', '/policies')
    const excess = excessOf(call.credentials, body)
    if (excess) throw new ApiError('notYours', excess.pointer, excess.message)
    return policies
  }

  /** Throws if a stored token exceeds the caller, who may then not change it. */
  const assertWithin = (call: Author, token: Token): void => {
    if (!mayGive(call, token.policies) || excessOf(call.credentials, token))
      throw new ApiError('notYours', undefined, 'a token cannot change one that may do more than itself')
  }

  const storedWithin = (call: Author, id: string): Stored<Token> => {
    const found = stored(call.scope, id)
    assertWithin(call, found.value)
    return found
  }
  return { store, clock, stored, storedWithin, assertWithin, room, furtherIssues, policiesOf, edits }
}

function listTokens({ store, clock }: Services, { scopes, path, readers }: Owner): Endpoint {
  return endpoint({
    method: 'get',
    path,
    scopes,
    permissions: readers,
    summary: 'List the API tokens in the store',
    query: Type.Object({
      ...paging(),
      direction: Type.Enum(['asc', 'desc'], { default: 'asc' }),
      include_expired: Type.Boolean({ default: true }),
    }),
    result: Type.Array(ReadResult),
    handle({ query, scope }) {
      const now = clock.now()
      const listed = [...store.list(TOKEN, scope)]
        .map(({ value }) => value)
        .filter((token) => query.include_expired || statusOf(token, now) !== 'expired')
      listed.sort((a, b) => (a.issued_on < b.issued_on ? -1 : 1))
      return page(query.direction === 'asc' ? listed : listed.toReversed(), query, (token) => ({
        ...shown(token, now),
        ...lastUse(store, scope, token.id),
      }))
    },
  })
}

function listPermissionGroups({ scopes, path }: Owner): Endpoint {
  return endpoint({
    method: 'get',
    path: `${path}/permission_groups`,
    scopes,
    permissions: [],
    summary: 'List what a token can be permitted',
    query: Type.Object({ name: Type.Optional(Type.String()), scope: Type.Optional(Type.String()) }),
    result: Type.Array(
      Type.Object({ id: Type.String(), name: Type.String(), scopes: Type.Array(Type.Enum([...SCOPES])) }),
    ),
    handle({ query: { name: wanted, scope } }) {
      const groups = [...PERMISSION_NAMES].map(([id, name]) => ({ id, name, scopes: [...SCOPES] }))
      return whole(
        groups.filter(
          ({ name, scopes }) =>
            (wanted === undefined || name === wanted) && (scope === undefined || scopes.some((one) => one === scope)),
        ),
      )
    },
  })
}

function readToken({ store, clock, stored }: Services, { scopes, path, readers }: Owner): Endpoint {
  return endpoint({
    method: 'get',
    path: `${path}/:token_id`,
    scopes,
    permissions: readers,
    summary: 'Read an API token',
    result: ReadResult,
    handle: ({ scope, params }) => {
      const token = stored(scope, params.token_id).value
      return { ...shown(token, clock.now()), ...lastUse(store, scope, token.id) }
    },
  })
}

function createToken(
  { store, clock, room, furtherIssues, policiesOf }: Services,
  { scopes, path, writers }: Owner,
): Endpoint {
  return endpoint({
    method: 'post',
    path,
    scopes,
    permissions: writers,
    summary: 'Make an API token; its maker cannot give more than it has',
    body: CreateInput,
    result: CreatedResult,
    further: (call) => furtherIssues(call, call.body),
    async handle(call) {
      const { name, expires_on, not_before, condition } = call.body
      const policies = policiesOf(call, call.body)
      const input = {
        name,
        policies,
        ...(expires_on !== undefined && { expires_on }),
        ...(not_before !== undefined && { not_before }),
        ...(condition !== undefined && { condition }),
      }
      const places = MAX_TOKENS - store.count(TOKEN, call.scope)
      const { token, value } = await room.take(
        call.scope.id,
        places,
        'tokenQuota',
        async () => await addToken(store, clock, call, input, call.scope),
      )
      return { ...shown(token, clock.now()), value }
    },
  })
}

function replaceToken(
  { store, clock, stored, assertWithin, policiesOf }: Services,
  { scopes, path, writers }: Owner,
): Endpoint {
  return endpoint({
    method: 'put',
    path: `${path}/:token_id`,
    scopes,
    permissions: writers,
    summary: 'Replace the name, policies, times and status of an API token; the secret stays',
    body: UpdateInput,
    result: TokenResult,
    async handle(call) {
      const { name, expires_on, not_before, condition, status } = call.body
      const { scope } = call
      const { id } = stored(scope, call.params.token_id)
      const policies = policiesOf(call, call.body)
      const after = await store.change(
        TOKEN,
        scope,
        id,
        (old) => {
          if (!old) return undefined
          assertWithin(call, old)
          return {
            id,
            name,
            hash: old.hash,
            status: status ?? old.status,
            policies: withKnownIds(policies, old.policies),
            issued_on: old.issued_on,
            modified_on: new Date(clock.now()).toISOString(),
            ...(expires_on !== undefined && { expires_on }),
            ...(not_before !== undefined && { not_before }),
            ...(condition !== undefined && { condition }),
          }
        },
        auditOf(clock, call, { kind: TOKEN, scope, id }),
      )
      if (!after) throw new ApiError('noSuchToken')
      return shown(after.value, clock.now())
    },
  })
}

/**
 * Returns policies with the ids of equal policies in `before`. So a PUT of policies that were read before changes
 * nothing.
 */
function withKnownIds(policies: readonly TokenPolicy[], before: readonly TokenPolicy[]): TokenPolicy[] {
  const left = [...before]
  return policies.map((policy) => {
    const at = left.findIndex(({ id }, index) => isDeepStrictEqual({ ...policy, id }, left[index]))
    const [known] = at < 0 ? [] : left.splice(at, 1)
    return known ?? policy
  })
}

function rollToken({ store, clock, storedWithin }: Services, { scopes, path, writers }: Owner): Endpoint {
  return endpoint({
    method: 'put',
    path: `${path}/:token_id/value`,
    scopes,
    permissions: writers,
    summary: 'Replace the secret of an API token; the old one is invalid immediately',
    body: Type.Object({}, strict),
    bodyOptional: true,
    result: Type.String({ description: 'The token itself. It is shown only once.' }),
    async handle(call) {
      const { scope } = call
      const { id, version, value: before } = storedWithin(call, call.params.token_id)
      const secret = newSecret()
      const after = { ...before, hash: sha256(secret), modified_on: new Date(clock.now()).toISOString() }
      await store.batch(
        ...audited(clock, call, { kind: TOKEN, scope, id, before, after, ifVersion: version }, [
          { kind: CREDENTIAL, scope: DAEMON, id: before.hash, value: undefined },
          { kind: CREDENTIAL, scope: DAEMON, id: after.hash, value: credentialOf(scope, id), ifVersion: 0 },
        ]),
      )
      return secret
    },
  })
}

function removeToken({ store, clock, edits, storedWithin }: Services, { scopes, path, writers }: Owner): Endpoint {
  return endpoint({
    method: 'delete',
    path: `${path}/:token_id`,
    scopes,
    permissions: writers,
    summary: 'Remove an API token; it is invalid immediately',
    result: Type.Object({ id: Type.String() }),
    async handle(call) {
      const { scope } = call
      const id = call.params.token_id
      await edits.run(id, async () => {
        const { version, value: before } = storedWithin(call, id)
        await store.batch(
          ...audited(clock, call, { kind: TOKEN, scope, id, before, ifVersion: version }, [
            { kind: CREDENTIAL, scope: DAEMON, id: before.hash, value: undefined },
            { kind: TOKEN_USES, scope, id, value: undefined },
          ]),
        )
      })
      return { id }
    },
  })
}

function read({ policies }: Pick<CreateInput, 'policies'>): {
  policies: TokenPolicy[]
  issues: Issue[]
} {
  const issues: Issue[] = []
  const stored = policies.map(({ effect, permission_groups: groups, resources }, index): TokenPolicy => {
    const at = `/policies/${index}`
    issues.push(...resourceIssues(resources, `${at}/resources`))
    const permissions = groups.map(({ id, name }, place) => {
      const known = PERMISSION_NAMES.get(id ?? permissionId(name ?? ''))
      if (known === undefined)
        issues.push({
          pointer: `${at}/permission_groups/${place}`,
          message: `is not one of permission_groups: ${id ?? name}`,
        })
      return known ?? ''
    })
    return { id: newId(), effect, permissions, resources }
  })
  return { policies: stored, issues }
}

function lastUse(store: Store, scope: Scope, id: string) {
  const use = store.get(TOKEN_USES, scope, id)?.value
  return use && { last_used_on: use.at }
}

function shown(token: Token, now: number): TokenResult {
  const { id, name, issued_on, modified_on, not_before, expires_on, condition, policies } = token
  return {
    id,
    name,
    status: statusOf(token, now),
    issued_on,
    modified_on,
    ...(not_before !== undefined && { not_before }),
    ...(expires_on !== undefined && { expires_on }),
    ...(condition !== undefined && { condition }),
    policies: policies.map(({ id, effect, permissions, resources }) => ({
      id,
      effect,
      permission_groups: permissions.map((name) => ({ id: permissionId(name), name })),
      resources,
    })),
    edged_source: null,
  }
}
