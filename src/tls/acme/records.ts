import { kind } from '../../core/store.js'

/** Account at a certificate authority. The id is its directory URL. */
export interface AcmeAccount {
  /** Sealed JWK of the account key. */
  readonly key: string
  /** URL of the account. Undefined before it was created. */
  readonly url?: string
}

/** A host name or `*.` pattern that gets its certificates by ACME, with the last certificate. The id is the name. */
export interface ManagedCertificate {
  /** PEM chain, leaf first. Undefined before the first order succeeded. */
  readonly chain?: string
  /** Sealed PEM of the private key. */
  readonly key?: string
  readonly not_before?: string
  readonly not_after?: string
  /** Times of the orders of the last 24 hours. */
  readonly orders: readonly string[]
  /** Failed orders since the last success. */
  readonly failures: number
  readonly last_error?: string
  /** No order before this time. */
  readonly next_order?: string
  /** Its first order was at a handshake. */
  readonly on_demand?: true
  /** The daemon that orders now, and until when no other one does. */
  readonly owner?: { readonly id: string; readonly until: string }
}

/** A pending challenge. The id is the token (http-01) or the host name (tls-alpn-01). See {@link challengeId}. */
export interface AcmeChallenge {
  readonly type: StoredChallengeType
  /** Key authorization that is the body of the response (RFC 8555, 8.3). For http-01. */
  readonly authorization?: string
  /** Certificate that proves control (RFC 8737, 3) with its sealed key. For tls-alpn-01. */
  readonly chain?: string
  readonly key?: string
}

/** Challenges that a validation request to this installation asks for. */
type StoredChallengeType = 'http-01' | 'tls-alpn-01'
export type AcmeChallengeType = StoredChallengeType | 'dns-01'

export const ACME_ACCOUNTS = kind<AcmeAccount>('acme_account')
export const MANAGED_CERTIFICATES = kind<ManagedCertificate>('managed_certificate')

/** Returns the `*.` pattern that covers a host name. */
export const wildcardOf = (name: string): string => `*.${name.slice(name.indexOf('.') + 1)}`
export const ACME_CHALLENGES = kind<AcmeChallenge>('acme_challenge')

/** Returns the id of a challenge, which is named by a validation request. */
export const challengeId = (type: StoredChallengeType, name: string, token: string): string =>
  `${type} ${type === 'http-01' ? token : name}`
