import { randomUUID, webcrypto, X509Certificate } from 'node:crypto'
import { Counter, Gauge } from 'prom-client'
import type { JWK } from 'jose'
import type { Clock } from '../../core/clock.js'
import { MAX_SKEW_MS } from '../../core/clock-skew.js'
import { messageOf } from '../../core/errors.js'
import { KeyedMutex } from '../../core/keyed-mutex.js'
import type { Log } from '../../core/log.js'
import type { Metrics } from '../../core/metrics/metrics.js'
import { HOSTNAME } from '../../core/model/hostname.js'
import { WORKER_DOMAINS } from '../../core/model/worker-routing.js'
import { ZONES } from '../../core/model/zone.js'
import { DAEMON } from '../../core/scope.js'
import type { Store } from '../../core/store.js'
import { secretOf, type Vault } from '../../core/vault.js'
import { RecentNames } from '../recent-names.js'
import { AcmeClient, AcmeError, type Authority, type Challenge, type Proof } from './client.js'
import { dnsRecord, runDnsCommand, type DnsRecord } from './dns-command.js'
import { DomainQuestions, type OnDemandOptions } from './on-demand.js'
import {
  ACME_ACCOUNTS,
  ACME_CHALLENGES,
  challengeId,
  MANAGED_CERTIFICATES,
  type AcmeChallengeType,
  type ManagedCertificate,
} from './records.js'
import { isOrderable, isPublicName } from './served-names.js'

/** Options of the authority and its challenges. */
export interface AcmeOptions extends Authority {
  readonly challenges: readonly AcmeChallengeType[]
  /** Writes the records of dns-01. Undefined if that challenge is not used. */
  readonly dns: { readonly command: readonly string[] } | undefined
  /** Undefined if nothing is ordered at handshakes. */
  readonly onDemand: OnDemandOptions | undefined
}

export interface AcmeDeps {
  readonly store: Store
  readonly vault: Vault
  readonly clock: Clock
  readonly log: Log
  readonly metrics: Metrics
  /** Options in force. If undefined, nothing is ordered. */
  options(): AcmeOptions | undefined
  /** Host names and `*.` patterns that need a certificate. */
  names(): Iterable<string>
}

/** Kinds of records with host names. */
const WITH_NAMES: ReadonlySet<string> = new Set([HOSTNAME.name, WORKER_DOMAINS.name, ZONES.name])
const CONCURRENCY = 4
/** Names are compared at least this often. A change of a custom hostname wakes the loop before that. */
const INTERVAL_MS = 30_000
/** Orders of a name within 24 hours. */
const MAX_ORDERS = 5
/** Orders of all names within an hour, below the limits of public authorities. */
const MAX_HOURLY_ORDERS = 250
const FIRST_BACKOFF_MS = 60_000
const MAX_BACKOFF_MS = 86_400_000
const DAY_MS = 86_400_000
const HOUR_MS = 3_600_000
/** Maximum duration of an order. After it the machine of the order counts as stopped. */
const LEASE_MS = 600_000
/** A refusal of `ask` is remembered for this time. */
const REFUSED_MS = 60_000
const MAX_REFUSED = 10_000
/** Time for the removal of a DNS record while the daemon stops. */
const STOPPING_CLEANUP_MS = 5000
const EMPTY: ManagedCertificate = { orders: [], failures: 0 }

/**
 * Orders certificates for the host names of an installation and renews them with a third of their lifetime left. Of
 * several machines on one store one orders each name. After a failure the last certificate stays in use, and the next
 * order waits: 1 minute, doubled up to a day, or as long as the authority asks.
 */
export class AcmeManager {
  readonly #deps: AcmeDeps
  readonly #self = randomUUID()
  readonly #closing = new AbortController()
  readonly #unwatch: () => void
  readonly #orders: Counter<'result'>
  /** Times of the orders of all names, on the monotonic clock. */
  #recent: number[] = []
  #client: { readonly key: string; readonly client: Promise<AcmeClient> } | undefined
  #wake: () => void = () => undefined
  /** Orders of this daemon in progress, by name. */
  readonly #ordering = new Map<string, Promise<void>>()
  /** Calls of {@link demand} in progress, by name. */
  readonly #demands = new Map<string, Promise<string | undefined>>()
  /** Names that a handshake asks for and whose orders are not counted in the store yet. */
  readonly #claiming = new Set<string>()
  /** Orders whose DNS records have one name wait for each other: a command may not keep several values. */
  readonly #dns = new KeyedMutex()
  readonly #questions: DomainQuestions
  readonly #running: Promise<void>

