import { ApiError, type ErrorKind } from '../../http/errors.js'
import type { ControlConfig } from '../../http/context.js'

/** How a request names a zone, if it does. */
export interface NamedZone {
  readonly zone_id?: string | undefined
  readonly zone_name?: string | undefined
}

type Zone = ControlConfig['zones'][number]

/**
 * The zone of an account that a host name belongs to: the one that is named, which must cover the host, or the one with
 * the longest name that does. Throws with a pointer below `at`.
 */
export function zoneOf(
  zones: readonly Zone[],
  accountId: string,
  host: string,
  { zone_id, zone_name }: NamedZone,
  { at, refusal, member }: { readonly at: string; readonly refusal: ErrorKind; readonly member: string },
): Zone {
  const own = zones.filter((zone) => zone.account === accountId)
  const covering = own.filter(({ name }) => host === name.toLowerCase() || host.endsWith(`.${name.toLowerCase()}`))
  const named = zone_id !== undefined || zone_name !== undefined
  if (!named) {
    const [longest] = covering.sort((a, b) => b.name.length - a.name.length)
    if (!longest) throw new ApiError(refusal, `${at}/${member}`, `no zone of the account covers ${host}`)
    return longest
  }
  const fits = (zone: Zone) =>
    (zone_id === undefined || zone.id === zone_id) && (zone_name === undefined || zone.name === zone_name)
  const found = own.find(fits)
  const pointer = `${at}/${zone_id === undefined ? 'zone_name' : 'zone_id'}`
  if (!found) throw new ApiError(refusal, pointer, 'is not a zone of the account')
  if (!covering.includes(found)) throw new ApiError(refusal, `${at}/${member}`, `is not in the zone ${found.name}`)
  return found
}
