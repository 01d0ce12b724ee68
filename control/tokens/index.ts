import { Type } from 'typebox'
import { assertNoIssues, type Issue } from '../../src/core/errors.js'
import { newId } from '../../src/core/ids.js'
import { CREDENTIAL, TOKEN, type Token, type TokenPolicy } from '../../src/core/model/token.js'
import { DAEMON } from '../../src/core/scope.js'
import { strict } from '../../src/core/schema.js'
import type { Stored } from '../../src/core/store.js'
import { KeyedEdits } from '../resources/keyed-edits.js'
import { audited, auditOf } from '../resources/audit.js'
import { statusOf } from '../http/auth/authenticate.js'
import { configIndex, sha256 } from '../http/auth/config-index.js'
import { endpoint, type Call, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, paging, whole } from '../http/paging.js'
import { PERMISSION_NAMES, permissionId } from '../http/auth/permissions.js'
import { grantsOf, resourceIssues, within } from '../http/auth/policies.js'
import { QuotaReservation } from '../resources/quota.js'
import type { ControlDeps } from '../http/context.js'
import { addToken, newSecret, timeIssues } from './token-repository.js'
import { CreatedResult, CreateInput, TokenResult, UpdateInput } from './schemas.js'

/** Maximum number of tokens in the store. */
const MAX_TOKENS = 500

const SCOPES = ['com.cloudflare.api.account', 'com.cloudflare.api.account.zone'] as const

const READ = ['API Tokens Read', 'API Tokens Write'] as const
const WRITE = ['API Tokens Write'] as const

/** API tokens in the store. Those of the configuration are not listed and cannot be changed here. */
export function tokens(deps: ControlDeps): Endpoint[] {
  const context = contextOf(deps)
  return [
    listTokens(context),
    listPermissionGroups(),
    readToken(context),
    createToken(context),
    replaceToken(context),
    rollToken(context),
    removeToken(context),
  ]
}

type Context = ReturnType<typeof contextOf>

/** Returns what the endpoints share. */
function contextOf({ config, store, clock }: ControlDeps) {
  const edits = new KeyedEdits()
  const room = new QuotaReservation()

  const stored = (id: string): Stored<Token> => {
    const found = store.get(TOKEN, DAEMON, id)
    if (!found) throw new ApiError('noSuchToken')
    return found
  }

  const furtherIssues = (body: Partial<CreateInput>): Issue[] => [
    ...read({ policies: [], ...body }).issues,
    ...timeIssues(body, clock.now()),
  ]

  /** Returns the policies as stored. Throws if they are not valid, or exceed those of the caller. */
  const policiesOf = ({ caller }: Pick<Call, 'caller'>, body: CreateInput): TokenPolicy[] => {
    assertNoIssues(furtherIssues(body))
    const { policies } = read(body)
    if (!within(caller.grants, grantsOf(policies), configIndex(config()))) throw new ApiError('notYours', '/policies')
    return policies
  }
  return { store, clock, stored, room, furtherIssues, policiesOf, config, edits }
}

function listTokens({ store, clock }: Context): Endpoint {
  return endpoint({
    method: 'get',
    path: '/user/tokens',
    scopes: ['daemon'],
    permissions: READ,
    summary: 'List the API tokens in the store',
    query: Type.Object({
      ...paging(),
      direction: Type.Enum(['asc', 'desc'], { default: 'asc' }),
      include_expired: Type.Boolean({ default: true }),
    }),
    result: Type.Array(TokenResult),
    handle({ query }) {
      const now = clock.now()
      const listed = [...store.list(TOKEN, DAEMON)]
        .map(({ value }) => value)
        .filter((token) => query.include_expired || statusOf(token, now) !== 'expired')
      listed.sort((a, b) => (a.issued_on < b.issued_on ? -1 : 1))
      return page(query.direction === 'asc' ? listed : listed.toReversed(), query, (token) => shown(token, now))
    },
  })
}

