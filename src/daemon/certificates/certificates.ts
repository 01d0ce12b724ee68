import type { Config } from '../../config/schema.js'
import { HOSTNAME } from '../../core/model/hostname.js'
import { ACCOUNT_SUBDOMAIN, WORKER_DOMAINS } from '../../core/model/worker-routing.js'
import { DAEMON } from '../../core/scope.js'
import type { StoreReader } from '../../core/store.js'
import { AcmeManager, type AcmeDeps } from '../../tls/acme/manager.js'
import { MANAGED_CERTIFICATES, wildcardOf, type ManagedCertificate } from '../../tls/acme/records.js'
import {
  missingCertificates,
  missingText,
  orderedNames,
  type MissingCertificate,
  type NamedZone,
} from '../../tls/acme/served-names.js'
import { CertificateTable, loadCertificate, type Certificate } from '../../tls/certificates.js'
import { RecentNames } from '../../tls/recent-names.js'

/** Log lines about names without a certificate, at a start or reload. */
const MAX_LINES = 20
/** A name without a certificate is logged at most once in this time. */
const LOG_MS = 60_000
const MAX_LOGGED = 1000

/** A certificate of the HTTPS listener. */
export interface CertificateStatus {
  readonly names: readonly string[]
  readonly source: 'file' | 'acme'
  readonly file?: string
  readonly not_after: string
}

export interface CertificatesDeps extends Omit<AcmeDeps, 'options' | 'names'> {
  /** The configuration in force, with the zones that were created through the API. */
  readonly config: () => Config
}

/** The certificates of the HTTPS listener: orders certificates for served names, and knows the names without one. */
export class Certificates {
  readonly #deps: CertificatesDeps
  readonly #acme: AcmeManager
  readonly #logged = new RecentNames({ forMs: LOG_MS, max: MAX_LOGGED })

  constructor(deps: CertificatesDeps) {
    this.#deps = deps
    this.#acme = new AcmeManager({
      ...deps,
      options() {
        const acme = deps.config().proxy.tls?.acme
        if (!acme) return undefined
        const { email, ca_file: caFile, eab, dns, on_demand: onDemand } = acme
        return { ...acme, email, caFile: caFile ?? undefined, eab: eab ?? undefined, dns, onDemand }
      },
      names: () => this.#ordered(),
    })
    this.#warn()
  }

  /** Applies a changed configuration: orders missing certificates, and logs the names that get no certificate. */
  check(): void {
    this.#acme.check()
    this.#warn()
  }

  async close(): Promise<void> {
    await this.#acme.close()
  }

  /**
   * Reports a handshake for a served name without a certificate. Resolves after its certificate was ordered, if
   * `on_demand` allows that. Otherwise logs why there is none, once a minute for each name.
   */
  async demand(name: string): Promise<void> {
    const { clock, log } = this.#deps
    const reason = await this.#acme.demand(name)
    if (reason === undefined || !this.#logged.add(name, clock.monotonic())) return
    const missing = this.#explained(name)
    log.warn(
      { event: 'no_certificate', name, reason: missing?.why ?? reason },
      `a client asked for ${name}, which has no certificate: ${reason}${missing ? `; add ${missing.write}` : ''}`,
    )
  }

  /** Returns the served names and patterns without a certificate. A certificate that is being ordered is missing. */
  missing(): MissingCertificate[] {
    return [...this.#missing((name) => recordOf(this.#deps.store, name))]
  }

  /** Returns the certificates of files and those issued by ACME, by their expiry. */
  list(): CertificateStatus[] {
    const { config, store } = this.#deps
    const { tls } = config().proxy
    if (!tls) return []
    const files = certificateFiles(config()).map(({ names, source, notAfter }) => ({
      names,
      source: 'file' as const,
      file: source,
      not_after: new Date(notAfter).toISOString(),
    }))
    const issued = store
      .list(MANAGED_CERTIFICATES, DAEMON)
      .flatMap(({ id, value: { not_after: until } }) =>
        until === undefined ? [] : [{ names: [id], source: 'acme' as const, not_after: until }],
      )
    return [...files, ...issued].toSorted((a, b) => (a.not_after < b.not_after ? -1 : 1))
  }

  /** Says why a name is without a certificate, by the entry for it or for the pattern that covers it. */
  #explained(name: string): MissingCertificate | undefined {
    let best: MissingCertificate | undefined
    for (const missing of this.#missing((one) => recordOf(this.#deps.store, one))) {
      if (missing.name === name) return missing
      const isPattern = missing.name === '*' || (missing.name.startsWith('*.') && name.endsWith(missing.name.slice(1)))
      if (isPattern && missing.name.length > (best?.name.length ?? 0)) best = missing
    }
    return best
  }

  #missing(record?: (name: string) => ManagedCertificate | undefined): Iterable<MissingCertificate> {
    const { config, store } = this.#deps
    const current = config()
    if (!current.proxy.tls) return []
    const zones = servedZones(current, store)
    const byId = new Map(current.zones.map((zone) => [zone.id, zone]))
    const custom = store.list(HOSTNAME).flatMap(({ scope, value: { hostname, ssl } }) => {
      const zone = byId.get(scope.id)
      return zone ? { hostname, zone, wildcard: ssl?.wildcard === true } : []
    })
    const files = new CertificateTable(certificateFiles(current))
    return missingCertificates({ zones, custom, files, acme: current.proxy.tls.acme, ...(record && { record }) })
  }

  #ordered(): string[] {
    const { config, store } = this.#deps
    const current = config()
    const acme = current.proxy.tls?.acme
    if (!acme) return []
    const custom = store.list(HOSTNAME).flatMap(({ value: { hostname: name, ssl } }) => {
      const names = [name.toLowerCase(), ...(ssl?.wildcard ? [`*.${name.toLowerCase()}`] : [])]
      return orderedNames({ id: '', name, hostnames: names }, acme)
    })
    const files = new CertificateTable(certificateFiles(current))
    return [...servedZones(current, store).flatMap((zone) => orderedNames(zone, acme)), ...custom].filter(
      (name) => !files.covers(name),
    )
  }

  #warn(): void {
    const { log } = this.#deps
    let count = 0
    for (const missing of this.#missing()) {
      if (++count > MAX_LINES) continue
      const { name, zone } = missing
      log.warn({ event: 'certificate_missing', name, zone }, missingText(missing))
    }
    if (count > MAX_LINES)
      log.warn(
        { event: 'certificate_missing', count },
        `${count - MAX_LINES} further host names have no certificate; edged status lists them`,
      )
  }
}

