import type { ICustomPartitioner, Message, RecordMetadata } from 'kafkajs'

/**
 * Partitions of messages that the library sends again. The library chooses other partitions each time. A broker that
 * has seen the numbers of a partition would then drop messages that it does not have.
 */
export class FixedPartitions {
  readonly #chosen = new WeakMap<object, number>()

  /** Returns a partitioner that asks `create`'s once for each message. */
  of(create: ICustomPartitioner): ICustomPartitioner {
    return () => {
      const choose = create()
      return (args) => {
        const partition = this.#chosen.get(args.message) ?? choose(args)
        this.#chosen.set(args.message, partition)
        return partition
      }
    }
  }

  /**
   * Whether responses confirm all messages. If the leader of a partition changes between two requests, the library can leave
   * the partition out and still succeed.
   */
  confirmed(messages: readonly Message[], responses: readonly RecordMetadata[]): boolean {
    const found = new Set(responses.map(({ partition }) => partition))
    return messages.every((message) => found.has(this.#chosen.get(message) ?? -1))
  }
}