function listPermissionGroups(): Endpoint {
  return endpoint({
    method: 'get',
    path: '/user/tokens/permission_groups',
    scopes: ['daemon'],
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

function readToken({ clock, stored }: Context): Endpoint {
  return endpoint({
    method: 'get',
    path: '/user/tokens/:token_id',
    scopes: ['daemon'],
    permissions: READ,
    summary: 'Read an API token',
    result: TokenResult,
    handle: ({ params }) => shown(stored(params.token_id).value, clock.now()),
  })
}

function createToken({ store, clock, room, furtherIssues, policiesOf }: Context): Endpoint {
  return endpoint({
    method: 'post',
    path: '/user/tokens',
    scopes: ['daemon'],
    permissions: WRITE,
    summary: 'Make an API token; its maker cannot give more than it has',
    body: CreateInput,
    result: CreatedResult,
    further: ({ body }) => furtherIssues(body),
    async handle(call) {
      const { name, expires_on, not_before } = call.body
      const policies = policiesOf(call, call.body)
      const input = {
        name,
        policies,
        ...(expires_on !== undefined && { expires_on }),
        ...(not_before !== undefined && { not_before }),
      }
      const places = MAX_TOKENS - store.count(TOKEN, DAEMON)
      const { token, value } = await room.take(
        '',
        places,
        'tokenQuota',
        async () => await addToken(store, clock, call, input),
      )
      return { ...shown(token, clock.now()), value }
    },
  })
}

function replaceToken({ store, clock, stored, policiesOf }: Context): Endpoint {
  return endpoint({
    method: 'put',
    path: '/user/tokens/:token_id',
    scopes: ['daemon'],
    permissions: WRITE,
    summary: 'Replace the name, policies, times and status of an API token; the secret stays',
    body: UpdateInput,
    result: TokenResult,
    async handle(call) {
      const { name, expires_on, not_before, status } = call.body
      const { id } = stored(call.params.token_id)
      const policies = policiesOf(call, call.body)
      const after = await store.change(
        TOKEN,
        DAEMON,
        id,
        (old) =>
          old && {
            id,
            name,
            hash: old.hash,
            status: status ?? old.status,
            policies,
            issued_on: old.issued_on,
            modified_on: new Date(clock.now()).toISOString(),
            ...(expires_on !== undefined && { expires_on }),
            ...(not_before !== undefined && { not_before }),
          },
        auditOf(clock, call, { kind: TOKEN, scope: DAEMON, id }),
      )
      if (!after) throw new ApiError('noSuchToken')
      return shown(after.value, clock.now())
    },
  })
}

function rollToken({ config, store, clock, stored }: Context): Endpoint {
  return endpoint({
    method: 'put',
    path: '/user/tokens/:token_id/value',
    scopes: ['daemon'],
    permissions: WRITE,
    summary: 'Give an API token a new secret; the old one is void at once',
    body: Type.Object({}, strict),
    result: Type.String({ description: 'The token itself. It is shown only once.' }),
    async handle(call) {
      const { id, version, value: before } = stored(call.params.token_id)
      if (!within(call.caller.grants, grantsOf(before.policies), configIndex(config()))) throw new ApiError('notYours')
      const secret = newSecret()
      const after = { ...before, hash: sha256(secret), modified_on: new Date(clock.now()).toISOString() }
      await store.batch(
        ...audited(clock, call, { kind: TOKEN, scope: DAEMON, id, before, after, ifVersion: version }, [
          { kind: CREDENTIAL, scope: DAEMON, id: before.hash, value: undefined },
          { kind: CREDENTIAL, scope: DAEMON, id: after.hash, value: { token_id: id }, ifVersion: 0 },
        ]),
      )
      return secret
    },
  })
}

function removeToken({ store, clock, edits, stored }: Context): Endpoint {
  return endpoint({
    method: 'delete',
    path: '/user/tokens/:token_id',
    scopes: ['daemon'],
    permissions: WRITE,
    summary: 'Remove an API token; it is void at once',
    result: Type.Object({ id: Type.String() }),
    async handle(call) {
      const id = call.params.token_id
      await edits.run(id, async () => {
        const { version, value: before } = stored(id)
        await store.batch(
          ...audited(clock, call, { kind: TOKEN, scope: DAEMON, id, before, ifVersion: version }, [
            { kind: CREDENTIAL, scope: DAEMON, id: before.hash, value: undefined },
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

function shown(token: Token, now: number): TokenResult {
  const { id, name, issued_on, modified_on, not_before, expires_on, policies } = token
  return {
    id,
    name,
    status: statusOf(token, now),
    issued_on,
    modified_on,
    ...(not_before !== undefined && { not_before }),
    ...(expires_on !== undefined && { expires_on }),
    policies: policies.map(({ id, effect, permissions, resources }) => ({
      id,
      effect,
      permission_groups: permissions.map((name) => ({ id: permissionId(name), name })),
      resources,
    })),
  }
}
