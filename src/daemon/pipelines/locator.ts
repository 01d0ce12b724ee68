import { Geo, readDatabasesNow } from '../../edge/exchange/geo.js'
import type { GEO_FACTS, GeoFilesOption } from '../../config/pipeline-reshape.js'
import { messageOf } from '../../core/errors.js'
import type { Locate } from '../../../pipelines/records/index.js'

type Facts = Readonly<Record<(typeof GEO_FACTS)[number], string | number | undefined>>

/** Opens databases of locations for pipelines; returns a message if that is not possible. */
export function locator(files: GeoFilesOption): Locate | string {
  try {
    const geo = new Geo(readDatabasesNow(files))
    return (address): Facts => {
      const { city, asn } = geo.find(address)
      return {
        country: city?.country?.iso_code,
        continent: city?.continent?.code,
        region: city?.subdivisions?.[0]?.names.en,
        city: city?.city?.names.en,
        postal_code: city?.postal?.code,
        latitude: city?.location?.latitude,
        longitude: city?.location?.longitude,
        timezone: city?.location?.time_zone,
        asn: asn?.autonomous_system_number,
        organization: asn?.autonomous_system_organization,
      }
    }
  } catch (error) {
    return messageOf(error)
  }
}
