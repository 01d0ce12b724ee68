import type { Log } from '../../core/log.js'
import { messageOf } from '../../core/errors.js'
import { DAEMON } from '../../core/scope.js'
import type { Stored, StoreReader } from '../../core/store.js'
import { secretOf, type Vault } from '../../core/vault.js'
import { type Certificate, certificateOf } from '../certificates.js'
import {
  ACME_CHALLENGES,
  challengeId,
  MANAGED_CERTIFICATES,
  wildcardOf,
  type AcmeChallenge,
  type ManagedCertificate,
} from './records.js'

/**
 * Issued certificates and pending challenges of the store, ready for handshakes and requests. Follows changes of all
 * machines. Keys are decrypted when a record changes.
 */
export class IssuedCertificates {
  readonly #certificates = new Map<string, Certificate>()
  readonly #challenges = new Map<string, Certificate>()
  readonly #store: StoreReader
  readonly #vault: Pick<Vault, 'open'>
  readonly #log: Log
  readonly #unwatch: () => void

  constructor(store: StoreReader, vault: Pick<Vault, 'open'>, log: Log) {
    this.#store = store
    this.#vault = vault
    this.#log = log
    for (const stored of store.list(MANAGED_CERTIFICATES)) this.#certificate(stored)
    for (const stored of store.list(ACME_CHALLENGES)) this.#challenge(stored)
    this.#unwatch = store.watch((changes) => {
      for (const change of changes) {
        if (change.kind === MANAGED_CERTIFICATES.name)
          this.#certificate(change as Stored<ManagedCertificate | undefined>)
        else if (change.kind === ACME_CHALLENGES.name) this.#challenge(change as Stored<AcmeChallenge | undefined>)
      }
    })
  }

  /** Returns the certificate of a host name in lower case, or of the pattern that covers the host name. */
  find(name: string): Certificate | undefined {
    return this.#certificates.get(name) ?? this.#certificates.get(wildcardOf(name))
  }

  /** Returns the certificate that answers the challenge tls-alpn-01 for a name. */
  challenge(name: string): Certificate | undefined {
    return this.#challenges.get(challengeId('tls-alpn-01', name, ''))
  }

  /** Returns the body that answers the challenge http-01 for a token. */
  authorization(token: string): string | undefined {
    return this.#store.get(ACME_CHALLENGES, DAEMON, challengeId('http-01', '', token))?.value.authorization
  }

  close(): void {
    this.#unwatch()
  }

  #certificate({ id, value }: Stored<ManagedCertificate | undefined>): void {
    this.#put(this.#certificates, id, value, secretOf(MANAGED_CERTIFICATES, DAEMON, id))
  }

  #challenge({ id, value }: Stored<AcmeChallenge | undefined>): void {
    this.#put(this.#challenges, id, value, secretOf(ACME_CHALLENGES, DAEMON, id))
  }

  #put(
    table: Map<string, Certificate>,
    id: string,
    value: { readonly chain?: string; readonly key?: string } | undefined,
    aad: string,
  ): void {
    const { chain, key } = value ?? {}
    if (chain === undefined || key === undefined) return void table.delete(id)
    try {
      table.set(
        id,
        certificateOf({ cert: chain, key: this.#vault.open(key, aad), source: `ACME certificate of ${id}` }),
      )
    } catch (error) {
      table.delete(id)
      this.#log.error({ event: 'certificate_unreadable', name: id, error: messageOf(error) })
    }
  }
}
