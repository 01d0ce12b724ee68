import { X509Certificate, createPrivateKey, type KeyObject } from 'node:crypto'
import { messageOf } from '../core/errors.js'
import { SERVER_TLS } from '../core/server-tls.js'
import { createSecureContext, type SecureContext } from 'node:tls'
import type { ClientAuthority } from './client-authority.js'
import { pem } from './pem.js'

/** Two PEM files, which are the chain, leaf first, and the private key of the leaf. */
export interface CertificateFiles {
  readonly cert_file: string
  readonly key_file: string
}

/** The lowest TLS version that a listener accepts. */
export type TlsVersion = '1.2' | '1.3'

interface CertificateFacts {
  readonly names: readonly string[]
  readonly notBefore: number
  readonly notAfter: number
  readonly source: string
  readonly cert: string
  readonly key: string
}

/** A certificate chain with its key, ready for handshakes. */
export class Certificate {
  /** DNS names that it covers, in lower case; `*.` in front covers one label (RFC 9525, 6.3). */
  readonly names: readonly string[]
  /** Milliseconds since 1970. */
  readonly notBefore: number
  readonly notAfter: number
  /** File of the chain. */
  readonly source: string
  readonly #pem: { readonly cert: string; readonly key: string }
  /** By version, and by the authority of client certificates. */
  readonly #contexts = new Map<string, SecureContext>()
  #ticketKeys: Buffer | undefined

  constructor({ names, notBefore, notAfter, source, cert, key }: CertificateFacts) {
    this.names = names
    this.notBefore = notBefore
    this.notAfter = notAfter
    this.source = source
    this.#pem = { cert, key }
  }

  /** Returns whether less than a third of the lifetime is left. */
  isDue(now: number): boolean {
    return now >= this.notAfter - (this.notAfter - this.notBefore) / 3
  }

  /**
   * Context for a lowest version and session ticket keys of 48 bytes. Created at first use, which takes about 4 ms of
   * CPU, and again when the keys change. `clients` verifies client certificates, if they are asked for.
   */
  context(minVersion: TlsVersion, ticketKeys: Buffer, clients?: ClientAuthority): SecureContext {
    if (this.#ticketKeys !== ticketKeys) this.#contexts.clear()
    this.#ticketKeys = ticketKeys
    const key = clients ? `${minVersion} ${clients.id}` : minVersion
    let context = this.#contexts.get(key)
    if (!context) {
      context = createSecureContext({
        ...SERVER_TLS,
        ...this.#pem,
        ciphers: CIPHERS,
        minVersion: `TLSv${minVersion}`,
        ticketKeys,
        sessionIdContext: clients?.id ?? 'edged',
        ...(clients && { ca: clients.pem, allowPartialTrustChain: true }),
      })
      this.#contexts.set(key, context)
    }
    return context
  }
}

/** Mozilla's intermediate profile, version 5.7: AEAD with forward secrecy. */
const CIPHERS = [
  'TLS_AES_128_GCM_SHA256',
  'TLS_AES_256_GCM_SHA384',
  'TLS_CHACHA20_POLY1305_SHA256',
  'ECDHE-ECDSA-AES128-GCM-SHA256',
  'ECDHE-RSA-AES128-GCM-SHA256',
  'ECDHE-ECDSA-AES256-GCM-SHA384',
  'ECDHE-RSA-AES256-GCM-SHA384',
  'ECDHE-ECDSA-CHACHA20-POLY1305',
  'ECDHE-RSA-CHACHA20-POLY1305',
].join(':')

/**
 * Loads a certificate and its key. Throws with a message that names the file if one cannot be read or the key does not
 * fit.
 */
export function loadCertificate({ cert_file: certFile, key_file: keyFile }: CertificateFiles): Certificate {
  const [cert, key] = [pem(certFile), pem(keyFile)]
  const leaf = leafOf(cert, certFile)
  if (!leaf.checkPrivateKey(privateKey(key, keyFile)))
    throw new Error(`${keyFile} is not the private key of the first certificate in ${certFile}`)
  return certificateOf({ cert, key, source: certFile })
}

/** Creates a certificate from PEM texts whose key fits. `source` names it in messages. Throws if it names no host. */
export function certificateOf({ cert, key, source }: { cert: string; key: string; source: string }): Certificate {
  const leaf = leafOf(cert, source)
  const names = namesOf(leaf)
  if (names.length === 0)
    throw new Error(`${source} has no DNS name; the certificate must name the hosts that it is for`)
  const [notBefore, notAfter] = [Date.parse(leaf.validFrom), Date.parse(leaf.validTo)]
  return new Certificate({ names, notBefore, notAfter, source, cert, key })
}

/** Returns why a certificate cannot be loaded, undefined if it can. */
export function certificateIssue(files: CertificateFiles): string | undefined {
  try {
    loadCertificate(files)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** Certificates by server name. Immutable, because a reload creates a new table. */
export class CertificateTable {
  readonly #exact = new Map<string, Certificate>()
  readonly #wildcards = new Map<string, Certificate>()
  readonly #first: Certificate | undefined

  /** If two certificates have a name, the newer one is used. A client without a server name gets the first. */
  constructor(certificates: readonly Certificate[]) {
    this.#first = certificates[0]
    for (const certificate of certificates) {
      for (const name of certificate.names) {
        const [table, key] = name.startsWith('*.') ? [this.#wildcards, name.slice(2)] : [this.#exact, name]
        const present = table.get(key)
        if (!present || present.notBefore < certificate.notBefore) table.set(key, certificate)
      }
    }
  }

  /** Returns whether a certificate names this host, or this `*.` pattern. */
  covers(name: string): boolean {
    return this.named(name) !== undefined
  }

  /** Returns the certificate for clients that ask for no name. Undefined if there are none. */
  get first(): Certificate | undefined {
    return this.#first
  }

  /** Returns the certificate that names a host in lower case. */
  named(name: string): Certificate | undefined {
    const dot = name.indexOf('.')
    return this.#exact.get(name) ?? (dot > 0 ? this.#wildcards.get(name.slice(dot + 1)) : undefined)
  }
}

function leafOf(cert: string, file: string): X509Certificate {
  try {
    return new X509Certificate(cert)
  } catch (cause) {
    throw new Error(`${file} is not a PEM certificate`, { cause })
  }
}

function privateKey(key: string, file: string): KeyObject {
  try {
    return createPrivateKey(key)
  } catch (cause) {
    throw new Error(`${file} is not an unencrypted PEM private key`, { cause })
  }
}

/**
 * Subject alternative names of type DNS. The common name is used only if there are none (RFC 9525, 6.3 and its
 * predecessors).
 */
function namesOf(leaf: X509Certificate): string[] {
  const names = (leaf.subjectAltName ?? '')
    .split(', ')
    .filter((name) => name.startsWith('DNS:'))
    .map((name) => name.slice(4).toLowerCase())
  if (names.length > 0) return names
  const common = /^CN=(.+)$/m.exec(leaf.subject)?.[1]
  return common === undefined ? [] : [common.toLowerCase()]
}
