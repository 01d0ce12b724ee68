import { X509Certificate } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import { DAEMON } from '../../src/core/scope.js'
import { MANAGED_CERTIFICATES, type ManagedCertificate } from '../../src/tls/acme/records.js'
import type { ControlDeps } from '../http/context.js'
import { covers } from './hostname-match.js'

export const CERTIFICATE_STATUSES = ['pending_validation', 'active', 'expired'] as const

/** A certificate of the HTTPS listener, or one that is being ordered. */
export interface CertificateState {
  /** Host names that it covers; `*.` in front covers one label. */
  readonly names: readonly string[]
  readonly source: 'file' | 'acme'
  readonly status: (typeof CERTIFICATE_STATUSES)[number]
  /** Reads the certificate; absent before the first order succeeded. */
  readonly leaf?: () => CertificateLeaf
  /** Failed orders since the last success. */
  readonly failures: number
  readonly error?: string
  /** No order before this time. */
  readonly nextOrder?: string
}

interface CertificateLeaf {
  readonly issuer: string
  readonly serialNumber: string
  readonly notBefore: string
  readonly notAfter: string
}

interface LeafFile {
  readonly names: readonly string[]
  readonly leaf: CertificateLeaf
}

const NO_CERTIFICATE: CertificateState = {
  names: [],
  source: 'file',
  status: 'pending_validation',
  failures: 0,
  error: 'no certificate file names this host; add one to proxy.tls.certificates, or configure proxy.tls.acme',
}

/** Certificates of the HTTPS listener, from files and by ACME. ACME certificates have the state of their orders. */
export class CertificateStates {
  readonly #deps: ControlDeps
  /** By file; read again if the file has changed. */
  readonly #files = new Map<string, { readonly changed: string; readonly read: LeafFile | undefined }>()

  constructor(deps: ControlDeps) {
    this.#deps = deps
  }

  /** Returns the certificates of files; one that cannot be read is left out and is in the log of the daemon. */
  async files(): Promise<readonly CertificateState[]> {
    const paths = this.#deps.tls?.()?.files ?? []
    for (const path of this.#files.keys()) if (!paths.includes(path)) this.#files.delete(path)
    const read = await Promise.all(paths.map(async (path) => await this.#file(path)))
    return read.flatMap((one) =>
      one
        ? {
            names: one.names,
            source: 'file' as const,
            status: this.#statusOf(one.leaf.notAfter),
            leaf: () => one.leaf,
            failures: 0,
          }
        : [],
    )
  }

  /** Returns the certificates by ACME and their orders. */
  managed(): CertificateState[] {
    return this.#deps.store.list(MANAGED_CERTIFICATES, DAEMON).map(({ id, value }) => this.#managed(id, value))
  }

  /**
   * Returns the certificate that covers a host name, or is ordered for it. Undefined without HTTPS, which then ends in
   * front of the proxy.
   */
  of(name: string, files: readonly CertificateState[]): CertificateState | undefined {
    const tls = this.#deps.tls?.()
    if (!tls) return undefined
    const file = files.find(({ names }) => names.some((pattern) => isCovered(pattern, name)))
    if (file) return file
    const record = this.#deps.store.get(MANAGED_CERTIFICATES, DAEMON, name)?.value
    return record || tls.acme ? this.#managed(name, record) : NO_CERTIFICATE
  }

  #managed(name: string, record: ManagedCertificate | undefined): CertificateState {
    const { chain, not_after: until, failures = 0, last_error: error, next_order: nextOrder } = record ?? {}
    return {
      names: [name],
      source: 'acme',
      status: until === undefined ? 'pending_validation' : this.#statusOf(until),
      failures,
      ...(chain !== undefined && { leaf: () => leafOf(new X509Certificate(chain)) }),
      ...(error !== undefined && { error }),
      ...(nextOrder !== undefined && { nextOrder }),
    }
  }

  #statusOf(notAfter: string): 'active' | 'expired' {
    return Date.parse(notAfter) > this.#deps.clock.now() ? 'active' : 'expired'
  }

  async #file(path: string): Promise<LeafFile | undefined> {
    try {
      const { mtimeMs, size, ino } = await stat(path)
      const changed = `${mtimeMs} ${size} ${ino}`
      const known = this.#files.get(path)
      if (known?.changed === changed) return known.read
      const read = leafFile(await readFile(path))
      this.#files.set(path, { changed, read })
      return read
    } catch {
      return undefined
    }
  }
}

/** A wildcard covers one label (RFC 9525, 6.3). */
const isCovered = (pattern: string, name: string): boolean =>
  covers(pattern, name) && (!pattern.startsWith('*.') || name.split('.').length === pattern.split('.').length)

function leafFile(pem: Buffer): LeafFile {
  const leaf = new X509Certificate(pem)
  const names = (leaf.subjectAltName ?? '')
    .split(', ')
    .flatMap((name) => (name.startsWith('DNS:') ? name.slice(4).toLowerCase() : []))
  return { names, leaf: leafOf(leaf) }
}

function leafOf({ issuer, serialNumber, validFrom, validTo }: X509Certificate): CertificateLeaf {
  const name = /^O=(.+)$/m.exec(issuer) ?? /^CN=(.+)$/m.exec(issuer)
  return {
    issuer: name?.[1] ?? issuer,
    serialNumber: serialNumber.toLowerCase(),
    notBefore: new Date(validFrom).toISOString(),
    notAfter: new Date(validTo).toISOString(),
  }
}
