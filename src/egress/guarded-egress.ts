import type { LookupAddress } from 'node:dns'
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { connect as connectPlain, isIP, type LookupFunction, type Socket } from 'node:net'
import { connect as connectTls, createSecureContext, rootCertificates, type SecureContext } from 'node:tls'
import { callbackify } from 'node:util'
import { Gauge } from 'prom-client'
import { allowEntry } from '../core/printable.js'
import { messageOf } from '../core/errors.js'
import type { Log } from '../core/log.js'
import type { Metrics } from '../core/metrics/metrics.js'
import { DenialLog } from './denial-log.js'
import { isPublic, parseAllowedTarget, type AllowedTarget } from './addresses.js'
import { fairResolve, systemResolve, type Resolve } from './fair-resolve.js'
import { isOwnListener } from './own-listeners.js'
import { NotPublic, type AgentOptions, type ConnectOptions, type Egress, type GuardedAgents } from './egress.js'
import { guardedAgents, type Gate, type Guarded } from './guarded-agents.js'

/** Addresses that the configuration allows. */
export interface EgressConfig {
  readonly allow_cidrs: readonly string[]
  readonly ca_file?: string | undefined
  readonly resolver_overrides: Readonly<Record<string, readonly string[]>>
}

/** A configuration with its files read, ready to be applied. */
export interface EgressRules {
  readonly config: EgressConfig
  readonly allowedTargets: readonly AllowedTarget[]
  readonly overrides: ReadonlyMap<string, readonly string[]>
  /** PEM. Undefined for the default authorities only. */
  readonly ca: string | undefined
  readonly secureContext: SecureContext | undefined
}

export type { Resolve } from './fair-resolve.js'

/**
 * Reads the files that the configuration names. Rejects with the name of the file if the authorities cannot be used.
 */
export async function readEgress(config: EgressConfig): Promise<EgressRules> {
  const { allow_cidrs: allowed, ca_file: file, resolver_overrides: overrides } = config
  const trust = file === undefined ? undefined : await readAuthorities(file)
  return {
    config,
    allowedTargets: allowed.flatMap((text) => parseAllowedTarget(text) ?? []),
    overrides: new Map(Object.entries(overrides).map(([name, addresses]) => [plainName(name), addresses])),
    ca: trust?.ca,
    secureContext: trust?.secureContext,
  }
}

async function readAuthorities(file: string): Promise<{ ca: string; secureContext: SecureContext }> {
  try {
    const ca = await readFile(file, 'utf8')
    if (!ca.includes('-----BEGIN CERTIFICATE-----')) throw new Error('contains no certificate')
    // Created once. With the list at each connection, reading all the roots would cost more than the handshake.
    return { ca, secureContext: createSecureContext({ ca: [...rootCertificates, ca] }) }
  } catch (error) {
    throw new Error(`egress.ca_file: ${file}: ${messageOf(error)}`, { cause: error })
  }
}

/**
 * The guarded egress. A name is looked up inside each connection and all addresses must be allowed, so a name that
 * changes after a check gains nothing. Literal addresses are checked before the connection is attempted.
 */
export class GuardedEgress implements Egress {
  #rules: EgressRules
  readonly #resolve: Resolve
  readonly #log: Log
  readonly #denials: DenialLog
  readonly #open: Gauge
  readonly #agents = new Set<Guarded>()
  /** Ports of listeners of this process that no destination may lead to. */
  readonly #reserved = new Set<number>()
  readonly #gate: Gate

