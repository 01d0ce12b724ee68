import { isIP } from 'node:net'
import type { CertificateTable } from '../certificates.js'
import type { AcmeChallengeType, ManagedCertificate } from './records.js'

/** A zone with the host names that it serves. */
export interface NamedZone {
  readonly id: string
  readonly name: string
  /** If undefined, the zone serves its name and every name below it. */
  readonly hostnames?: readonly string[] | undefined
}

/** The options of ACME that decide which names get a certificate. */
export interface OrderOptions {
  readonly challenges: readonly AcmeChallengeType[]
  /** A zone without host names of its own gets a certificate for www.NAME. */
  readonly www: boolean
  readonly on_demand?: object | undefined
}

/** A served host name or pattern without a certificate. */
export interface MissingCertificate {
  readonly zone_id: string
  readonly zone: string
  /** A host name, `*.` and a name, or `*`. */
  readonly name: string
  readonly why: string
  /** What to write in the configuration file, or to do. */
  readonly write: string
}

/** Returns the host names and patterns that a zone serves, in lower case. */
export const servedNames = ({ name, hostnames }: NamedZone): string[] =>
  (hostnames ?? [name, `*.${name}`]).map((served) => served.toLowerCase())

/** Returns the host names and patterns of a zone that certificates are ordered for, in lower case. */
export function orderedNames(zone: NamedZone, options: OrderOptions): string[] {
  const names = servedNames(zone).filter((name) => isOrderable(name, options))
  return hasWww(zone, options) ? [...names, wwwOf(zone)] : names
}

/** Returns whether a certificate authority can issue a certificate for a host name or a `*.` pattern. */
export function isOrderable(name: string, { challenges }: Pick<OrderOptions, 'challenges'>): boolean {
  if (name.startsWith('*.')) return challenges.includes('dns-01') && isPublicName(name.slice(2))
  return isPublicName(name)
}

/** Returns whether a text is a host name with at least two labels. */
export const isPublicName = (name: string): boolean =>
  name.length <= 253 && isIP(name) === 0 && /^[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63})+$/.test(name)

const wwwOf = ({ name }: NamedZone): string => `www.${name.toLowerCase()}`

/** A wildcard certificate covers www.NAME as well. */
const hasWww = ({ name, hostnames }: NamedZone, { www, challenges }: OrderOptions): boolean =>
  www &&
  hostnames === undefined &&
  !challenges.includes('dns-01') &&
  !/^www\./i.test(name) &&
  isPublicName(name.toLowerCase())

export interface Coverage {
  readonly zones: Iterable<NamedZone>
  /** Custom hostnames, with their zones. */
  readonly custom?: Iterable<{ readonly hostname: string; readonly zone: NamedZone; readonly wildcard?: boolean }>
  readonly files: Pick<CertificateTable, 'covers' | 'first'>
  /** Undefined without the section `acme`. */
  readonly acme: OrderOptions | undefined
  /** Returns the state of the orders of a name. If undefined, each order counts as successful. */
  readonly record?: (name: string) => ManagedCertificate | undefined
}

/** Yields the served host names and patterns that no certificate names, each name once. */
export function* missingCertificates({ zones, custom = [], ...given }: Coverage): Generator<MissingCertificate> {
  const seen = new Set<string>()
  for (const zone of zones) {
    const names = new Set([...servedNames(zone), ...(given.acme ? orderedNames(zone, given.acme) : [])])
    for (const name of names) yield* missing(name, zone, given, seen)
  }
  for (const { hostname, zone, wildcard } of custom) {
    yield* missing(hostname.toLowerCase(), zone, given, seen)
    if (wildcard) yield* missing(`*.${hostname.toLowerCase()}`, zone, given, seen)
  }
}

function* missing(
  name: string,
  zone: NamedZone,
  { files, acme, record }: Omit<Coverage, 'zones' | 'custom'>,
  seen: Set<string>,
): Generator<MissingCertificate> {
  if (seen.has(name)) return
  seen.add(name)
  // Clients name no address in TLS. They get the first certificate.
  if (isIP(name.replaceAll(/[[\]]/g, '')) !== 0 ? files.first !== undefined : files.covers(name)) return
  const reason = reasonOf(name, zone, acme, record)
  if (reason) yield { zone_id: zone.id, zone: zone.name, name, ...reason }
}

type Reason = Pick<MissingCertificate, 'why' | 'write'>

function reasonOf(
  name: string,
  zone: NamedZone,
  acme: OrderOptions | undefined,
  record: Coverage['record'],
): Reason | undefined {
  if (!acme)
    return {
      why: 'no certificate file names it',
      write:
        name === '*'
          ? 'the host names in hostnames of the zone, with their certificates in proxy.tls.certificates or with proxy.tls.acme'
          : `a certificate for ${name} in proxy.tls.certificates, or the section proxy.tls.acme`,
    }
  if (isOrderable(name, acme)) return record && orderReason(name, zone, acme, record(name))
  if (name.startsWith('*')) return acme.on_demand ? undefined : PATTERN
  return {
    why: 'certificate authorities do not issue certificates for it',
    write: `a certificate file for ${name} in proxy.tls.certificates`,
  }
}

const PATTERN: Reason = {
  why: 'a certificate for a pattern is ordered with dns-01 only',
  write:
    'the exact names in hostnames of the zone, or proxy.tls.acme.on_demand: { ask: URL }, or dns-01 in ' +
    'proxy.tls.acme.challenges with dns: { command: [...] }, or a certificate file',
}

function orderReason(
  name: string,
  zone: NamedZone,
  acme: OrderOptions,
  record: ManagedCertificate | undefined,
): Reason | undefined {
  if (record?.chain !== undefined) return undefined
  const { last_error: error, next_order: next } = record ?? {}
  const why = error === undefined ? 'it is being ordered' : `the last order failed: ${error}`
  const then = next === undefined ? '' : `; the next order is at ${next}`
  const isWww = zone.hostnames === undefined && name === wwwOf(zone)
  const wanted = name.startsWith('*.')
    ? 'what the command of proxy.tls.acme.dns needs'
    : `a DNS record of ${name} that leads here`
  return {
    why: `${why}${then}`,
    write: isWww && acme.www ? `${wanted}, or proxy.tls.acme.www: false` : wanted,
  }
}

/** Returns a sentence about a missing certificate, for logs and commands. */
export const missingText = ({ name, zone, why, write }: MissingCertificate): string =>
  `${name === '*' ? 'every other host name' : name} (zone ${zone}) is served over HTTPS and has no certificate: ${why}; add ${write}`
