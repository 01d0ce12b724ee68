/** Outcome of the verification of a client certificate. */
export type CertificateStatus = 'ok' | 'untrusted' | 'notyetvalid' | 'expired'

/** Texts of a certificate, by the names of the fields `cf.tls_client_auth.cert_...`. */
export interface CertificateTexts {
  readonly issuer_dn: string
  readonly subject_dn: string
  readonly issuer_dn_rfc2253: string
  readonly subject_dn_rfc2253: string
  readonly issuer_dn_legacy: string
  readonly subject_dn_legacy: string
  /** Hexadecimal digits in upper case. */
  readonly serial: string
  readonly issuer_serial: string
  /** Hexadecimal digits in lower case. */
  readonly fingerprint_sha256: string
  readonly fingerprint_sha1: string
  /** `Dec 22 19:39:00 2026 GMT`. */
  readonly not_before: string
  readonly not_after: string
  readonly ski: string
  readonly issuer_ski: string
  /** `:base64:` (RFC 9440). Empty if too large. */
  readonly rfc9440: string
  readonly chain_rfc9440: string
}

/** A certificate that a client presented, and whether its zone trusts it. */
export interface ClientCertificate {
  readonly status: CertificateStatus
  readonly texts: CertificateTexts
  /** `rfc9440` is left out. */
  readonly isTooLarge: boolean
  /** `chain_rfc9440` is left out. */
  readonly isChainTooLarge: boolean
}
