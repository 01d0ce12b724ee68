import { account, DAEMON, zone, type Scope } from '../../../src/core/scope.js'
import { mayUse, notAllowed, type GrantTarget } from '../auth/access.js'
import { configIndex, type ConfigIndex } from '../auth/config-index.js'
import { unroutable } from './envelope.js'
import { ApiError } from '../errors.js'
import type { Caller, ControlDeps, EndpointInfo, ApiMiddleware } from '../context.js'

/**
 * Finds the account or zone of the path and checks the caller's permissions for it. A scope that the caller cannot see
 * gets the same response as a scope that does not exist, unless the caller can see all scopes.
 */
export function locate({ config }: Pick<ControlDeps, 'config'>): ApiMiddleware {
  return async (ctx, next) => {
    const { endpoint, caller, scopeType } = ctx.state
    if (endpoint && caller && scopeType) {
      const params: Readonly<Record<string, string>> = ctx.params
      const found = place(configIndex(config()), scopeType, params, caller, ctx.path)
      ctx.state.scope = found.scope
      ctx.state.accountId = found.accountId
      assertAllowed(endpoint, caller, found)
    }
    await next()
  }
}

interface Found {
  readonly scope: Scope
  readonly accountId: string
}

function place(
  { accounts, zones }: ConfigIndex,
  type: Scope['type'],
  params: Readonly<Record<string, string>>,
  caller: Caller,
  path: string,
): Found {
  if (type === 'daemon') return { scope: DAEMON, accountId: '' }
  const id = params[`${type}_id`] ?? ''
  if (!/^[0-9a-f]{32}$/.test(id)) throw unroutable(path)
  if (type === 'account') {
    if (!mayUse(caller, [], { account: id })) throw notAllowed([])
    if (!accounts.has(id)) throw unroutable(path)
    return { scope: account(id), accountId: id }
  }
  const accountId = zones.get(id)?.account
  if (!mayUse(caller, [], { account: accountId ?? '', zone: id })) throw new ApiError('notVisible')
  if (accountId === undefined) throw unroutable(path)
  return { scope: zone(id), accountId }
}

/** Returns where the caller needs permissions. */
export function placeOf({ scope, accountId }: Found): GrantTarget {
  if (scope.type === 'daemon') return 'daemon'
  return scope.type === 'zone' ? { account: accountId, zone: scope.id } : { account: accountId }
}

function assertAllowed(
  { permissions, isForAccountOfBody }: EndpointInfo,
  caller: Caller,
  { scope, accountId }: Found,
): void {
  if (isForAccountOfBody) return
  if (!mayUse(caller, permissions, placeOf({ scope, accountId }))) throw notAllowed(permissions)
}
