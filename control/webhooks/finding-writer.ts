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
import { casbRecord } from '../../src/webhooks/casb-record.js'
import { deliveryOf } from '../../src/webhooks/payload.js'
import { policiesFor } from '../../src/webhooks/policies.js'
import type { KeyedEdits } from '../resources/keyed-edits.js'
import { ApiError } from '../http/errors.js'
import type { PostureDeps } from './services.js'

export type Finding = Omit<FindingInput, 'instances'>

/** Maximum instances and bytes of JSON (payloads included) of one batch. */
const BATCH_INSTANCES = 500
const BATCH_BYTES = 4 * 1024 * 1024

/** A record as stored, or as this batch changes it. */
interface Row<T> {
  readonly value: T | undefined
  readonly version: number
  changed: boolean
}

interface Given {
  readonly finding: Finding
  readonly instances: readonly InstanceInput[]
}

/**
 * Stores findings with their instances in batches. Each batch also has the deliveries that policies create for new
 * instances, so a policy sends an instance exactly once even if the daemon is killed.
 */
export class FindingWriter {
  readonly #deps: PostureDeps
  readonly #edits: KeyedEdits
  readonly #scope: Scope
  #given: Given[] = []
  /** Finding id of each buffered instance. */
  #owners = new Map<string, string>()
  #instances = 0
  #bytes = 0
  /** Number of durably stored instances. */
  accepted = 0

  /** `edits`: shared by everything that changes instances of the account. */
  constructor(deps: PostureDeps, edits: KeyedEdits, scope: Scope) {
    this.#deps = deps
    this.#edits = edits
    this.#scope = scope
  }

  /** Returns why an instance cannot belong to a finding, or undefined. */
  issue(findingId: string, { id }: InstanceInput): string | undefined {
    const owner = this.#owners.get(id) ?? this.#deps.store.get(INSTANCES, this.#scope, id)?.value.finding_id
    return owner === undefined || owner === findingId ? undefined : 'already belongs to another finding'
  }

  /** Buffers a checked finding. Stores the buffer when it is full. */
  async add(
    finding: Finding,
    instances: readonly { readonly input: InstanceInput; readonly bytes: number }[],
    bytes: number,
  ): Promise<void> {
    const targets = this.#targets(finding).length
    let some: InstanceInput[] = []
    this.#given.push({ finding, instances: some })
    for (const { input, bytes: own } of instances) {
      some.push(input)
      this.#owners.set(input.id, finding.id)
      this.#instances += 1
      this.#bytes += own + (bytes + own) * targets
      if (this.#instances < BATCH_INSTANCES && this.#bytes < BATCH_BYTES) continue
      await this.flush()
      some = []
      this.#given.push({ finding, instances: some })
    }
    this.#bytes += bytes
    if (this.#given.length >= BATCH_INSTANCES || this.#bytes >= BATCH_BYTES) await this.flush()
  }

  /** Stores the buffer durably. Throws `queueFull`, `tooManyFindings` or `conflict`; earlier batches stay stored. */
  async flush(): Promise<void> {
    const given = this.#given
    this.#given = []
    this.#owners = new Map()
    this.#instances = 0
    this.#bytes = 0
    if (given.length === 0) return
    const stored = await this.#edits.run(this.#scope.id, async () => await this.#store(given))
    this.accepted += stored.length
    const { emitter } = this.#deps.posture()
    if (!emitter?.wants('casb_findings', this.#scope)) return
    for (const [finding, instance] of stored) emitter.emit('casb_findings', this.#scope, casbRecord(finding, instance))
  }

  async #store(given: readonly Given[]): Promise<[StoredFinding, StoredInstance][]> {
    const { clock, posture } = this.#deps
    const scope = this.#scope
    const now = clock.now()
    const at = new Date(now).toISOString()
    const findings = new Map<string, Row<StoredFinding>>()
    const instances = new Map<string, Row<StoredInstance>>()
    const seen: [StoredFinding, StoredInstance][] = []
    const deliveries: Delivery[] = []
    const triggered = new Set<string>()

    for (const { finding: input, instances: inputs } of given) {
      const row = this.#row(FINDINGS, findings, input.id)
      const { created_at = at, ignored } = row.value ?? {}
      const finding = { ...input, ...(ignored !== undefined && { ignored }), created_at, updated_at: at }
      put(findings, input.id, row, finding)
      const targets = this.#targets(finding)
      for (const one of inputs) {
        const known = this.#row(INSTANCES, instances, one.id)
        // Another request stored it first; a repetition of this one reports the line.
        if (known.value !== undefined && known.value.finding_id !== input.id) throw new ApiError('conflict')
        const { is_archived = known.value?.is_archived ?? false } = one
        const created_at = known.value?.created_at ?? at
        const instance = { ...one, is_archived, finding_id: input.id, created_at, updated_at: at }
        put(instances, one.id, known, instance)
        seen.push([finding, instance])
        if (known.value !== undefined || is_archived) continue
        for (const { webhook, policy } of targets) {
          deliveries.push(deliveryOf(now, { ...policy.saved_by, policy_id: policy.id }, webhook, finding, instance))
          triggered.add(policy.id)
        }
      }
    }

    this.#refuseTooMany(findings, instances, deliveries.length)
    const runs = [...triggered].map((id): Write => ({ kind: POLICY_RUNS, scope, id, value: { last_triggered_at: at } }))
    const writes = [...writesOf(FINDINGS, scope, findings), ...writesOf(INSTANCES, scope, instances), ...runs]
    if (writes.length > 0) await posture().deliveries.accept(scope, deliveries, { writes })
    return seen
  }

  #row<T>(kind: Kind<T>, rows: ReadonlyMap<string, Row<T>>, id: string): Row<T> {
    const known = rows.get(id)
    if (known) return known
    const stored: Stored<T> | undefined = this.#deps.store.get(kind, this.#scope, id)
    return { value: stored?.value, version: stored?.version ?? 0, changed: false }
  }

  /** Returns the webhooks that policies send new instances of a finding to, each once with its oldest policy. */
  #targets(finding: Finding): { webhook: StoredWebhook; policy: StoredPolicy }[] {
    if (finding.category.type !== 'Posture') return []
    const { store } = this.#deps
    const found: { webhook: StoredWebhook; policy: StoredPolicy }[] = []
    const seen = new Set<string>()
    for (const policy of policiesFor(store.list(POLICIES, this.#scope), finding)) {
      for (const id of policy.webhook_ids) {
        if (seen.has(id)) continue
        seen.add(id)
        const webhook = store.get(WEBHOOKS, this.#scope, id)?.value
        if (webhook?.status === 'enabled') found.push({ webhook, policy })
      }
    }
    return found
  }

  #refuseTooMany(
    findings: ReadonlyMap<string, Row<unknown>>,
    instances: ReadonlyMap<string, Row<unknown>>,
    deliveries: number,
  ): void {
    const { store, posture } = this.#deps
    const limits = posture().limits()
    const over = (kind: Kind<unknown>, rows: ReadonlyMap<string, Row<unknown>>, max: number): boolean => {
      const made = [...rows.values()].filter(({ version }) => version === 0).length
      return made > 0 && store.count(kind, this.#scope) + made > max
    }
    if (over(FINDINGS, findings, limits.findings) || over(INSTANCES, instances, limits.instances))
      throw new ApiError('tooManyFindings')
    if (deliveries > 0 && deliveries > posture().deliveries.room(this.#scope))
      throw new ApiError('queueFull', undefined, { headers: { 'retry-after': '30' } })
  }
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
