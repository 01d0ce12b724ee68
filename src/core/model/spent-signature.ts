import { kind } from '../store.js'

/**
 * A signature of a request that has paid, or is about to. The id is the digest of its key and its bytes. The scope is the
 * daemon. It is deleted after the signature has expired.
 */
export interface StoredSpentSignature {
  /** Seconds since 1970. */
  readonly expires: number
}
export const SPENT_SIGNATURES = kind<StoredSpentSignature>('spent_signature')
