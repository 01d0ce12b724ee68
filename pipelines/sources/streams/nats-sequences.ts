/** Tracks which messages of a stream a consumer delivers, and which earlier ones the limits of the stream deleted. */
import type { ConsumerInfo, JsMsg } from '@nats-io/jetstream'
import type { SourceLosses } from '../intake/source-losses.js'

export class DeliveredSequences {
  readonly #losses: SourceLosses
  /** Delivery number and stream sequence of the last new message. */
  #last: { readonly delivery: number; readonly stream: number } | undefined
  /** Repeated deliveries after it. */
  #repeated = 0
  /** Which messages the consumer delivers. If only some, gaps are normal. */
  #delivers: 'all' | 'some' = 'all'

  constructor(losses: SourceLosses) {
    this.#losses = losses
  }

  /** Starts at the position of a consumer, with each connection. A new consumer is before the first message. */
  begin({ config, delivered }: ConsumerInfo): void {
    const isFiltered = Boolean(config.filter_subject) || (config.filter_subjects?.length ?? 0) > 0
    this.#delivers = isFiltered || config.deliver_policy === 'last_per_subject' ? 'some' : 'all'
    this.#repeated = 0
    this.#last = { delivery: delivered.consumer_seq, stream: delivered.stream_seq }
  }

  /** Counts the messages that are missing before one. */
  follow({ seq: stream, info: { deliverySequence: delivery, redelivered } }: JsMsg): void {
    if (redelivered) return void this.#repeated++
    const last = this.#last
    const others = last === undefined ? 0 : delivery - last.delivery - 1 - this.#repeated
    const missing = last === undefined ? 0 : stream - last.stream - 1 - others
    if (missing > 0 && this.#delivers === 'all')
      // Messages that other readers of the consumer got in between may be repeated.
      this.#losses.add(others > 0 ? undefined : missing)
    this.#last = { delivery, stream }
    this.#repeated = 0
  }
}
