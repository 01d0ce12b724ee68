import { MESSAGE_FORMATS, type MessageFormat, type StoredQueue } from '../../../core/model/queues.js'
import type { Scope } from '../../../core/scope.js'
import { QUEUE_LIMITS, TooManyMessages, type NewMessage, type Queues } from '../../storage/queues.js'
import { ResourceError, type ResourceHandler, type ResourceResponse } from '../resource-server.js'

/** Base64 and the members around it. */
const MAX_BATCH_BODY_BYTES = 2 * QUEUE_LIMITS.batchBytes

interface Batch {
  readonly messages?: readonly {
    readonly body?: string
    readonly contentType?: string
    readonly delaySecs?: number
  }[]
}

/** Queues as scripts send to them. The id is the delay of the binding in seconds, which may be empty, `/` and the name of the queue. */
export function queueResource(queues: Queues): ResourceHandler {
  const metrics = (scope: Scope, { id }: StoredQueue) => {
    const { count, bytes, oldest } = queues.metrics(scope, id)
    return { backlogCount: count, backlogBytes: bytes, oldestMessageTimestamp: oldest }
  }
  return async (call) => {
    const { scope, id, headers, method, url } = call
    const name = id.slice(id.indexOf('/') + 1)
    const queue = queues.named(scope, name)
    if (!queue) throw new ResourceError(404, `the queue ${name} does not exist`)
    if (method === 'GET' && url === '/metrics') return json(metrics(scope, queue))
    const ofBinding = id.slice(0, id.indexOf('/')) || undefined
    const delaySeconds = delay(headers['x-msg-delay-secs'] ?? ofBinding)
    let messages: NewMessage[]
    if (url === '/message') {
      const body = await call.body(QUEUE_LIMITS.messageBytes)
      messages = [{ body, format: formatOf(headers['x-msg-fmt']), delaySeconds }]
    } else if (url === '/batch') {
      const batch = JSON.parse((await call.body(MAX_BATCH_BODY_BYTES)).toString('utf8')) as Batch
      messages = (batch.messages ?? []).map(({ body = '', contentType, delaySecs }) => ({
        body: Buffer.from(body, 'base64'),
        format: formatOf(contentType),
        delaySeconds: delay(delaySecs) ?? delaySeconds,
      }))
    } else throw new ResourceError(404, 'Not Found')
    assertSize(messages)
    assertReadable(messages)
    try {
      await queues.send(scope, queue, messages)
    } catch (error) {
      if (error instanceof TooManyMessages) throw new ResourceError(429, error.message)
      throw error
    }
    return json({ metadata: { metrics: metrics(scope, queue) } })
  }
}

const json = (value: unknown): ResourceResponse => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(value),
})

function assertSize(messages: readonly NewMessage[]): void {
  const { messageBytes, batch, batchBytes } = QUEUE_LIMITS
  if (messages.length > batch) throw new ResourceError(413, `a batch has at most ${batch} messages`)
  if (messages.some(({ body }) => body.length > messageBytes))
    throw new ResourceError(413, `a message has at most ${messageBytes} bytes`)
  if (messages.reduce((sum, { body }) => sum + body.length, 0) > batchBytes)
    throw new ResourceError(413, `a batch has at most ${batchBytes} bytes`)
}

/**
 * Checks that messages declared as JSON are valid JSON. The runtime cannot deliver a batch otherwise, and all messages
 * of the batch would fail.
 */
function assertReadable(messages: readonly NewMessage[]): void {
  for (const { body, format } of messages) {
    if (format !== 'json') continue
    try {
      JSON.parse(body.toString('utf8'))
    } catch {
      throw new ResourceError(400, 'the body of a message is not JSON')
    }
  }
}

function delay(value: unknown): number | undefined {
  if (value === undefined) return undefined
  const seconds = Number(value)
  if (!(seconds >= 0 && seconds <= QUEUE_LIMITS.delay))
    throw new ResourceError(400, `a delay is 0 to ${QUEUE_LIMITS.delay} seconds`)
  return seconds
}

/** Messages without a format are serialized by the runtime. */
function formatOf(value: unknown): MessageFormat {
  const format = value === undefined ? 'v8' : MESSAGE_FORMATS.find((one) => one === value)
  if (!format) throw new ResourceError(400, 'unknown content type of a message')
  return format
}
