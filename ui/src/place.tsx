import { createContext, use, type ReactNode } from 'react'
import type { Account, Permissions, Zone } from './api/types.ts'
import { useList, useRead, type Read } from './api/queries.ts'
import { useAddress } from './address.tsx'

/** The account and zone that the page is about, with the beginnings of their API paths. */
export interface Place {
  readonly account: Account
  /** Undefined on pages of an account. */
  readonly zone: Zone | undefined
  readonly ofAccount: string
  /** Pages of zones are only drawn for a zone, so the path of none is never used. */
  readonly ofZone: string
  /** Whether the token has a group of permissions here, by its public name, for example `Zone Settings Write`. */
  readonly may: (group: string) => boolean
}

const PlaceContext = createContext<Place | undefined>(undefined)

export function usePlace(): Place {
  const place = use(PlaceContext)
  if (!place) throw new Error('no account or zone is chosen')
  return place
}

export const PlaceProvider = ({ place, children }: { place: Place; children: ReactNode }) => (
  <PlaceContext value={place}>{children}</PlaceContext>
)

/** Zones that the picker offers and that names in addresses are searched in. */
export const useZones = (): Read<readonly Zone[]> => useList<Zone>('/zones?order=name')
export const useAccounts = (): Read<readonly Account[]> => useList<Account>('/accounts')
export const usePermissions = (): Read<Permissions> => useRead<Permissions>('/user/edged/permissions')

const ID = /^[0-9a-f]{32}$/

/** Returns what the address names. `undefined` while it is read, `null` if the token sees nothing of this name. */
export function useNamedPlace(): { place: Place | null | undefined; read: Read<unknown> } {
  const { scope, place: name } = useAddress()
  const permissions = usePermissions()
  const isZone = scope === 'z'
  const zone = useRead<readonly Zone[] | Zone>(isZone ? pathOfZone(name) : undefined)
  const accounts = useAccounts()
  const read = isZone ? zone : accounts
  if (permissions.value === undefined) return { place: undefined, read: permissions }
  if (isZone) {
    const found = Array.isArray(zone.value) ? (zone.value[0] as Zone | undefined) : (zone.value as Zone | undefined)
    if (found) return { place: placeOf(permissions.value, found.account, found), read }
    return { place: zone.value || isRefused(zone.status) ? null : undefined, read }
  }
  const account = accounts.value?.find(({ id, name: own }) => id === name || own === name)
  if (account) return { place: placeOf(permissions.value, account, undefined), read }
  return { place: accounts.value || isRefused(accounts.status) ? null : undefined, read }
}

/** Returns a zone as a place, with what the token may do there. Undefined until the permissions are read. */
export function usePlaceOf(account: Account, zone: Zone | undefined): Place | undefined {
  const permissions = usePermissions().value
  return permissions && zone && placeOf(permissions, account, zone)
}

const isRefused = (status: number | undefined): boolean => status !== undefined && status >= 400 && status < 500

const pathOfZone = (name: string): string =>
  ID.test(name) ? `/zones/${name}` : `/zones?name=${encodeURIComponent(name)}&per_page=1`

function placeOf(permissions: Permissions, account: Account, zone: Zone | undefined): Place {
  const own = permissions.accounts.find(({ id }) => id === account.id)?.groups ?? []
  const ofZone = zone ? (permissions.zones.find(({ id }) => id === zone.id)?.groups ?? []) : []
  const groups = new Set([...own, ...ofZone])
  return {
    account,
    zone,
    ofAccount: `/accounts/${account.id}`,
    ofZone: `/zones/${zone?.id}`,
    may: (group) => groups.has('*') || groups.has(group),
  }
}
