import { Type } from 'typebox'
import { orNull } from '../../src/core/schema.js'
import { endpoint, ApiResponse, type Call, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'

const User = Type.Object({
  id: Type.String(),
  email: orNull(Type.String()),
  username: Type.String(),
  first_name: orNull(Type.String()),
  last_name: orNull(Type.String()),
  telephone: orNull(Type.String()),
  country: orNull(Type.String()),
  zipcode: orNull(Type.String()),
  two_factor_authentication_enabled: Type.Boolean(),
  two_factor_authentication_locked: Type.Boolean(),
  suspended: Type.Boolean(),
  has_pro_zones: Type.Boolean(),
  has_business_zones: Type.Boolean(),
  has_enterprise_zones: Type.Boolean(),
  organizations: Type.Array(Type.Unknown()),
  betas: Type.Array(Type.String()),
})

const Verified = Type.Object({
  id: Type.String(),
  status: Type.Enum(['active', 'disabled', 'expired']),
  not_before: Type.Optional(Type.String()),
  expires_on: Type.Optional(Type.String()),
})

/** The caller's identity. */
export function user(): Endpoint[] {
  return [
    endpoint({
      method: 'get',
      path: '/user',
      scopes: ['daemon'],
      permissions: [],
      summary: 'Read the caller',
      result: User,
      handle: ({ caller: { id, name, email } }) => ({
        id,
        email: email ?? null,
        username: name,
        first_name: null,
        last_name: null,
        telephone: null,
        country: null,
        zipcode: null,
        two_factor_authentication_enabled: false,
        two_factor_authentication_locked: false,
        suspended: false,
        has_pro_zones: false,
        has_business_zones: false,
        has_enterprise_zones: false,
        organizations: [],
        betas: [],
      }),
    }),
    ...(['daemon', 'account'] as const).map((scope) =>
      endpoint({
        method: 'get',
        path: scope === 'daemon' ? '/user/tokens/verify' : '/tokens/verify',
        scopes: [scope],
        permissions: [],
        verifies: true,
        summary: "Tell the state of the caller's own token",
        result: Verified,
        handle: verify,
      }),
    ),
  ]
}

function verify({ caller, credentials }: Call) {
  if (caller.type !== 'token' || !credentials) throw new ApiError('unverifiedToken')
  const { status, not_before, expires_on } = credentials
  const result = {
    id: caller.id,
    status,
    ...(not_before !== undefined && { not_before }),
    ...(expires_on !== undefined && { expires_on }),
  }
  const message =
    status === 'active' ? 'This API Token is valid and active' : `This API Token is ${status} and cannot be used`
  return new ApiResponse(result, { messages: [{ code: 10000, message, type: null }] })
}
