import { setImmediate } from 'node:timers/promises'
import type { Delivery } from '../../src/core/model/delivery.js'
import {
  FINDINGS,
  INSTANCES,
  type FindingInput,
  type InstanceInput,
  type StoredFinding,
  type StoredInstance,
} from '../../src/core/model/finding.js'
import { POLICIES, POLICY_RUNS, type StoredPolicy } from '../../src/core/model/policy.js'
import { WEBHOOKS, type StoredWebhook } from '../../src/core/model/webhook.js'
import type { Scope } from '../../src/core/scope.js'
import type { Kind, Stored, Write } from '../../src/core/store.js'
import { deliveryOf } from '../../src/webhooks/payload.js'
import { policiesFor } from '../../src/webhooks/policies.js'
import { ApiError } from '../http/errors.js'
import type { KeyedEdits } from '../resources/keyed-edits.js'
import type { PostureDeps, WebhookServices } from './services.js'

export type Finding = Omit<FindingInput, 'instances'>

/** Maximum instances and bytes of JSON (payloads included) of one batch. */
export const BATCH_INSTANCES = 500
export const BATCH_BYTES = 4 * 1024 * 1024

/** Maximum requests that are responded to in one turn of the event loop. */
const TURN_PARTS = 16

/** A finding with instances to store. */
export interface Given {
  readonly finding: Finding
  readonly instances: readonly InstanceInput[]
}

/** Instances as stored, each with its finding. */
export type Seen = readonly (readonly [StoredFinding, StoredInstance])[]

/** The findings that one request stores together. */
export interface Part {
  readonly given: readonly Given[]
  readonly instances: number
  readonly bytes: number
}

interface Waiting extends Part {
  readonly settle: (outcome: Outcome) => void
}

type Outcome = { readonly stored: Seen } | { readonly error: unknown }

interface Deps extends Pick<PostureDeps, 'store' | 'clock'> {
  readonly posture: () => Pick<WebhookServices, 'deliveries' | 'limits'>
}

/** A record as stored, or as this batch changes it. */
interface Row<T> {
  readonly value: T | undefined
  readonly version: number
  changed: boolean
}

/** Changes of one batch. */
class Draft {
  readonly findings = new Map<string, Row<StoredFinding>>()
  readonly instances = new Map<string, Row<StoredInstance>>()
  readonly deliveries: Delivery[] = []
  /** Policies with deliveries. */
  readonly triggered = new Set<string>()
  newFindings = 0
  newInstances = 0

  /** Adds the changes of a later part. */
  add(part: Draft): void {
    for (const [id, row] of part.findings) this.findings.set(id, row)
    for (const [id, row] of part.instances) this.instances.set(id, row)
    for (const delivery of part.deliveries) this.deliveries.push(delivery)
    for (const id of part.triggered) this.triggered.add(id)
    this.newFindings += part.newFindings
    this.newInstances += part.newInstances
  }
}

/**
 * Stores findings with their instances. Parts of concurrent requests of an account share a batch: those that arrive while
 * one is being stored form the next. Each batch also has the deliveries that policies create for new instances, so a
 * policy sends an instance exactly once even if the daemon is killed.
 */
export class FindingBatches {
  readonly #deps: Deps
  readonly #edits: KeyedEdits
  /** Parts that wait for the next batch, by account. */
  readonly #waiting = new Map<string, Waiting[]>()

  /** `edits`: shared by everything that changes instances of an account. */
  constructor(deps: Deps, edits: KeyedEdits) {
    this.#deps = deps
    this.#edits = edits
  }

  /**
   * Resolves with the instances when the part is durable. Rejects with `queueFull`, `tooManyFindings` or `conflict` if
   * this part cannot be stored, and with the error of the store together with all parts of the batch.
   */
  async store(scope: Scope, part: Part): Promise<Seen> {
    return await new Promise((resolve, reject) => {
      const settle = (outcome: Outcome) => ('error' in outcome ? reject(outcome.error) : resolve(outcome.stored))
      const waiting = this.#waiting.get(scope.id)
      if (waiting) waiting.push({ ...part, settle })
      else {
        this.#waiting.set(scope.id, [{ ...part, settle }])
        void this.#storeNext(scope)
      }
    })
  }