  constructor(
    rules: EgressRules,
    { log, metrics, resolve = fairResolve(systemResolve) }: { log: Log; metrics: Metrics; resolve?: Resolve },
  ) {
    this.#rules = rules
    this.#resolve = resolve
    this.#log = log
    this.#denials = new DenialLog(log)
    this.#open = new Gauge({
      name: 'edged_egress_allow_rules',
      help: 'Entries of egress.allow_cidrs and egress.resolver_overrides, which allow addresses that are not public.',
      registers: [metrics],
    })
    const inForce = () => this.#rules
    this.#gate = {
      get rules() {
        return inForce()
      },
      get secureContext() {
        return inForce().secureContext
      },
      mayDial: (host, port) => {
        const may = isIP(host) === 0 || this.allows(host, port)
        if (!may) this.#denied(host, port, host)
        return may
      },
      lookup: (port) => this.#lookup(port),
      notPublic: (host, port) => this.#notPublic(host, port),
    }
    this.#tell()
  }

  /** Applies a configuration. Requests in flight end on their connections. No later request uses these connections. */
  use(rules: EgressRules): void {
    if (JSON.stringify([rules.config, rules.ca]) === JSON.stringify([this.#rules.config, this.#rules.ca])) return
    this.#rules = rules
    for (const agents of this.#agents) agents.renew()
    this.#tell()
  }

  /** The same object until another configuration is applied. */
  get rules(): object {
    return this.#rules
  }

  /** Denies connections to a port of this machine, regardless of the configuration and of public addresses. */
  reserve(port: number): void {
    this.#reserved.add(port)
  }

  /** Returns whether connections to an address and port are allowed. */
  allows(address: string, port: number): boolean {
    if (isOwnListener(address, port, this.#reserved)) return false
    return isPublic(address) || this.#rules.allowedTargets.some((allowed) => allowed.has(address, port))
  }

  /**
   * Returns all addresses of a name. The addresses in the configuration come first. Without them, the resolver is used.
   */
  async resolve(name: string, tenant?: string): Promise<readonly string[]> {
    return this.#rules.overrides.get(plainName(name)) ?? (await this.#resolve(name, tenant))
  }

  entryFor(given: string, port: number): string | undefined {
    const host = bare(given)
    const cannot = isIP(host) === 0 || this.allows(host, port) || isOwnListener(host, port, this.#reserved)
    return cannot ? undefined : allowEntry(host, port)
  }

  async check(host: string, port: number): Promise<void> {
    try {
      await this.#addresses(bare(host), port)
    } catch (error) {
      throw error instanceof NotPublic ? error : new NotPublic({ unresolved: bare(host) })
    }
  }

  agents(options: AgentOptions = {}): GuardedAgents {
    const agents = guardedAgents(this.#gate, options)
    this.#agents.add(agents)
    return {
      http: agents.http,
      https: agents.https,
      retire: () => {
        this.#agents.delete(agents)
        agents.retire()
      },
      destroy: () => {
        this.#agents.delete(agents)
        agents.destroy()
      },
    }
  }

  async connect({ timeoutMs, signal, ...to }: ConnectOptions): Promise<Socket> {
    signal?.throwIfAborted()
    const socket = this.#dial(to)
    const timer = setTimeout(() => socket.destroy(new Error(`no connection within ${timeoutMs} ms`)), timeoutMs)
    const abort = () => socket.destroy(new Error('given up', { cause: signal?.reason }))
    signal?.addEventListener('abort', abort, { once: true })
    try {
      await once(socket, to.tls ? 'secureConnect' : 'connect')
      return socket
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
    }
  }

  #dial({ host: given, port, tls, rejectUnauthorized = true }: Omit<ConnectOptions, 'timeoutMs' | 'signal'>): Socket {
    const host = bare(given)
    if (!this.#gate.mayDial(host, port)) throw this.#notPublic(host, port)
    const lookup = this.#lookup(port)
    if (!tls) return connectPlain({ host, port, lookup })
    const { secureContext } = this.#rules
    return connectTls({
      host,
      port,
      lookup,
      rejectUnauthorized,
      ...(isIP(host) === 0 && { servername: host }),
      ...(secureContext && { secureContext }),
    })
  }

  #lookup(port: number): LookupFunction {
    return (name, { all, family }, callback) => {
      callbackify(async () => await this.#answers(name, port, family))((error, answers) => {
        if (error) callback(error, '', 0)
        else if (all) callback(null, answers)
        else callback(null, answers[0].address, answers[0].family)
      })
    }
  }

  /** Returns the result of a lookup, which has at least one address of the requested family. */
  async #answers(name: string, port: number, family: unknown): Promise<[LookupAddress, ...LookupAddress[]]> {
    const addresses = await this.#addresses(name, port)
    const found = addresses.map((address) => ({ address, family: isIP(address) }))
    const [first, ...more] = family === 4 || family === 6 ? found.filter((each) => each.family === family) : found
    if (first === undefined) throw new NotPublic()
    return [first, ...more]
  }

  /** Returns the addresses of a host. All of the addresses are allowed. */
  async #addresses(host: string, port: number): Promise<readonly string[]> {
    const addresses = isIP(host) > 0 ? [host] : await this.#resolved(host)
    const denied = addresses.find((address) => !this.allows(address, port))
    if (addresses.length > 0 && denied === undefined) return addresses
    this.#denied(host, port, denied)
    throw denied === undefined ? new NotPublic({ unresolved: host }) : this.#notPublic(host, port)
  }

  #notPublic(host: string, port: number): NotPublic {
    return new NotPublic({ entry: this.entryFor(host, port) })
  }

  #denied(host: string, port: number, address: string | undefined): void {
    const isOwn = address !== undefined && isOwnListener(address, port, this.#reserved)
    this.#denials.denied(host, port, { address, isOwn })
  }

  /** Returns the addresses of a name, none if it does not exist. */
  async #resolved(name: string): Promise<readonly string[]> {
    try {
      return await this.resolve(name)
    } catch (error) {
      // Whether a private name exists must not be visible. A failing resolver may be reported.
      if ((error as NodeJS.ErrnoException).code === 'EAI_AGAIN') throw error
      return []
    }
  }

  #tell(): void {
    const { allow_cidrs: allowed, resolver_overrides: overrides } = this.#rules.config
    const names = Object.keys(overrides)
    this.#open.set(allowed.length + names.length)
    if (allowed.length + names.length === 0) return
    this.#log.warn(
      { event: 'egress_open', allow_cidrs: allowed, resolver_overrides: names },
      'egress: webhooks and log destinations may reach addresses that are not public',
    )
  }
}

const bare = (host: string): string => host.replace(/^\[|\]$/g, '')
const plainName = (name: string): string => name.toLowerCase().replace(/\.$/, '')
