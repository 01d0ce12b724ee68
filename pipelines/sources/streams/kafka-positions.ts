/**
 * Tracks at which offsets a member of a consumer group continues in its partitions, and which earlier messages were
 * deleted by retention.
 */
import type { Admin, EachBatchPayload } from 'kafkajs'
import type { SourceLosses } from '../intake/source-losses.js'

type Assignment = Readonly<Record<string, readonly number[]>>

export class PartitionPositions {
  readonly #admin: Admin
  readonly #group: string
  readonly #losses: SourceLosses
  /** The next offset of each partition, by topic and partition. */
  readonly #next = new Map<string, bigint>()
  #assigned = Promise.resolve()

  constructor(admin: Admin, group: string, losses: SourceLosses) {
    this.#admin = admin
    this.#group = group
    this.#losses = losses
  }

  /** Reads the positions of the partitions that a member gets, before it fetches from them. */
  assign(assignment: Assignment): void {
    this.#next.clear()
    this.#assigned = this.#load(assignment).catch((error: unknown) => this.#losses.failed(error))
  }

  /** Counts messages missing before a batch. Gaps of compacted topics are not losses. */
  async follow(batch: EachBatchPayload['batch']): Promise<void> {
    await this.#assigned
    const { topic, partition } = batch
    const next = this.#next.get(keyOf(topic, partition))
    const first = batch.firstOffset()
    if (next === undefined || first === null || BigInt(first) <= next) return
    try {
      const bounds = (await this.#admin.fetchTopicOffsets(topic)).find((each) => each.partition === partition)
      const end = least(BigInt(bounds?.low ?? 0), BigInt(first))
      if (end > next) this.#losses.add(Number(end - next))
    } catch (error) {
      this.#losses.failed(error)
    }
  }

  /** Notes the next offset after a commit. */
  committed(topic: string, partition: number, next: bigint): void {
    this.#next.set(keyOf(topic, partition), next)
  }

  async #load(assignment: Assignment): Promise<void> {
    const topics = Object.keys(assignment)
    const groups = await this.#admin.fetchOffsets({ groupId: this.#group, topics })
    for (const { topic, partitions } of groups) {
      const mine = partitions.filter(({ partition }) => assignment[topic]?.includes(partition) === true)
      const bounds = await this.#admin.fetchTopicOffsets(topic)
      for (const { partition, offset } of mine) {
        const bound = bounds.find((each) => each.partition === partition)
        // A negative offset means that the group has no offset there.
        if (bound !== undefined && Number(offset) >= 0)
          this.#begin(keyOf(topic, partition), BigInt(offset), { low: BigInt(bound.low), high: BigInt(bound.high) })
      }
    }
  }

  /** Counts messages between the offset of the group and the offsets that exist in a partition. */
  #begin(key: string, offset: bigint, { low, high }: { readonly low: bigint; readonly high: bigint }): void {
    if (offset < low) this.#losses.add(Number(low - offset))
    // A topic that was deleted and created again, or a replica that did not have all messages.
    if (offset > high) this.#losses.add(undefined)
    this.#next.set(key, offset > high || offset < low ? low : offset)
  }
}

const keyOf = (topic: string, partition: number): string => `${topic} ${partition}`

const least = (a: bigint, b: bigint): bigint => (a < b ? a : b)