  constructor(deps: AcmeDeps) {
    this.#deps = deps
    const { metrics, store, clock } = deps
    const refused = new RecentNames({ forMs: REFUSED_MS, max: MAX_REFUSED })
    this.#questions = new DomainQuestions(clock, refused, this.#closing.signal)
    this.#orders = new Counter({
      name: 'edged_acme_orders_total',
      help: 'ACME orders by result: issued or failed.',
      labelNames: ['result'],
      registers: [metrics],
    })
    const days = new Gauge({
      name: 'edged_acme_certificate_days_left',
      help: 'Days until the ACME certificate of a host name expires.',
      labelNames: ['name'],
      registers: [metrics],
      collect: () => {
        days.reset()
        for (const { id, value } of store.list(MANAGED_CERTIFICATES))
          if (value.not_after !== undefined)
            days.set({ name: id }, (Date.parse(value.not_after) - clock.now()) / DAY_MS)
      },
    })
    this.#unwatch = store.watch((changes) => {
      // Deliveries and the like write thousands of times per second. Only a new host name matters here.
      if (changes.some(({ kind }) => WITH_NAMES.has(kind))) this.#wake()
    })
    this.#running = this.#run()
  }

  /** Looks for names without a certificate now, after a reload. */
  check(): void {
    this.#wake()
  }

  /**
   * Orders a certificate for a host name that a client asks for and that only a pattern covers. Resolves with undefined
   * when a certificate is in force, else with the reason why there is none. The certificate of such a name is renewed by
   * the first call after it is due.
   */
  async demand(name: string): Promise<string | undefined> {
    const pending = this.#demands.get(name) ?? this.#answer(name).finally(() => this.#demands.delete(name))
    this.#demands.set(name, pending)
    return await pending
  }

  async #answer(name: string): Promise<string | undefined> {
    await this.#ordering.get(name)
    const { chain, ...record } = this.#record(name)
    if (chain !== undefined && this.#deps.clock.now() < renewalTime(record)) return undefined
    const refusal = await this.#demanded(name)
    if (refusal !== undefined) return refusal
    const { chain: issued, last_error: error } = this.#record(name)
    return issued === undefined ? (error ?? 'another machine orders it now') : undefined
  }

  /** Returns why a certificate is not ordered now. Resolves after the order. */
  async #demanded(name: string): Promise<string | undefined> {
    const options = this.#deps.options()
    if (!options) return 'no certificate file names it, and proxy.tls.acme is not configured'
    const { onDemand } = options
    if (!onDemand) return 'only a pattern covers it, and proxy.tls.acme.on_demand is off'
    if (!isPublicName(name)) return 'certificate authorities do not issue certificates for it'
    if (!this.#deps.store.writable) return 'the store cannot be written'
    const blocked = this.#blocked(this.#record(name))
    if (blocked !== undefined) return blocked
    const full = `on_demand.per_hour: ${onDemand.per_hour} orders were made in the last hour`
    if (this.#demandedInHour() >= onDemand.per_hour || !this.#hasRoom()) return full
    const refusal = await this.#questions.refusal(name, onDemand)
    if (refusal !== undefined) return refusal
    if (this.#demandedInHour() >= onDemand.per_hour) return full
    this.#claiming.add(name)
    await this.#orderOnce(name, options, { onDemand: true }).finally(() => this.#claiming.delete(name))
    return undefined
  }

  /** Number of orders at handshakes within the last hour, of all machines. */
  #demandedInHour(): number {
    const since = this.#deps.clock.now() - HOUR_MS
    let orders = this.#claiming.size
    for (const { value } of this.#deps.store.list(MANAGED_CERTIFICATES, DAEMON))
      if (value.on_demand) orders += value.orders.filter((at) => Date.parse(at) > since).length
    return orders
  }

  #record(name: string): ManagedCertificate {
    return this.#deps.store.get(MANAGED_CERTIFICATES, DAEMON, name)?.value ?? EMPTY
  }

  async close(): Promise<void> {
    this.#unwatch()
    this.#closing.abort()
    await this.#running
    await Promise.allSettled(this.#ordering.values())
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted) {
      const woken = new AbortController()
      this.#wake = () => woken.abort()
      try {
        await this.#pass()
      } catch (error) {
        this.#deps.log.error({ event: 'acme_failed', error: messageOf(error) })
      }
      if (signal.aborted) return
      await this.#deps.clock.sleep(INTERVAL_MS, AbortSignal.any([signal, woken.signal])).catch(() => undefined)
    }
  }

  /** Orders the certificates that are due. */
  async #pass(): Promise<void> {
    const options = this.#deps.options()
    if (!options || !this.#deps.store.writable) return
    const names = new Set(this.#deps.names())
    const due = [...names].filter((name) => isOrderable(name, options) && this.#isDue(name))
    const next = due.values()
    const worker = async (): Promise<void> => {
      for (const name of next) {
        if (this.#closing.signal.aborted || !this.#hasRoom()) return
        await this.#orderOnce(name, options)
      }
    }
    await Promise.all(Array.from({ length: CONCURRENCY }, worker))
    await this.#forgetOld(names)
  }

  /**
   * Deletes the records of names that nobody serves any more. A valid certificate is retained for a name that returns,
   * and so are the orders of the last 24 hours, which count against the limit.
   */
  async #forgetOld(names: ReadonlySet<string>): Promise<void> {
    const { store, clock } = this.#deps
    const now = clock.now()
    const isOld = (record: ManagedCertificate): boolean =>
      (record.not_after === undefined || Date.parse(record.not_after) <= now) && recentOf(record, now).length === 0
    for (const { id, value } of store.list(MANAGED_CERTIFICATES, DAEMON))
      if (!names.has(id) && isOld(value))
        await store.change(MANAGED_CERTIFICATES, DAEMON, id, (old) => (old && isOld(old) ? undefined : old))
  }

  /** Orders a certificate, unless another machine does. Concurrent calls for a name share one order. */
  #orderOnce(name: string, options: AcmeOptions, { onDemand = false } = {}): Promise<void> {
    const running = this.#ordering.get(name)
    if (running) return running
    const order = async (): Promise<void> => {
      const taken = await this.#claim(name, onDemand)
      this.#claiming.delete(name)
      if (taken) await this.#order(name, options)
    }
    const started = (options.dns ? this.#dns.run(dnsRecord(name, '').name, order) : order()).finally(() =>
      this.#ordering.delete(name),
    )
    this.#ordering.set(name, started)
    return started
  }

  #isDue(name: string): boolean {
    const record = this.#record(name)
    if (this.#blocked(record) !== undefined) return false
    return record.chain === undefined || this.#deps.clock.now() >= renewalTime(record)
  }

  /** Returns why no order can begin now. */
  #blocked(record: ManagedCertificate): string | undefined {
    const now = this.#deps.clock.now()
    const { last_error: error = 'the last order failed', next_order: next } = record
    if (!isFromFuture(record, now) && next !== undefined && Date.parse(next) > now)
      return `${error}; the next order is at ${next}`
    if (this.#isElsewhere(record, now)) return 'another machine orders it now'
    if (recentOf(record, now).length >= MAX_ORDERS) return `it was ordered ${MAX_ORDERS} times within a day`
    return undefined
  }

  /** Returns whether another machine orders now. */
  #isElsewhere(record: ManagedCertificate, now: number): boolean {
    const { owner } = record
    if (owner === undefined || owner.id === this.#self || isFromFuture(record, now)) return false
    return Date.parse(owner.until) > now
  }

  #hasRoom(): boolean {
    const now = this.#deps.clock.monotonic()
    this.#recent = this.#recent.filter((at) => now - at < HOUR_MS)
    return this.#recent.length < MAX_HOURLY_ORDERS
  }

  /** Takes the lease of a name and counts the order. Returns false if another machine was faster. */
  async #claim(name: string, onDemand: boolean): Promise<boolean> {
    const { store, clock } = this.#deps
    const now = clock.now()
    const stored = await store.change(MANAGED_CERTIFICATES, DAEMON, name, (old = EMPTY) => {
      if (this.#isElsewhere(old, now)) return old
      return {
        ...old,
        orders: [...recentOf(old, now), iso(now)],
        owner: { id: this.#self, until: iso(now + LEASE_MS) },
        ...(onDemand && { on_demand: true as const }),
      }
    })
    const taken = stored?.value.owner?.id === this.#self
    if (taken) this.#recent.push(clock.monotonic())
    return taken
  }

  async #order(name: string, options: AcmeOptions): Promise<void> {
    const { vault, clock, log } = this.#deps
    const aad = secretOf(MANAGED_CERTIFICATES, DAEMON, name)
    try {
      const client = await this.#account(options)
      const { certificateRequest } = await import('./key-material.js')
      const { csr, key } = await certificateRequest(name)
      const { failures } = this.#record(name)
      const chain = await client.order(name, {
        csr,
        proof: this.#proof(name, options),
        choose: (offered) => chosen(offered, options.challenges, failures),
      })
      const { validFrom, validTo } = new X509Certificate(chain)
      await this.#settle(name, (old) => ({
        ...(old.on_demand && { on_demand: old.on_demand }),
        chain,
        key: vault.seal(key, aad),
        not_before: iso(Date.parse(validFrom)),
        not_after: iso(Date.parse(validTo)),
        orders: old.orders,
        failures: 0,
      }))
      this.#orders.inc({ result: 'issued' })
      log.info({ event: 'certificate_issued', name, until: iso(Date.parse(validTo)) })
    } catch (error) {
      // An order that a stop of the daemon ended has not failed. The next start orders again.
      if (this.#closing.signal.aborted) return await this.#settle(name, ({ owner: _owner, ...old }) => old)
      const reason = messageOf(error)
      // An account that the authority does not know is created again.
      if (error instanceof AcmeError && error.type.endsWith(':accountDoesNotExist')) await this.#forget(options)
      let next = ''
      await this.#settle(name, ({ owner: _owner, ...old }) => {
        const failures = old.failures + 1
        const asked = error instanceof AcmeError ? (error.retryAfter ?? 0) : 0
        next = iso(clock.now() + Math.max(asked, backoff(failures)))
        return { ...old, failures, last_error: reason, next_order: next }
      })
      this.#orders.inc({ result: 'failed' })
      log.warn({ event: 'certificate_not_issued', name, error: reason, next_order: next })
    }
  }

  async #settle(name: string, edit: (old: ManagedCertificate) => ManagedCertificate): Promise<void> {
    await this.#deps.store.change(MANAGED_CERTIFICATES, DAEMON, name, (old = EMPTY) => edit(old))
  }

  /** Publishes challenges of a name in the store, where every machine and process finds them. */
  #proof(name: string, { dns }: AcmeOptions): Proof {
    const { store, vault, clock } = this.#deps
    const ids = new Set<string>()
    let record: DnsRecord | undefined
    const { signal } = this.#closing
    const removeRecord = async (): Promise<void> => await this.#removeRecord(dns?.command ?? [], record)
    return {
      async publish({ type: offered, token = '' }: Challenge, authorization) {
        const type = offered as AcmeChallengeType
        if (type === 'dns-01') {
          record = dnsRecord(name, authorization)
          await runDnsCommand(dns?.command ?? [], 'present', record, { signal })
          return
        }
        const id = challengeId(type, name, token)
        ids.add(id)
        if (type === 'http-01') {
          await store.change(ACME_CHALLENGES, DAEMON, id, () => ({ type, authorization }))
          return
        }
        const { challengeCertificate } = await import('./key-material.js')
        const { chain, key } = await challengeCertificate(name, authorization, clock.now())
        const sealed = vault.seal(key, secretOf(ACME_CHALLENGES, DAEMON, id))
        await store.change(ACME_CHALLENGES, DAEMON, id, () => ({ type, chain, key: sealed }))
      },
      async undo() {
        for (const id of ids) await store.change(ACME_CHALLENGES, DAEMON, id, () => undefined)
        await removeRecord()
      },
    }
  }

  /** Removes a DNS record. A failure is logged only, because the certificate may be issued nevertheless. */
  async #removeRecord(command: readonly string[], record: DnsRecord | undefined): Promise<void> {
    if (!record) return
    const stopping = this.#closing.signal.aborted && { timeoutMs: STOPPING_CLEANUP_MS }
    try {
      await runDnsCommand(command, 'cleanup', record, { ...stopping })
    } catch (error) {
      this.#deps.log.warn({ event: 'dns_record_not_removed', name: record.name, error: messageOf(error) })
    }
  }

  /** Returns the client of the account at the configured authority. The account is created at first use. */
  async #account(options: AcmeOptions): Promise<AcmeClient> {
    const key = JSON.stringify([options.directory, options.email, options.caFile, options.eab])
    if (this.#client?.key !== key) this.#client = { key, client: this.#openAccount(options) }
    const { client } = this.#client
    try {
      return await client
    } catch (error) {
      this.#client = undefined
      throw error
    }
  }

  async #openAccount(options: AcmeOptions): Promise<AcmeClient> {
    const { store, vault, clock } = this.#deps
    const { directory: id } = options
    const aad = secretOf(ACME_ACCOUNTS, DAEMON, id)
    const created = vault.seal(JSON.stringify(await newKey()), aad)
    const stored = await store.change(ACME_ACCOUNTS, DAEMON, id, (old) => old ?? { key: created })
    const account = stored?.value ?? { key: created }
    const client = await AcmeClient.open(
      options,
      JSON.parse(vault.open(account.key, aad)) as JWK,
      clock,
      this.#closing.signal,
    )
    if (account.url === undefined) {
      const url = await client.register()
      await store.change(ACME_ACCOUNTS, DAEMON, id, (old) => old && { ...old, url })
    } else client.account = account.url
    return client
  }

  async #forget({ directory: id }: AcmeOptions): Promise<void> {
    this.#client = undefined
    await this.#deps.store.change(ACME_ACCOUNTS, DAEMON, id, (old) => old && { key: old.key })
  }
}

