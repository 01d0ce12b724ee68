import { readFile } from 'node:fs/promises'
import { LRUCache } from 'lru-cache'
import { Reader, type AsnResponse, type CityResponse } from 'mmdb-lib'
import type { GeoConfig } from '../../config/schema.js'
import { messageOf } from '../../core/errors.js'

/** What the databases say of an address. */
export interface Place {
  /** Undefined where there is no such database, or it does not know the address. */
  readonly city: Partial<CityResponse> | undefined
  readonly asn: Partial<AsnResponse> | undefined
  /** There is a database for places: what is not known of an address is then unknown, and not merely missing. */
  readonly known: boolean
}

/** The databases of a configuration, in memory. */
export interface Databases {
  readonly city: Reader<CityResponse> | undefined
  readonly asn: Reader<AsnResponse> | undefined
}

const NOWHERE: Place = { city: undefined, asn: undefined, known: false }

/** Addresses whose places are kept; about 2 KiB each. */
const KEPT = 4096

/** Reads the databases that a configuration names. Rejects with the name of the file where one is none. */
export async function readDatabases({
  city_file: cityFile,
  country_file: countryFile,
  asn_file: asnFile,
}: GeoConfig): Promise<Databases> {
  const placeFile = cityFile ?? countryFile
  const [city, asn] = await Promise.all([
    placeFile === undefined ? undefined : open<CityResponse>(placeFile),
    asnFile === undefined ? undefined : open<AsnResponse>(asnFile),
  ])
  return { city, asn }
}

/** Where addresses are, from databases in MaxMind format. */
export class Geo {
  #databases: Databases
  readonly #found = new LRUCache<string, Place>({ max: KEPT })

  constructor(databases: Databases = { city: undefined, asn: undefined }) {
    this.#databases = databases
  }

  /** Takes other databases. */
  use(databases: Databases): void {
    this.#databases = databases
    this.#found.clear()
  }

  find(address: string): Place {
    const { city, asn } = this.#databases
    if (city === undefined && asn === undefined) return NOWHERE
    let place = this.#found.get(address)
    if (place === undefined) {
      place = { city: look(city, address), asn: look(asn, address), known: city !== undefined }
      this.#found.set(address, place)
    }
    return place
  }
}

async function open<T extends CityResponse | AsnResponse>(file: string): Promise<Reader<T>> {
  try {
    const reader = new Reader<T>(await readFile(file))
    // A file whose tree does not fit its size is better found now than by a request.
    reader.get('192.0.2.1')
    return reader
  } catch (error) {
    throw new Error(`${file} cannot be read as a MaxMind database: ${messageOf(error)}`, { cause: error })
  }
}

function look<T extends CityResponse | AsnResponse>(reader: Reader<T> | undefined, address: string): T | undefined {
  // The reader would follow the bits of an IPv6 address through a tree of IPv4 addresses, and find something.
  if (reader === undefined || (reader.metadata.ipVersion === 4 && address.includes(':'))) return undefined
  try {
    return reader.get(address) ?? undefined
  } catch {
    // A record of a damaged file: nothing is known of this address.
    return undefined
  }
}
