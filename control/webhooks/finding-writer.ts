import { INSTANCES, type InstanceInput } from '../../src/core/model/finding.js'
import type { Scope } from '../../src/core/scope.js'
import { casbRecord } from '../../src/webhooks/casb-record.js'
import { BATCH_BYTES, BATCH_INSTANCES, type Finding, type FindingBatches, type Given } from './finding-batches.js'
import type { PostureDeps } from './services.js'

/** Buffers the findings of one request, and passes them on in parts. */
export class FindingWriter {
  readonly #deps: PostureDeps
  readonly #batches: FindingBatches
  readonly #scope: Scope
  #given: Given[] = []
  /** Finding id of each buffered instance. */
  #owners = new Map<string, string>()
  #instances = 0
  #bytes = 0
  /** Number of durably stored instances. */
  accepted = 0

  constructor(deps: PostureDeps, batches: FindingBatches, scope: Scope) {
    this.#deps = deps
    this.#batches = batches
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
    const targets = this.#batches.targets(this.#scope, finding).length
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

  /** Stores the buffer durably. Throws what {@link FindingBatches.store} throws; earlier parts stay stored. */
  async flush(): Promise<void> {
    const part = { given: this.#given, instances: this.#instances, bytes: this.#bytes }
    this.#given = []
    this.#owners = new Map()
    this.#instances = 0
    this.#bytes = 0
    if (part.given.length === 0) return
    const stored = await this.#batches.store(this.#scope, part)
    this.accepted += stored.length
    const { emitter } = this.#deps.posture()
    if (!emitter?.wants('casb_findings', this.#scope)) return
    for (const [finding, instance] of stored) emitter.emit('casb_findings', this.#scope, casbRecord(finding, instance))
  }
}
