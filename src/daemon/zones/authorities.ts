import { readFileSync } from 'node:fs'
import type { ZoneConfig } from '../../config/schema.js'
import type { Pause } from '../../core/schedule/event-loop-yield.js'
import { loadClientAuthority, type ClientAuthority } from '../../tls/client-authority.js'

/** Authorities of origins (PEM texts) and of clients, by their files: read with the configuration, not with each change of a zone. */
export interface Authorities {
  readonly origins: ReadonlyMap<string, string>
  readonly clients: ReadonlyMap<string, ClientAuthority>
}

/** Reads the files that zones name. Throws if a file is not usable. */
export function readAuthorities(zones: readonly ZoneConfig[]): Authorities {
  return {
    origins: new Map(originFiles(zones).map((file) => [file, readFileSync(file, 'utf8')])),
    clients: new Map(clientFiles(zones).map((file) => [file, loadClientAuthority(file)])),
  }
}

/**
 * Reads the files as {@link readAuthorities} does, with a pause after each file. If a client authority in `known` has
 * the same text, it is used again.
 */
export async function readAuthoritiesAgain(
  zones: readonly ZoneConfig[],
  known: Authorities,
  pause: Pause,
): Promise<Authorities> {
  const origins = new Map<string, string>()
  const clients = new Map<string, ClientAuthority>()
  for (const file of originFiles(zones)) {
    origins.set(file, readFileSync(file, 'utf8'))
    await pause()
  }
  for (const file of clientFiles(zones)) {
    const read = loadClientAuthority(file)
    const old = known.clients.get(file)
    clients.set(file, old?.pem === read.pem ? old : read)
    await pause()
  }
  return { origins, clients }
}

const originFiles = (zones: readonly ZoneConfig[]) => [
  ...new Set(zones.flatMap(({ origin_ca_file: file }) => file ?? [])),
]
const clientFiles = (zones: readonly ZoneConfig[]) => [
  ...new Set(zones.flatMap(({ client_ca_file: file }) => file ?? [])),
]
