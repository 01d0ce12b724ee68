import { createHash } from 'node:crypto'
import { Type } from 'typebox'
import { orNull } from '../../src/core/schema.js'
import { area } from '../http/area.js'
import type { ControlDeps } from '../http/context.js'
import { ACCOUNT_ONLY as scopes } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { page, paging } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'

const GRANTS = [
  'analytics',
  'billing',
  'cache_purge',
  'dns',
  'dns_records',
  'lb',
  'logs',
  'organization',
  'ssl',
  'waf',
  'zone_settings',
  'zones',
] as const

const Grant = Type.Object({ read: Type.Boolean(), write: Type.Boolean() })
const Role = Type.Object({
  id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  permissions: Type.Record(Type.String(), Grant),
})
const Member = Type.Object({
  id: Type.String(),
  email: orNull(Type.String({ description: 'Of the first legacy key of the configuration.' })),
  status: Type.Literal('accepted'),
  roles: Type.Array(Role),
  policies: Type.Array(Type.Object({})),
  user: Type.Object({
    id: Type.String(),
    email: orNull(Type.String()),
    first_name: orNull(Type.String()),
    last_name: orNull(Type.String()),
    two_factor_authentication_enabled: Type.Boolean(),
  }),
})

/** The role of the operator of this server. */
const OWNER = {
  id: idOf('role', 'owner'),
  name: 'Super Administrator - All Privileges',
  description: 'The operator of this server, who can do everything. Tokens have the permissions of others.',
  permissions: Object.fromEntries(GRANTS.map((name) => [name, { read: true, write: true }])),
}

const rows = area({ scopes, access: ACCESS.members }, ({ config }: Pick<ControlDeps, 'config'>) => {
  const owner = (accountId: string) => {
    const [first] = config().legacy_keys
    const email = first?.email ?? null
    const user = {
      id: idOf('user', 'owner'),
      email,
      first_name: null,
      last_name: null,
      two_factor_authentication_enabled: false,
    }
    return { id: idOf('member', accountId), email, status: 'accepted' as const, roles: [OWNER], policies: [], user }
  }
  return { owner }
})

/** The members of an account and their roles: one member, because edged has tokens and no users. */
export const members = rows.endpoints([
  rows.get('/members', {
    summary: 'List the members of an account: the operator of this server',
    query: Type.Object({
      ...paging(),
      order: Type.Optional(Type.Enum(['user.first_name', 'user.last_name', 'user.email', 'status'])),
      direction: Type.Optional(Type.Enum(['asc', 'desc'])),
      status: Type.Optional(Type.Enum(['accepted', 'pending', 'rejected'])),
    }),
    result: Type.Array(Member),
    handle: ({ owner }, { scope, query }) =>
      page((query.status ?? 'accepted') === 'accepted' ? [owner(scope.id)] : [], query, (one) => one),
  }),
  rows.get('/members/:member_id', {
    summary: 'Read a member of an account',
    result: Member,
    handle({ owner }, { scope, params }) {
      const found = owner(scope.id)
      if (found.id !== params.member_id) throw new ApiError('memberNotFound')
      return found
    },
  }),
  rows.get('/roles', {
    summary: 'List the roles of an account: the role of the operator',
    query: Type.Object(paging()),
    result: Type.Array(Role),
    handle: (_, { query }) => page([OWNER], query, (one) => one),
  }),
  rows.get('/roles/:role_id', {
    summary: 'Read a role of an account',
    result: Role,
    handle(_, { params }) {
      if (params.role_id !== OWNER.id) throw new ApiError('roleNotFound')
      return OWNER
    },
  }),
])

/** Returns an id of 32 hexadecimal digits that is the same on every server. */
function idOf(kind: string, name: string): string {
  return createHash('sha256').update(`${kind} ${name}`).digest('hex').slice(0, 32)
}
