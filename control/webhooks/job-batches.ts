import { setImmediate } from 'node:timers/promises'
import type { Static } from 'typebox'
import type { Delivery, Job } from '../../src/core/model/delivery.js'
import type { Scope } from '../../src/core/scope.js'
import { StoreUnavailable } from '../../src/core/store.js'
import type { JobsResult } from './schemas.js'
import type { WebhookServices } from './services.js'

/** Maximum payload bytes of one batch. */
const BATCH_BYTES = 4 * 1024 * 1024

type Failed = Static<typeof JobsResult>['failed'][number]

/** Creates the jobs of one request in batches, and collects the pairs without a job. */
export class JobBatches {
  readonly created: Job[] = []
  readonly failed: Failed[] = []
  readonly #deliveries: WebhookServices['deliveries']
  readonly #scope: Scope
  #batch: Delivery[] = []
  #bytes = 0
  /** Jobs that the account may still have. */
  #room: number

  constructor(deliveries: WebhookServices['deliveries'], scope: Scope) {
    this.#deliveries = deliveries
    this.#scope = scope
    this.#room = deliveries.room(scope)
  }

  /** Whether the account has its maximum of waiting jobs. */
  get isFull(): boolean {
    return this.#room <= 0
  }

  /** Adds a job; stores the batch if it is large enough. */
  async add(delivery: Delivery): Promise<void> {
    this.#batch.push(delivery)
    this.#bytes += delivery.payload.length
    this.#room -= 1
    if (this.#bytes >= BATCH_BYTES) await this.flush()
  }

  /** Notes that a pair gets no job. */
  fail(finding_instance_id: string, webhook_id: string, error: string): void {
    this.failed.push({ error, finding_instance_id, webhook_id })
  }

  /** Stores the jobs that were added since the last batch. */
  async flush(): Promise<void> {
    const batch = this.#batch
    if (batch.length === 0) return
    try {
      await this.#deliveries.accept(this.#scope, batch)
      this.created.push(...batch.flatMap(({ id }) => this.#deliveries.get(this.#scope, id) ?? []))
    } catch (error) {
      // Earlier batches are stored; an error would make the client send them again.
      if (!(error instanceof StoreUnavailable) || this.created.length === 0) throw error
      for (const { finding_instance_id, webhook_id } of batch) this.fail(finding_instance_id, webhook_id, error.message)
    }
    this.#batch = []
    this.#bytes = 0
    // Payload bytes count too, and other requests use the same limit.
    this.#room = this.#deliveries.room(this.#scope)
    await setImmediate()
  }
}
