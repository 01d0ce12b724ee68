import type { Config } from '../config/schema.js'
import { HOSTNAME } from '../core/model/hostname.js'
import type { Zones } from '../edge/exchange/zones.js'
import { AcmeManager, type AcmeDeps } from '../tls/acme/manager.js'
import { CertificateTable, loadCertificate } from '../tls/certificates.js'

/** Starts ordering certificates for the host names of zones and for custom hostnames, if the configuration asks for it. */
export function startAcme({
  config,
  zones,
  ...deps
}: Omit<AcmeDeps, 'options' | 'names'> & { config: () => Config; zones: Pick<Zones, 'current'> }): AcmeManager {
  return new AcmeManager({
    ...deps,
    options() {
      const acme = config().proxy.tls?.acme
      return acme && { ...acme, email: acme.email, caFile: acme.ca_file ?? undefined, eab: acme.eab ?? undefined }
    },
    names() {
      const own = zones.current.zones.flatMap(({ hostnames }) => hostnames)
      const custom = deps.store.list(HOSTNAME).map(({ value }) => value.hostname)
      const covered = filesOf(config())
      return [...own, ...custom].map((name) => name.toLowerCase()).filter((name) => !covered.covers(name))
    },
  })
}

/** Returns the table of the certificate files. One that cannot be read covers nothing; the listener reports it. */
function filesOf({ proxy }: Config): CertificateTable {
  const loaded = (proxy.tls?.certificates ?? []).flatMap((files) => {
    try {
      return [loadCertificate(files)]
    } catch {
      return []
    }
  })
  return new CertificateTable(loaded)
}
