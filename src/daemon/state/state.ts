import type { AttentionItem } from '../../../control/overview/services.js'
import type { Config } from '../../config/schema.js'
import type { Clock } from '../../core/clock.js'
import type { KeptRules } from '../config/kept-rules.js'
import type { BackupStatus } from '../backups/schedule.js'
import { VERSION } from '../../release/package.js'
import type { KeyStatus } from '../../store/secrets/key-rotation.js'
import type { MissingCertificate } from '../../tls/acme/served-names.js'
import type { Attention } from './attention.js'
import type { RunningWork } from './troubles.js'
import type { Certificates } from '../certificates/certificates.js'
import {
  secretsStatus,
  storeType,
  type DaemonStatus,
  type DaemonUrls,
  type LastReload,
  type ZoneStatus,
} from './status.js'

/** A part that can become unavailable while the daemon runs. */
export interface Part {
  /** Why it is not available. Undefined if it is. */
  readonly unavailable?: string | undefined
}

export interface DaemonStateDeps {
  /** The configuration in force. */
  readonly config: () => Config
  /** Path of the configuration file; null without one. */
  readonly configFile: string | null
  /** Outcome of the last reload of the file. */
  readonly lastReload: () => LastReload | null
  readonly clock: Clock
}

/** Parts that report once the start is complete. */
interface RunningParts {
  readonly urls: () => DaemonUrls
  readonly zones: () => Iterable<ZoneStatus>
  readonly work: () => RunningWork
  readonly certificates: Pick<Certificates, 'list' | 'missing'>
  readonly keptRules: () => readonly KeptRules[]
  /** Undefined if no backups are scheduled. */
  readonly backup: () => BackupStatus | undefined
  readonly attention: Pick<Attention, 'list'>
  /** Durations of requests in milliseconds, by id of the zone. */
  readonly durations: () => Promise<ReadonlyMap<string, number>>
}

/**
 * The state that the daemon reports, from the first moment of its start, for `/readyz`, `edged status` and the
 * dashboard.
 */
export class DaemonState {
  readonly startedAt: number
  readonly #deps: DaemonStateDeps
  readonly #began: number
  #phase: 'starting' | 'running' | 'draining' = 'starting'
  readonly #parts: { part: Part; whileStarting: boolean }[] = []
  readonly #optional: Part[] = []
  #running: RunningParts | undefined
  /** Name of this machine among those with the same store; null without others. */
  machine: string | null = null
  /** State of the encrypted secrets. Undefined before the store is open. */
  secrets: (() => Promise<KeyStatus>) | undefined

  constructor(deps: DaemonStateDeps) {
    this.#deps = deps
    this.startedAt = deps.clock.now()
    this.#began = deps.clock.monotonic()
  }

  /** The daemon is not ready while `part` is unavailable; the start is reported without it unless `whileStarting`. */
  watch<P extends Part>(part: P, { whileStarting }: { whileStarting: boolean }): P {
    this.#parts.push({ part, whileStarting })
    return part
  }

  /** The daemon stays ready while `part` is unavailable; `/readyz` names the reason. */
  mention(part: Part): void {
    this.#optional.push(part)
  }

  started(running: RunningParts): void {
    this.#running = running
    this.#phase = 'running'
  }

  drain(): void {
    this.#phase = 'draining'
  }

  get isDraining(): boolean {
    return this.#phase === 'draining'
  }

  /** Returns why the daemon is not ready; empty if it is. */
  notReady(): string[] {
    const starting = this.#phase === 'starting'
    const reasons = starting ? ['the daemon is starting'] : this.isDraining ? ['shutting down'] : []
    for (const { part, whileStarting } of this.#parts)
      if (part.unavailable !== undefined && (whileStarting || !starting)) reasons.push(part.unavailable)
    return reasons
  }

  /** Returns what does not work although the daemon is ready. */
  limited(): string[] {
    return this.#optional.flatMap(({ unavailable }) => (unavailable === undefined ? [] : [unavailable]))
  }

  /** Returns the zones and the state of their origins; none before the start is complete. */
  zones(): Iterable<ZoneStatus> {
    return this.#running?.zones() ?? []
  }

  /** Returns the served names without a certificate; none before the start is complete. */
  missingCertificates(): readonly MissingCertificate[] {
    return this.#running?.certificates.missing() ?? []
  }

  /** Returns what needs attention; nothing before the start is complete. */
  async attention(): Promise<readonly AttentionItem[]> {
    return (await this.#running?.attention.list()) ?? []
  }

  async status(): Promise<DaemonStatus> {
    const { config: current, configFile, lastReload, clock } = this.#deps
    const config = current()
    const secrets = await this.secrets?.()
    const durations = await this.#running?.durations()
    const reasons = this.notReady()
    return {
      version: VERSION,
      attention: await this.attention(),
      node: process.version,
      pid: process.pid,
      started_at: new Date(this.startedAt).toISOString(),
      uptime_seconds: Math.floor((clock.monotonic() - this.#began) / 1000),
      ready: reasons.length === 0,
      reasons,
      config_file: configFile,
      last_reload: lastReload(),
      store: storeType(config),
      machine: this.machine,
      secrets: secrets === undefined ? null : secretsStatus(secrets),
      memory_bytes: process.memoryUsage.rss(),
      listeners: this.#running?.urls() ?? {},
      zones: [...this.zones()].map((zone) => ({ ...zone, p95_ms: durations?.get(zone.id) ?? null })),
      certificates: this.#running?.certificates.list() ?? [],
      missing_certificates: this.missingCertificates(),
      ...(this.#running?.work() ?? { failing_jobs: [], open_circuit_breakers: [], workers: {} }),
      kept_rules: this.#running?.keptRules() ?? [],
      backup: this.#running?.backup() ?? null,
      pipelines: config.pipelines.map(({ name }) => name),
    }
  }
}
