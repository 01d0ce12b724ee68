import { Type } from 'typebox'
import { orNull } from '../../src/core/schema.js'
import { mayUse } from '../http/auth/access.js'
import { configIndex } from '../http/auth/config-index.js'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, paging } from '../http/paging.js'
import { UNKNOWN_TIME, type ControlConfig, type ControlDeps } from '../http/context.js'

const Account = Type.Object({
  id: Type.String(),
  name: Type.String(),
  type: Type.Literal('standard'),
  settings: Type.Object({ enforce_twofactor: Type.Boolean() }),
  created_on: Type.String(),
})

const Membership = Type.Object({
  id: Type.String(),
  account: Account,
  api_access_enabled: orNull(Type.Boolean()),
  permissions: Type.Object({}),
  roles: Type.Array(Type.String()),
  status: Type.Literal('accepted'),
})

const direction = Type.Enum(['asc', 'desc'], { default: 'asc' })

/** Accounts of the configuration, and the caller's membership in them. */
export function accounts({ config }: Pick<ControlDeps, 'config'>): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/accounts',
      scopes: ['daemon'],
      permissions: [],
      summary: 'List the accounts that the token sees',
      query: Type.Object({ ...paging(), name: Type.Optional(Type.String()), direction }),
      result: Type.Array(Account),
      handle({ caller, query }) {
        const seen = config().accounts.filter(
          ({ id, name }) => mayUse(caller, [], { account: id }) && (query.name === undefined || name === query.name),
        )
        return page(query.direction === 'asc' ? seen : seen.toReversed(), query, account)
      },
    }),
    endpoint({
      method: 'get',
      path: '',
      scopes: ['account'],
      permissions: [],
      summary: 'Read an account',
      result: Account,
      handle: ({ scope }) =>
        account(configIndex(config()).accounts.get(scope.id) ?? { id: scope.id, name: '', rules: {} }),
    }),
    endpoint({
      method: 'get',
      path: '/memberships',
      scopes: ['daemon'],
      permissions: [],
      summary: 'List the accounts that the token sees, as memberships',
      query: Type.Object({
        ...paging(),
        'account.name': Type.Optional(Type.String()),
        name: Type.Optional(Type.String()),
        order: Type.Optional(Type.Enum(['id', 'account.name', 'status'])),
        status: Type.Optional(Type.Enum(['accepted', 'pending', 'rejected'])),
        direction,
      }),
      result: Type.Array(Membership),
      handle({ caller, query }) {
        const wanted = query['account.name'] ?? query.name
        const seen = config().accounts.filter(
          ({ id, name }) =>
            mayUse(caller, [], { account: id }) &&
            (wanted === undefined || name === wanted) &&
            (query.status ?? 'accepted') === 'accepted',
        )
        const key = query.order === 'account.name' ? 'name' : 'id'
        const sorted = seen.toSorted((a, b) => (a[key] < b[key] ? -1 : 1))
        return page(query.direction === 'asc' ? sorted : sorted.toReversed(), query, membership)
      },
    }),
    endpoint({
      method: 'get',
      path: '/memberships/:membership_id',
      scopes: ['daemon'],
      permissions: [],
      summary: 'Read a membership, whose id is the id of its account',
      result: Membership,
      handle({ caller, params }) {
        const of = configIndex(config()).accounts.get(params.membership_id)
        if (!of || !mayUse(caller, [], { account: of.id })) throw new ApiError('notVisible')
        return membership(of)
      },
    }),
  ]
}

const account = ({ id, name }: ControlConfig['accounts'][number]) => ({
  id,
  name,
  type: 'standard' as const,
  settings: { enforce_twofactor: false },
  created_on: UNKNOWN_TIME,
})

const membership = (of: ControlConfig['accounts'][number]) => ({
  id: of.id,
  account: account(of),
  api_access_enabled: true,
  permissions: {},
  roles: [],
  status: 'accepted' as const,
})