/** Returns the names that get no certificate by a configuration alone: its files, and orders that all succeed. */
export function missingInFile(config: Config): MissingCertificate[] {
  const { tls } = config.proxy
  if (!tls) return []
  const files = new CertificateTable(certificateFiles(config))
  return [...missingCertificates({ zones: config.zones, files, acme: tls.acme })]
}

/** The zones, and the names of Workers: their domains, and the names below the subdomains of accounts. */
function servedZones({ zones, workers: { domain } }: Config, store: StoreReader): NamedZone[] {
  const byId = new Map(zones.map((zone) => [zone.id, zone]))
  const domains = store.list(WORKER_DOMAINS).flatMap(({ value }): NamedZone[] => {
    const { hostname, zone_id: id, enabled } = value
    const zone = byId.get(id)
    return zone && enabled ? [{ id, name: zone.name, hostnames: [hostname] }] : []
  })
  if (domain === null) return [...zones, ...domains]
  const subdomains = store
    .list(ACCOUNT_SUBDOMAIN)
    .map(({ value: { subdomain } }) => ({ id: '', name: domain, hostnames: [`*.${subdomain}.${domain}`] }))
  return [...zones, ...domains, ...subdomains]
}

/** Returns the state of the orders of a name, or of the pattern that covers it if that has a certificate. */
function recordOf(store: StoreReader, name: string): ManagedCertificate | undefined {
  const own = store.get(MANAGED_CERTIFICATES, DAEMON, name)?.value
  if (own?.chain !== undefined || name.startsWith('*')) return own
  const wildcard = store.get(MANAGED_CERTIFICATES, DAEMON, wildcardOf(name))?.value
  return wildcard?.chain === undefined ? own : wildcard
}

/** Returns the certificates of files. One that cannot be read is left out, because the listener reports it. */
function certificateFiles({ proxy }: Config): Certificate[] {
  return (proxy.tls?.certificates ?? []).flatMap((files) => {
    try {
      return [loadCertificate(files)]
    } catch {
      return []
    }
  })
}