  async #storeNext(scope: Scope): Promise<void> {
    // Other requests of this turn of the event loop belong to the same batch.
    await setImmediate()
    const parts: Waiting[] = []
    try {
      const outcomes = await this.#edits.run(scope.id, async () => {
        if (parts.length === 0) parts.push(...this.#take(scope))
        return await this.#storeParts(scope, parts)
      })
      for (const [index, { settle }] of parts.entries()) {
        // The responses of a whole batch would take one long turn of the event loop.
        if (index > 0 && index % TURN_PARTS === 0) await setImmediate()
        settle(outcomes[index]!)
      }
    } catch (error) {
      // Rejected parts too: they may have been decided on changes that were not stored.
      for (const { settle } of parts) settle({ error })
    }
  }

  /** Returns the parts of the next batch. */
  #take(scope: Scope): readonly Waiting[] {
    const waiting = this.#waiting.get(scope.id) ?? []
    let instances = 0
    let bytes = 0
    const fits = waiting.findIndex((part, index) => {
      instances += part.instances
      bytes += part.bytes
      return index > 0 && (instances > BATCH_INSTANCES || bytes > BATCH_BYTES)
    })
    const parts = waiting.splice(0, fits < 0 ? waiting.length : fits)
    if (waiting.length > 0) void this.#storeNext(scope)
    else this.#waiting.delete(scope.id)
    return parts
  }

  /** Stores those parts that can be stored. */
  async #storeParts(scope: Scope, parts: readonly Part[]): Promise<Outcome[]> {
    const { clock, posture } = this.#deps
    const now = clock.now()
    const all = new Draft()
    const outcomes = parts.map(({ given }): Outcome => {
      try {
        const draft = new Draft()
        const stored = this.#decide(scope, now, given, { draft, all })
        this.#refuseTooMany(scope, { draft, all })
        all.add(draft)
        return { stored }
      } catch (error) {
        return { error }
      }
    })
    const value = { last_triggered_at: new Date(now).toISOString() }
    const runs = [...all.triggered].map((id): Write => ({ kind: POLICY_RUNS, scope, id, value }))
    const writes = [...writesOf(FINDINGS, scope, all.findings), ...writesOf(INSTANCES, scope, all.instances), ...runs]
    if (writes.length > 0) await posture().deliveries.accept(scope, all.deliveries, { writes })
    return outcomes
  }

  /** Adds the changes of a part to `draft`. The changes apply after `all`, the parts before it. Throws `conflict`. */
  #decide(scope: Scope, now: number, given: readonly Given[], drafts: Drafts): Seen {
    const { draft } = drafts
    const at = new Date(now).toISOString()
    const seen: [StoredFinding, StoredInstance][] = []
    for (const { finding: input, instances: inputs } of given) {
      const row = this.#row(FINDINGS, scope, input.id, [draft.findings, drafts.all.findings])
      const { created_at = at, ignored, severity_override } = row.value ?? {}
      const kept = { ...(ignored !== undefined && { ignored }), ...(severity_override && { severity_override }) }
      const finding = { ...input, ...kept, created_at, updated_at: at }
      if (row.value === undefined) draft.newFindings += 1
      put(draft.findings, input.id, row, finding)
      const targets = this.targets(scope, finding)
      for (const one of inputs) {
        const known = this.#row(INSTANCES, scope, one.id, [draft.instances, drafts.all.instances])
        // Another request stored it first; a repetition of this one reports the line.
        if (known.value !== undefined && known.value.finding_id !== input.id) throw new ApiError('conflict')
        const { is_archived = known.value?.is_archived ?? false } = one
        const created_at = known.value?.created_at ?? at
        const instance = { ...one, is_archived, finding_id: input.id, created_at, updated_at: at }
        if (known.value === undefined) draft.newInstances += 1
        put(draft.instances, one.id, known, instance)
        seen.push([finding, instance])
        if (known.value !== undefined || is_archived) continue
        for (const { webhook, policy } of targets) {
          draft.deliveries.push(
            deliveryOf(now, { ...policy.saved_by, policy_id: policy.id }, webhook, finding, instance),
          )
          draft.triggered.add(policy.id)
        }
      }
    }
    return seen
  }

  #row<T>(kind: Kind<T>, scope: Scope, id: string, [own, before]: readonly ReadonlyMap<string, Row<T>>[]): Row<T> {
    const known = own?.get(id) ?? before?.get(id)
    if (known) return known
    const stored: Stored<T> | undefined = this.#deps.store.get(kind, scope, id)
    return { value: stored?.value, version: stored?.version ?? 0, changed: false }
  }

  /** Returns the webhooks that policies send new instances of a finding to, each once with its oldest policy. */
  targets(scope: Scope, finding: Finding): { webhook: StoredWebhook; policy: StoredPolicy }[] {
    if (finding.category.type !== 'Posture') return []
    const { store } = this.#deps
    const found: { webhook: StoredWebhook; policy: StoredPolicy }[] = []
    const seen = new Set<string>()
    for (const policy of policiesFor(store.list(POLICIES, scope), finding)) {
      for (const id of policy.webhook_ids) {
        if (seen.has(id)) continue
        seen.add(id)
        const webhook = store.get(WEBHOOKS, scope, id)?.value
        if (webhook?.status === 'enabled') found.push({ webhook, policy })
      }
    }
    return found
  }

  /** Throws `tooManyFindings` or `queueFull` if a part does not fit after those before it. */
  #refuseTooMany(scope: Scope, { draft, all }: Drafts): void {
    const { store, posture } = this.#deps
    const { deliveries, limits } = posture()
    const max = limits()
    const isOver = (kind: Kind<unknown>, added: number, before: number, most: number): boolean =>
      added > 0 && store.count(kind, scope) + before + added > most
    if (
      isOver(FINDINGS, draft.newFindings, all.newFindings, max.findings) ||
      isOver(INSTANCES, draft.newInstances, all.newInstances, max.instances)
    )
      throw new ApiError('tooManyFindings')
    const { length } = draft.deliveries
    if (length > 0 && all.deliveries.length + length > deliveries.room(scope))
      throw new ApiError('queueFull', undefined, { headers: { 'retry-after': '30' } })
  }
}

/** The changes of a part, and the changes of the earlier parts of the same batch. */
interface Drafts {
  readonly draft: Draft
  readonly all: Draft
}

/** Sets the new value of a record unless only its time differs. */
function put<T extends { readonly updated_at: string }>(
  rows: Map<string, Row<T>>,
  id: string,
  row: Row<T>,
  value: T,
): void {
  const same =
    row.value !== undefined &&
    JSON.stringify({ ...row.value, updated_at: '' }) === JSON.stringify({ ...value, updated_at: '' })
  rows.set(id, same ? row : { value, version: row.version, changed: true })
}

const writesOf = <T>(kind: Kind<T>, scope: Scope, rows: ReadonlyMap<string, Row<T>>): Write[] =>
  [...rows]
    .filter(([, { changed }]) => changed)
    .map(([id, { value, version }]) => ({ kind, scope, id, value, ifVersion: version }))
