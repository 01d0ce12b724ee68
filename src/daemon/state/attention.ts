import type { Watched } from '../../../pipelines/logpush/monitor.js'
import type { AttentionItem } from '../../../control/overview/services.js'
import { overlaps } from '../../../control/zones/certificate-packs.js'
import type { Config } from '../../config/schema.js'
import type { Clock } from '../../core/clock.js'
import { LOGPUSH_JOBS } from '../../core/model/logpush-job.js'
import { WEBHOOKS } from '../../core/model/webhook.js'
import type { WebhookHealthState } from '../../core/model/delivery.js'
import { EventLoopYield, inSlices } from '../../core/schedule/event-loop-yield.js'
import type { Scope } from '../../core/scope.js'
import type { StoreReader } from '../../core/store.js'
import type { Sample } from '../../telemetry/samples.js'
import type { MissingCertificate } from '../../tls/acme/served-names.js'
import type { CertificateStatus } from '../certificates/certificates.js'
import type { KeptRules } from '../config/kept-rules.js'
import type { ZoneStatus } from './status.js'
import { WorkerExceptions } from './worker-exceptions.js'

const DAY_MS = 86_400_000
/** Days before the end of a certificate of a file. One of ACME is renewed before. */
const EXPIRES_DAYS = { file: 30, acme: 14 }
const EXPIRES_SOON_DAYS = 7
/** Part of the log spool's limit that is nearly all. */
const NEARLY_FULL = 0.9
const MAX_ITEMS = 500
const MAX_NAMES = 3

export interface AttentionDeps {
  readonly config: () => Config
  readonly store: StoreReader
  readonly zones: () => Iterable<ZoneStatus>
  readonly running: () => readonly Watched[]
  /** Webhooks whose circuit breaker is open, then the others whose last attempt failed. */
  readonly breakers: () => Iterable<{ readonly scope: Scope; readonly webhookId: string }>
  readonly failing: () => Iterable<{ readonly scope: Scope; readonly webhookId: string }>
  readonly health: (scope: Scope, webhookId: string) => WebhookHealthState
  readonly certificates: () => readonly CertificateStatus[]
  readonly missing: () => readonly MissingCertificate[]
  readonly keptRules: () => readonly KeptRules[]
  readonly samples: (prefix: string) => Promise<readonly Sample[]>
  readonly clock: Clock
}

/** What needs attention, for the API, the dashboard and `edged status`. */
export class Attention {
  readonly #deps: AttentionDeps
  readonly #slices = new EventLoopYield()
  readonly #exceptions: WorkerExceptions

  constructor(deps: AttentionDeps) {
    this.#deps = deps
    this.#exceptions = new WorkerExceptions(deps.samples, deps.clock)
  }

  close(): void {
    this.#exceptions.close()
  }