/** Returns the challenge to use. After each failure, this is the next configured type that is offered. */
function chosen(offered: readonly Challenge[], wanted: readonly string[], failures: number): Challenge {
  const usable = wanted.flatMap((type) => offered.find((one) => one.type === type) ?? [])
  const challenge = usable[failures % Math.max(usable.length, 1)]
  if (!challenge)
    throw new AcmeError(
      `the authority offers ${offered.map(({ type }) => type).join(', ')}; proxy.tls.acme.challenges has ${wanted.join(', ')}`,
    )
  return challenge
}

const recentOf = ({ orders }: ManagedCertificate, now: number): readonly string[] =>
  orders.filter((at) => now - Date.parse(at) < DAY_MS && Date.parse(at) <= now + MAX_SKEW_MS)

/** Returns whether the last order was before the clock was set back. The times of such an order mean nothing. */
const isFromFuture = ({ orders }: ManagedCertificate, now: number): boolean =>
  orders.some((at) => Date.parse(at) > now + MAX_SKEW_MS)

/** Returns when a third of the lifetime is left. */
const renewalTime = ({
  not_before: from = '',
  not_after: until = '',
}: Pick<ManagedCertificate, 'not_before' | 'not_after'>): number =>
  Date.parse(until) - (Date.parse(until) - Date.parse(from)) / 3

const backoff = (failures: number): number => {
  const ms = Math.min(FIRST_BACKOFF_MS * 2 ** (failures - 1), MAX_BACKOFF_MS)
  return ms * (0.9 + Math.random() * 0.2)
}

const iso = (ms: number): string => new Date(ms).toISOString()

async function newKey(): Promise<JWK> {
  const algorithm = { name: 'ECDSA', namedCurve: 'P-256' }
  const { privateKey } = await webcrypto.subtle.generateKey(algorithm, true, ['sign', 'verify'])
  return await webcrypto.subtle.exportKey('jwk', privateKey)
}
