import type { ZoneConfig } from '../../config/schema.js'

/**
 * A zone, or the place of an unchanged zone in the configuration before. So a reload sends only the zones that it
 * changes.
 */
export type SentZone = ZoneConfig | number

/** Zones of one turn of the event loop. The first slice replaces the zones that an earlier attempt has sent. */
export interface ZoneSlice {
  readonly isFirst: boolean
  readonly zones: readonly SentZone[]
}

/** To serialize these takes a millisecond. */
const MAX_ZONES = 100
const MAX_ENTRIES = 5000

/** Returns zones in slices. `before` are those that the process has. */
export function* zoneSlices(zones: readonly ZoneConfig[], before: readonly ZoneConfig[]): Generator<ZoneSlice> {
  const places = new Map(before.map((zone, place) => [zone, place]))
  let isFirst = true
  let slice: SentZone[] = []
  let left = MAX_ZONES
  for (const zone of zones) {
    const place = places.get(zone)
    slice.push(place ?? zone)
    if (place === undefined) left--
    if (left > 0 && slice.length < MAX_ENTRIES) continue
    yield { isFirst, zones: slice }
    isFirst = false
    slice = []
    left = MAX_ZONES
  }
  if (isFirst || slice.length > 0) yield { isFirst, zones: slice }
}

/** Returns the zones of slices. */
export const zonesOf = (sent: readonly SentZone[], before: readonly ZoneConfig[]): ZoneConfig[] =>
  sent.map((zone) => (typeof zone === 'number' ? before[zone]! : zone))
