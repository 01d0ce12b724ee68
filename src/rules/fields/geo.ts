import { toBytes, type Bytes, type Getter } from '../../expr/index.js'
import type { GeoLocation } from '../types.js'
import type { FieldSource } from './source.js'

/** Countries of the European Union (ISO 3166-1 alpha-2). */
const EUROPEAN_UNION: ReadonlySet<string> = new Set(
  'AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK'.split(' '),
)

const bytes = (text: string | number | undefined): Bytes | undefined =>
  text === undefined ? undefined : toBytes(String(text))

const country = ({ city }: GeoLocation): string | undefined => city?.country?.iso_code

/** Returns the ISO 3166-2 code of a region, `GB-ENG`; "" if it is unknown. */
function subdivision(place: GeoLocation, level: 0 | 1): Bytes | undefined {
  if (!place.known) return undefined
  const code = place.city?.subdivisions?.[level]?.iso_code
  const land = country(place)
  return code === undefined || land === undefined ? '' : toBytes(`${land}-${code}`)
}

type Read = (place: GeoLocation) => string | number | undefined

/** Fields that are parts of a location. Names are in English. */
export const LOCATION = {
  'ip.src.country': country,
  'ip.src.continent': ({ city }) => city?.continent?.code,
  'ip.src.city': ({ city }) => city?.city?.names?.en,
  'ip.src.postal_code': ({ city }) => city?.postal?.code,
  'ip.src.metro_code': ({ city }) => city?.location?.metro_code,
  'ip.src.lat': ({ city }) => city?.location?.latitude,
  'ip.src.lon': ({ city }) => city?.location?.longitude,
  'ip.src.timezone.name': ({ city }) => city?.location?.time_zone,
  'ip.src.region': ({ city }) => city?.subdivisions?.[0]?.names?.en,
  'ip.src.region_code': ({ city }) => city?.subdivisions?.[0]?.iso_code,
} as const satisfies Readonly<Record<string, Read>>

/** Returns a field of the client's location. */
const of =
  (read: Read): Getter<FieldSource> =>
  ({ place }) =>
    bytes(read(place))

/** The client's location. */
export const GEO_GETTERS: Readonly<Record<string, Getter<FieldSource>>> = {
  ...Object.fromEntries(Object.entries(LOCATION).map(([name, read]) => [name, of(read)])),
  'ip.src.is_in_european_union': ({ place }) => (place.known ? EUROPEAN_UNION.has(country(place) ?? '') : undefined),
  'ip.src.subdivision_1_iso_code': ({ place }) => subdivision(place, 0),
  'ip.src.subdivision_2_iso_code': ({ place }) => subdivision(place, 1),
  'ip.src.asnum': ({ place }) => place.asn?.autonomous_system_number,
}
