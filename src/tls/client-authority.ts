import { createHash, X509Certificate } from 'node:crypto'
import type { TLSSocket } from 'node:tls'
import type { ClientCertificate, CertificateTexts, CertificateStatus } from '../core/client-certificate.js'
import { messageOf } from '../core/errors.js'
import { pem } from './pem.js'

const PEM_BLOCK = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g
/** Maximum length of an OpenSSL session id context. */
const ID_LENGTH = 32

/** The authorities that sign certificates of a zone's clients. */
export class ClientAuthority {
  /** PEM texts of the certificates. */
  readonly pem: string
  /**
   * Identifies the authorities. Also used as the session id context, so that a session in which another authority
   * verified the client cannot be resumed.
   */
  readonly id: string
  readonly #certificates: readonly X509Certificate[]

  /** Throws if the text has no certificate. */
  constructor(pem: string) {
    this.#certificates = (pem.match(PEM_BLOCK) ?? []).map((block) => new X509Certificate(block))
    if (this.#certificates.length === 0) throw new Error('it has no PEM certificate')
    this.pem = pem
    this.id = createHash('sha256').update(pem).digest('hex').slice(0, ID_LENGTH)
  }

  /** Returns the authority that signed a certificate. */
  issuerOf(certificate: X509Certificate): X509Certificate | undefined {
    return this.#certificates.find((each) => certificate.checkIssued(each))
  }
}

/** Loads authorities from a file. Throws with a message that names it. */
export function loadClientAuthority(file: string): ClientAuthority {
  const text = pem(file)
  try {
    return new ClientAuthority(text)
  } catch (cause) {
    throw new Error(`${file} is not usable: ${messageOf(cause)}`, { cause })
  }
}

/** Returns why a file cannot be used, undefined if it can. */
export function authorityIssue(file: string): string | undefined {
  try {
    loadClientAuthority(file)
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** Parts of a TLS socket that know the result of the verification. */
interface VerifyingHandle {
  verifyError(): (Error & { readonly code?: string }) | null | undefined
}

/** Returns the certificate that a client presented in its handshake. Undefined if the client presented none. */
export function clientCertificate(socket: TLSSocket, authority: ClientAuthority): ClientCertificate | undefined {
  const certificate = socket.getPeerX509Certificate()
  if (!certificate) return undefined
  const error = (socket as unknown as { readonly _handle: VerifyingHandle })._handle.verifyError()
  return new PresentedCertificate(certificate, authority, error ? (STATUSES[error.code ?? ''] ?? 'untrusted') : 'ok')
}

const STATUSES: Readonly<Record<string, CertificateStatus>> = {
  CERT_HAS_EXPIRED: 'expired',
  CERT_NOT_YET_VALID: 'notyetvalid',
}

/** Maximum bytes of the fields of RFC 9440. */
const MAX_RFC9440 = 10_240
const MAX_CHAIN_RFC9440 = 16_384
/** Maximum certificates of a chain. */
const MAX_CHAIN = 10

class PresentedCertificate implements ClientCertificate {
  readonly status: CertificateStatus
  readonly #certificate: X509Certificate
  readonly #authority: ClientAuthority
  #texts: CertificateTexts | undefined

  constructor(certificate: X509Certificate, authority: ClientAuthority, status: CertificateStatus) {
    this.#certificate = certificate
    this.#authority = authority
    this.status = status
  }

  get isTooLarge(): boolean {
    return rfc9440(this.#certificate).length > MAX_RFC9440
  }

  get isChainTooLarge(): boolean {
    return chainText(this.#certificate).length > MAX_CHAIN_RFC9440
  }

  get texts(): CertificateTexts {
    this.#texts ??= this.#read()
    return this.#texts
  }

  #read(): CertificateTexts {
    const certificate = this.#certificate
    const issuer = certificate.issuerCertificate ?? this.#authority.issuerOf(certificate)
    const [subject, signer] = [namesOf(certificate.subject), namesOf(certificate.issuer)]
    return {
      issuer_dn: signer.rfc2253,
      subject_dn: subject.rfc2253,
      issuer_dn_rfc2253: signer.rfc2253,
      subject_dn_rfc2253: subject.rfc2253,
      issuer_dn_legacy: signer.legacy,
      subject_dn_legacy: subject.legacy,
      serial: certificate.serialNumber,
      issuer_serial: issuer?.serialNumber ?? '',
      fingerprint_sha256: fingerprint(certificate.fingerprint256),
      fingerprint_sha1: fingerprint(certificate.fingerprint),
      not_before: certificate.validFrom,
      not_after: certificate.validTo,
      ski: subjectKeyId(certificate.raw),
      issuer_ski: issuer ? subjectKeyId(issuer.raw) : '',
      rfc9440: this.isTooLarge ? '' : rfc9440(certificate),
      chain_rfc9440: this.isChainTooLarge ? '' : chainText(certificate),
    }
  }
}

/** Returns a name in the form of RFC 2253, the most specific part first, and in the old form of OpenSSL. */
function namesOf(lines: string): { rfc2253: string; legacy: string } {
  const parts = lines.split('\n').filter((part) => part !== '')
  return { rfc2253: parts.toReversed().join(','), legacy: parts.map((part) => `/${part}`).join('') }
}

const fingerprint = (text: string): string => text.replaceAll(':', '').toLowerCase()

const rfc9440 = (certificate: X509Certificate): string => `:${certificate.raw.toString('base64')}:`

/** Returns the certificates above the leaf that the client sent (RFC 9440, 2.3). */
function chainText(leaf: X509Certificate): string {
  const chain: string[] = []
  let next = leaf.issuerCertificate
  while (next && chain.length < MAX_CHAIN) {
    chain.push(rfc9440(next))
    next = next.issuerCertificate?.fingerprint256 === next.fingerprint256 ? undefined : next.issuerCertificate
  }
  return chain.join(', ')
}

const SEQUENCE = 0x30
const OCTET_STRING = 0x04
const EXTENSIONS = 0xa3
/** 2.5.29.14 (RFC 5280, 4.2.1.2). */
const SUBJECT_KEY_ID = Buffer.from([0x55, 0x1d, 0x0e])

/** Returns the subject key identifier of a DER certificate as hexadecimal digits. Empty if the certificate has none. */
function subjectKeyId(der: Buffer): string {
  try {
    const [certificate] = elements(der)
    const [body] = elements(certificate!.content)
    const extensions = elements(body!.content).find(({ tag }) => tag === EXTENSIONS)
    if (!extensions) return ''
    for (const { tag, content } of elements(elements(extensions.content)[0]!.content)) {
      const parts = tag === SEQUENCE ? elements(content) : []
      if (!parts[0]?.content.equals(SUBJECT_KEY_ID)) continue
      const value = parts.find((part) => part.tag === OCTET_STRING)
      return value ? elements(value.content)[0]!.content.toString('hex').toUpperCase() : ''
    }
    return ''
  } catch {
    // OpenSSL has parsed the certificate, so this is a form that no known authority writes.
    return ''
  }
}

interface Element {
  readonly tag: number
  readonly content: Buffer
}

/** Returns the DER elements that follow each other in `bytes`. */
function elements(bytes: Buffer): Element[] {
  const found: Element[] = []
  for (let at = 0; at < bytes.length;) {
    const tag = bytes.readUInt8(at)
    const first = bytes.readUInt8(at + 1)
    const size = first < 0x80 ? 0 : first & 0x7f
    const length = size === 0 ? first : bytes.readUIntBE(at + 2, size)
    const start = at + 2 + size
    found.push({ tag, content: bytes.subarray(start, start + length) })
    at = start + length
  }
  return found
}
