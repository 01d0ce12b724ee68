import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { LRUCache } from 'lru-cache'
import { Reader, type AsnResponse, type CityResponse } from 'mmdb-lib'
import { messageOf } from '../../core/errors.js'
import type { GeoLocation, GeoLookup } from '../../rules/types.js'

/** Paths of the database files. */
export interface GeoFiles {
  readonly city_file?: string
  readonly country_file?: string
  readonly asn_file?: string
}

/** The databases of a configuration, in memory. */
export interface Databases {
  readonly city: Reader<CityResponse> | undefined
  readonly asn: Reader<AsnResponse> | undefined
}

const NOWHERE: GeoLocation = { city: undefined, asn: undefined, known: false }

/** Addresses whose locations are cached. Each needs about 2 KiB. */
const MAX_CACHED = 4096

/** Reads the databases that a configuration names. Rejects with the name of a file that is not a database. */
export async function readDatabases({
  city_file: cityFile,
  country_file: countryFile,
  asn_file: asnFile,
}: GeoFiles): Promise<Databases> {
  const placeFile = cityFile ?? countryFile
  const [city, asn] = await Promise.all([
    placeFile === undefined ? undefined : open<CityResponse>(placeFile),
    asnFile === undefined ? undefined : open<AsnResponse>(asnFile),
  ])
  return { city, asn }
}

/** Locations of addresses, from databases in MaxMind format. */
export class Geo implements GeoLookup {
  #databases: Databases
  readonly #found = new LRUCache<string, GeoLocation>({ max: MAX_CACHED })

  constructor(databases: Databases = { city: undefined, asn: undefined }) {
    this.#databases = databases
  }

  /** Replaces the databases. */
  use(databases: Databases): void {
    this.#databases = databases
    this.#found.clear()
  }

  find(address: string): GeoLocation {
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

/** Reads databases while a configuration file is checked. Throws with the name of a file that is not a database. */
export function readDatabasesNow({
  city_file: cityFile,
  country_file: countryFile,
  asn_file: asnFile,
}: GeoFiles): Databases {
  const placeFile = cityFile ?? countryFile
  return {
    city: placeFile === undefined ? undefined : reader<CityResponse>(placeFile, bytesNow(placeFile)),
    asn: asnFile === undefined ? undefined : reader<AsnResponse>(asnFile, bytesNow(asnFile)),
  }
}

async function open<T extends CityResponse | AsnResponse>(file: string): Promise<Reader<T>> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw unreadable(file, error)
  })
  return reader<T>(file, bytes)
}

function bytesNow(file: string): Buffer {
  try {
    return readFileSync(file)
  } catch (error) {
    throw unreadable(file, error)
  }
}

function reader<T extends CityResponse | AsnResponse>(file: string, bytes: Buffer): Reader<T> {
  try {
    const opened = new Reader<T>(bytes)
    // Detects a file whose tree does not fit its size now instead of in a request.
    opened.get('192.0.2.1')
    return opened
  } catch (error) {
    throw unreadable(file, error)
  }
}

const unreadable = (file: string, cause: unknown): Error =>
  new Error(`${file} cannot be read as a MaxMind database: ${messageOf(cause)}`, { cause })

function look<T extends CityResponse | AsnResponse>(reader: Reader<T> | undefined, address: string): T | undefined {
  // The reader would follow the bits of an IPv6 address through a tree of IPv4 addresses, and return a wrong match.
  if (reader === undefined || (reader.metadata.ipVersion === 4 && address.includes(':'))) return undefined
  try {
    return reader.get(address) ?? undefined
  } catch {
    // The record is in a damaged file, so nothing is known about this address.
    return undefined
  }
}
