import { Type, type Static } from 'typebox'
import { orNull } from '../../src/core/schema.js'
import { area } from '../http/area.js'
import { holds, mayUse, type GrantTarget } from '../http/auth/access.js'
import type { Caller, ControlDeps } from '../http/context.js'
import { PERMISSIONS } from '../http/permissions.js'

const Place = Type.Object({
  id: Type.String(),
  groups: Type.Array(Type.String(), { description: 'Names of permissions; a single `*` for all.' }),
})

const rows = area<Pick<ControlDeps, 'config'>>({ scopes: ['daemon'], access: { read: [], write: [] } })

/** Permissions of the caller in each account and zone. */
export const permissions = rows.endpoints([
  rows.get('/user/edged/permissions', {
    isOwn: true,
    summary: "List the accounts and zones that the caller's token can see, with the permissions that it has there",
    result: Type.Object({
      accounts: Type.Array(Place),
      zones: Type.Array(Place),
      token: Type.Object({ name: Type.String(), expires_on: orNull(Type.String({ description: 'Null: never.' })) }),
    }),
    handle({ config }, { caller, credentials }) {
      const { accounts, zones } = config()
      const known = new Map<string, string[]>()
      const groups = (place: GrantTarget): string[] => {
        const found = groupsOf(caller, place)
        const key = found.join('\n')
        // Most zones have the same permissions.
        const same = known.get(key)
        if (!same) known.set(key, found)
        return same ?? found
      }
      const places = <T>(all: readonly T[], idOf: (one: T) => string, target: (one: T) => GrantTarget) =>
        all.flatMap((one): Static<typeof Place>[] =>
          mayUse(caller, [], target(one)) ? [{ id: idOf(one), groups: groups(target(one)) }] : [],
        )
      return {
        accounts: places(
          accounts,
          ({ id }) => id,
          ({ id }) => ({ account: id }),
        ),
        zones: places(
          zones,
          ({ id }) => id,
          ({ id, account }) => ({ account, zone: id }),
        ),
        token: { name: caller.name, expires_on: credentials?.expires_on ?? null },
      }
    },
  }),
])

function groupsOf({ grants }: Caller, place: GrantTarget): string[] {
  const isLimited = grants.some(({ effect }) => effect === 'deny')
  if (!isLimited && holds(grants, '*', place)) return ['*']
  return PERMISSIONS.filter((name) => holds(grants, name, place))
}
