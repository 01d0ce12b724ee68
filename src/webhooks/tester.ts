import { randomUUID } from 'node:crypto'
import PQueue from 'p-queue'
import type { Clock } from '../core/clock.js'
import type { Destination, Evaluation, Tester } from '../core/model/delivery.js'
import { NotPublic, type Egress } from '../egress/egress.js'
import { requestHeaders } from './auth-headers.js'
import { errorOf } from './outcome.js'
import { testPayload } from './payload.js'
import { posterOver, type PostResult } from './http-post.js'

/** Maximum concurrent and waiting tests. Further tests are rejected. */
const CONCURRENCY = 16
const MAX_WAITING = 64

/** Sends test deliveries, each over a separate connection. */
export class WebhookTester implements Tester {
  readonly #deps: { readonly egress: Egress; readonly clock: Clock; readonly timeoutMs: () => number }
  readonly #queue = new PQueue({ concurrency: CONCURRENCY })

  constructor(deps: { readonly egress: Egress; readonly clock: Clock; readonly timeoutMs: () => number }) {
    this.#deps = deps
  }

  async evaluate(destination: Destination, signal?: AbortSignal): Promise<Evaluation> {
    if (this.#queue.size >= MAX_WAITING)
      return { success: false, status_code: 0, message: 'too many tests in progress; try again later' }
    return await this.#queue.add(async () => await this.#evaluate(destination, signal))
  }

  async #evaluate(destination: Destination, signal: AbortSignal | undefined): Promise<Evaluation> {
    const { egress, clock } = this.#deps
    const timeoutMs = this.#deps.timeoutMs()
    const { destination_url: url } = destination
    const { hostname, port } = new URL(url)
    await egress.check(hostname, Number(port || 443))
    const agents = egress.agents({ maxSockets: 1 })
    try {
      const body = testPayload(clock.now())
      const headers = requestHeaders(destination, randomUUID(), clock.now(), body)
      const at = new Date(clock.now()).toISOString()
      const result = await posterOver(agents)({ url, headers, body, timeoutMs, clock, signal })
      // The address of the name may have changed since the check.
      if (result.error === 'not public') throw new NotPublic()
      const success = result.status >= 200 && result.status <= 299
      const attempt = {
        at,
        status_code: result.status,
        duration_ms: result.durationMs,
        error: errorOf(result),
        response: withoutSecrets(result.response, destination),
      }
      return {
        success,
        status_code: result.status,
        message: messageOf(result, success),
        sent: { payload: body, attempt },
      }
    } finally {
      agents.destroy()
    }
  }
}

/** Shorter values are not searched for in responses: they occur in them by chance. */
const MIN_SECRET = 4

/** Returns a response with the secrets of its destination replaced by `***`. */
function withoutSecrets(text: string, { headers, signing_secrets: signing }: Destination): string {
  // A header has a scheme before its token.
  const secrets = [...headers.flatMap(({ value }) => [value, ...value.split(/\s+/)]), ...signing]
  return secrets
    .filter((secret) => secret.length >= MIN_SECRET)
    .toSorted((one, other) => other.length - one.length)
    .reduce((rest, secret) => rest.replaceAll(secret, '***'), text)
}

function messageOf({ status, error }: PostResult, success: boolean): string {
  if (status === 0) return `no response: ${error ?? 'no connection'}`
  return `the destination responded with ${status}${success ? '' : ', which is not a 2xx status'}`
}
