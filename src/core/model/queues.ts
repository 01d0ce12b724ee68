import { kind, type NameOwner } from '../store.js'

/** A queue of messages. The scope is the account. The id is 32 hexadecimal digits. */
export interface StoredQueue {
  readonly id: string
  readonly name: string
  readonly created_on: string
  readonly modified_on: string
  readonly jurisdiction?: string
  /** Seconds before a message is delivered first. */
  readonly delivery_delay: number
  readonly delivery_paused: boolean
  /** Seconds after which a message that nobody acknowledged is deleted. */
  readonly message_retention_period: number
  /** Time of the last purge, as the API shows it. */
  readonly purged_at?: string
}
export const QUEUES = kind<StoredQueue>('queue')
/** The queue that owns a name. The scope is the account. The id is the name. */
export const QUEUE_NAMES = kind<NameOwner>('queue_name')

/**
 * The consumer of a queue. The scope is the account. The id is the queue's id, so that a queue has at most one
 * consumer.
 */
export interface StoredConsumer {
  readonly id: string
  readonly type: 'worker' | 'http_pull'
  readonly created_on: string
  /** Name of the Worker. */
  readonly script?: string
  /** Name of the queue for messages that failed too often. Without it they are deleted. */
  readonly dead_letter_queue?: string
  readonly batch_size: number
  /** Repeated deliveries of a message. */
  readonly max_retries: number
  /** Seconds before a message is delivered again. */
  readonly retry_delay: number
  readonly max_wait_time_ms: number
  readonly max_concurrency?: number
  readonly visibility_timeout_ms: number
}
export const QUEUE_CONSUMERS = kind<StoredConsumer>('queue_consumer')

export const MESSAGE_FORMATS = ['json', 'text', 'bytes', 'v8'] as const
export type MessageFormat = (typeof MESSAGE_FORMATS)[number]

/** A message. The scope is the account. The id is {@link messageId}. */
export interface StoredMessage {
  /** Milliseconds since 1970. */
  readonly sent: number
  /** It is not delivered before this time because it is delayed or leased. */
  readonly visible: number
  /** When `visible` was set. Messages of older versions do not have it. */
  readonly changed?: number
  /** Deliveries so far. */
  readonly attempts: number
  /** Of the last delivery. */
  readonly lease?: string
  readonly format: MessageFormat
  /** Size of the body in bytes. */
  readonly size: number
  /** A small body, in base64. */
  readonly inline?: string
  /** The name of the blob of a larger body. */
  readonly blob?: string
}
export const QUEUE_MESSAGES = kind<StoredMessage>('queue_message')

/** Returns the id of a message. Messages of one queue are adjacent, in the order in which they were sent. */
export const messageId = (queue: string, message: string): string => `${queue}/${message}`
