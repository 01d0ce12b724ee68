import type { StoredZone } from '../core/model/zone.js'
import { parser } from '../core/schema.js'
import { ConfigFile, type ZoneConfig } from './schema.js'

const parse = parser(ConfigFile.properties.zones.items, { defaults: true })

/** Returns the configuration of a zone that was created through the API: the defaults of the file. */
export function storedZoneConfig({ id, account, name, origin, plan }: StoredZone): ZoneConfig {
  return parse({ id, account, name, plan, ...(origin !== undefined && { origin }) })
}