  /** Returns all items, errors first, each kind in a fixed order. */
  async list(): Promise<AttentionItem[]> {
    const accounts = new Map(this.#deps.config().zones.map(({ id, account }) => [id, account]))
    const items = [
      ...this.#jobs(accounts),
      ...this.#webhooks(),
      ...(await this.#origins(accounts)),
      ...this.#missing(accounts),
      ...this.#expiring(),
      ...(await this.#workers()),
      ...this.#shadowed(accounts),
      ...(await this.#spool()),
    ]
    const errors = items.filter(({ severity }) => severity === 'error')
    return [...errors, ...items.filter(({ severity }) => severity !== 'error')].slice(0, MAX_ITEMS)
  }

  *#jobs(accounts: ReadonlyMap<string, string>): Generator<AttentionItem> {
    const { running, store } = this.#deps
    for (const job of running()) {
      const state = job.state()
      if (state !== 'failing' && state !== 'waiting') continue
      const { kind, name: id, scope } = job
      const stored = kind === 'job' && scope ? store.get(LOGPUSH_JOBS, scope, id)?.value.name : undefined
      const name = stored ?? id
      const { lagRecords } = job.progress()
      const what = kind === 'job' ? 'Log job' : 'Pipeline'
      const waiting = lagRecords > 0 ? ` · ${count(lagRecords, 'record')} waiting` : ''
      yield {
        kind: 'job_failing',
        severity: 'error',
        since: job.failingSince?.() ?? null,
        text: `${what} ${name} fails: ${job.error() ?? 'it waits for a new start'}${waiting}`,
        ...placeOf(scope, accounts),
        object: { type: kind, id, name },
      }
    }
  }

  *#webhooks(): Generator<AttentionItem> {
    const { breakers, failing, health, store } = this.#deps
    const itemOf = (scope: Scope, id: string, kind: AttentionItem['kind'], what: string) => {
      const name = store.get(WEBHOOKS, scope, id)?.value.label ?? id
      const { failing_since: since, waiting } = health(scope, id)
      const rest = waiting > 0 ? ` · ${count(waiting, 'delivery', 'deliveries')} waiting` : ''
      return {
        kind,
        severity: 'error' as const,
        since,
        text: `Webhook ${name} ${what}${rest}`,
        zone_id: null,
        account_id: scope.id,
        object: { type: 'webhook', id, name },
      }
    }
    for (const { scope, webhookId: id } of breakers()) {
      const { failures, next_try_at: next } = health(scope, id)
      yield itemOf(scope, id, 'breaker_open', `is paused after ${count(failures, 'failure')}, next try at ${next}`)
    }
    for (const { scope, webhookId: id } of failing())
      if (health(scope, id).state === 'failing')
        yield itemOf(scope, id, 'webhook_failing', 'fails: the last attempt failed')
  }

  async #origins(accounts: ReadonlyMap<string, string>): Promise<AttentionItem[]> {
    const items: AttentionItem[] = []
    const pause = () => this.#slices.yieldToEventLoop()
    for await (const slice of inSlices(this.#deps.zones(), pause))
      for (const { id, name: zone, origins } of slice)
        for (const { url, state, since, last_error: error } of origins) {
          if (state !== 'down' && state !== 'missing') continue
          const place = { zone_id: id, account_id: accounts.get(id) ?? null }
          if (state === 'down')
            items.push({
              kind: 'origin_down',
              severity: 'error',
              since,
              text: `Origin ${url} of ${zone} is down${error === null ? '' : `: ${error}`}`,
              ...place,
              object: { type: 'origin', id: url, name: url },
            })
          else
            items.push({
              kind: 'origin_missing',
              severity: 'warning',
              since: null,
              text: `${zone} has no origin`,
              ...place,
              object: { type: 'zone', id, name: zone },
            })
        }
    return items
  }

  *#missing(accounts: ReadonlyMap<string, string>): Generator<AttentionItem> {
    for (const [id, missing] of grouped(this.#deps.missing(), ({ zone_id: zone }) => zone)) {
      const [first] = missing
      const names = missing.map(({ name }) => name)
      yield {
        kind: 'certificate_missing',
        severity: 'warning',
        since: null,
        text: `${listed(names)} ${names.length === 1 ? 'has' : 'have'} no certificate`,
        zone_id: id,
        account_id: accounts.get(id) ?? null,
        object: { type: 'zone', id, name: first?.zone ?? '' },
      }
    }
  }

  *#expiring(): Generator<AttentionItem> {
    const { certificates, config, clock } = this.#deps
    for (const { names, source, not_after: until } of certificates()) {
      const days = Math.floor((Date.parse(until) - clock.now()) / DAY_MS)
      if (days >= EXPIRES_DAYS[source]) continue
      const zone = config().zones.find((one) =>
        (one.hostnames ?? [one.name, `*.${one.name}`]).some((pattern) => names.some((name) => overlaps(pattern, name))),
      )
      const name = names[0] ?? ''
      yield {
        kind: 'certificate_expires',
        severity: days < EXPIRES_SOON_DAYS ? 'error' : 'warning',
        since: null,
        text:
          days < 0
            ? `The certificate of ${listed(names)} has expired`
            : `The certificate of ${listed(names)} ends in ${count(days, 'day')}`,
        zone_id: zone?.id ?? null,
        account_id: zone?.account ?? null,
        object: { type: 'certificate', id: name, name },
      }
    }
  }

  async #workers(): Promise<AttentionItem[]> {
    const throwing = await this.#exceptions.list()
    return throwing.map(({ account, script, exceptions, since }) => ({
      kind: 'worker_exceptions',
      severity: 'error',
      since: new Date(since).toISOString(),
      text: `Worker ${script} has thrown ${count(exceptions, 'exception')} in the last 15 minutes`,
      zone_id: null,
      account_id: account,
      object: { type: 'worker', id: script, name: script },
    }))
  }

  *#shadowed(accounts: ReadonlyMap<string, string>): Generator<AttentionItem> {
    for (const { scope, phase, rules } of this.#deps.keptRules())
      yield {
        kind: 'file_rules_shadow',
        severity: 'warning',
        since: null,
        text: `${count(rules, 'rule')} of the API ${rules === 1 ? 'is' : 'are'} not in force: the file has ${phase}`,
        ...placeOf(scope, accounts),
        object: { type: 'phase', id: phase, name: phase },
      }
  }

  async #spool(): Promise<AttentionItem[]> {
    const { samples, config } = this.#deps
    const { retention_bytes: limit } = config().logpush
    const found = await samples('edged_logpush_spool_bytes')
    const used = found.reduce((sum, { value }) => sum + value, 0)
    if (used < limit * NEARLY_FULL) return []
    return [
      {
        kind: 'spool_nearly_full',
        severity: 'error',
        since: null,
        text: `The log spool has ${Math.round((100 * used) / limit)} % of logpush.retention_bytes; when it is full, the oldest records are dropped`,
        zone_id: null,
        account_id: null,
        object: { type: 'spool', id: 'spool', name: 'log spool' },
      },
    ]
  }
}

function placeOf(scope: Scope | undefined, accounts: ReadonlyMap<string, string>) {
  if (scope?.type === 'zone') return { zone_id: scope.id, account_id: accounts.get(scope.id) ?? null }
  return { zone_id: null, account_id: scope?.type === 'account' ? scope.id : null }
}

const count = (number: number, one: string, many = `${one}s`): string =>
  `${number.toLocaleString('en-US')} ${number === 1 ? one : many}`

function listed(names: readonly string[]): string {
  const shown = names.slice(0, MAX_NAMES).map((name) => (name === '*' ? 'every other host name' : name))
  return names.length > MAX_NAMES ? `${shown.join(', ')} and ${names.length - MAX_NAMES} more` : shown.join(', ')
}

function grouped<T>(items: Iterable<T>, keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const item of items) {
    const group = groups.get(keyOf(item))
    if (group) group.push(item)
    else groups.set(keyOf(item), [item])
  }
  return groups
}
