import PQueue from 'p-queue'
import { issuesIn, messageOf, type Issue } from '../../src/core/errors.js'
import { SinkError, type Sink, type SinkResponse } from '../../src/core/sink.js'
import { ApiError } from '../http/errors.js'
import type { Destinations } from './services.js'
import { only, pointed } from './json-pointers.js'

const MAX_CONCURRENT = 16
const MAX_WAITING = 100
const DEADLINE_MS = 15_000

/** Tests destinations before jobs use them: a few concurrently, each with a time limit. */
export class DestinationCheck {
  readonly #destinations: () => Destinations
  readonly #queue = new PQueue({ concurrency: MAX_CONCURRENT })

  constructor(destinations: () => Destinations) {
    this.#destinations = destinations
  }

  /** Checks the form. Throws InvalidInput at `/destination_conf`. */
  form(destination: string): void {
    pointed(only('/destination_conf'), () => this.#destinations().check(destination))
  }

  /** Returns the issues of the form at `/destination_conf`. */
  issues(destination: string | undefined): readonly Issue[] {
    return destination === undefined ? [] : issuesIn(() => this.form(destination))
  }

  /** Writes something harmless to it. Resolves with its response, if it speaks HTTP. Throws `badDestination` with the reason. */
  async reach(destination: string): Promise<SinkResponse | undefined> {
    const response = await this.with(destination, async (sink, signal) => await sink.check(signal))
    return response ? this.shown(response, destination) : undefined
  }

  /** Returns a response of a destination without the secrets of the destination. */
  shown({ status, body }: SinkResponse, destination: string): SinkResponse {
    return { status, body: this.#destinations().hideSecrets(body, destination) }
  }

  /** Opens it for one operation. Throws `badDestination` if the operation rejects, and `logpushBusy`. */
  async with<T>(destination: string, work: (sink: Sink, signal: AbortSignal) => Promise<T>): Promise<T> {
    if (this.#queue.size >= MAX_WAITING)
      throw new ApiError('logpushBusy', undefined, { headers: { 'retry-after': '5' } })
    return await this.#queue.add(async () => {
      const sink = this.#destinations().open(destination)
      try {
        return await inTime(work, sink)
      } catch (error) {
        throw failed(error)
      } finally {
        await sink.close()
      }
    })
  }
}

async function inTime<T>(work: (sink: Sink, signal: AbortSignal) => Promise<T>, sink: Sink): Promise<T> {
  const signal = AbortSignal.timeout(DEADLINE_MS)
  const late = new Promise<never>((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(new SinkError('transient', 'no answer in time')), { once: true }),
  )
  return await Promise.race([work(sink, signal), late])
}

/** The text of the public API with the reason. Only messages of sinks are included: others may contain a secret. */
function failed(error: unknown): Error {
  if (error instanceof ApiError) return error
  const reason = error instanceof SinkError ? `: ${messageOf(error)}` : ''
  const message = `error validating destination: error writing object: error uploading${reason}`
  return new ApiError('badDestination', '/destination_conf', { message, cause: error })
}
