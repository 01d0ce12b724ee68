import { headerOf, type RawHeaders } from '../http/headers.js'
import { ConnectionLost } from '../http/origin-errors.js'
import { BLOB_HEADER, PRIVATE_HEADERS, PROTO_HEADER, type Cut } from '../workers/runtime/types.js'
import type { Exchange } from './exchange.js'
import { CLIENT_LEFT } from './origin-exchange.js'
import type { ResponseSink } from './response.js'
import { WorkerError, type SendTo } from './worker-sites.js'

/** A request that passed this many Workers is in a loop. */
const MAX_HOPS = 16
const HOP_NAME = 'edged'
/** Delays of further attempts: a process that ended is noticed a moment after its connections broke. */
const RETRY_DELAYS_MS = [10, 100, 1000]
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS'])

/** A slot in the process of a script. */
export interface EnteredWorker {
  readonly script: string
  /** Path of the unix socket to send the request to. */
  readonly socket: string
  readonly cut: () => Cut | Promise<Cut>
  /** The request has ended. */
  readonly done: () => void
}

/** How a request of a Worker ended. Labels a metric. */
export const WORKER_OUTCOMES = ['ok', 'exception', 'limit', 'loop', 'canceled', 'failed'] as const
export type WorkerOutcome = (typeof WORKER_OUTCOMES)[number]

export interface WorkerRun {
  readonly sendTo: SendTo
  /** Reserves a slot in the process of the script. */
  readonly enter: () => EnteredWorker | Promise<EnteredWorker>
  /** `request.cf` as JSON. */
  readonly cf: string
  /** Called once, at the end of the response. */
  readonly ended: (outcome: WorkerOutcome) => void
}

/** Sends the request of an exchange to the runtime. */
export function runWorker(exchange: Exchange, sink: ResponseSink, run: WorkerRun): () => void {
  const { sendTo, enter } = run
  let isEnded = false
  const ended = (outcome: WorkerOutcome): void => {
    if (isEnded) return
    isEnded = true
    run.ended(outcome)
  }
  const hops = hopsOf(exchange.clientHeaders)
  if (hops >= MAX_HOPS) {
    ended('loop')
    sink.fail(new WorkerError('worker_loop', `the request passed ${hops} Workers`))
    return () => undefined
  }
  exchange.headers = workerHeaders(exchange, hops + 1, run.cf)
  let cancel: (() => void) | undefined
  let isLeft = false
  let timer: NodeJS.Timeout | undefined
  const send = (entry: EnteredWorker, attempt: number): void => {
    if (isLeft) {
      entry.done()
      return
    }
    const delay = REPEATABLE.has(exchange.method) ? RETRY_DELAYS_MS[attempt] : undefined
    const again =
      delay === undefined
        ? undefined
        : () => {
            timer = setTimeout(() => begin(attempt + 1), delay)
          }
    const response = new WorkerResponse(exchange, sink, { entry, retry: again, isRepeated: attempt > 0, ended })
    const switched = (): void => {
      ended('ok')
      entry.done()
    }
    cancel = sendTo(urlOf(entry.socket), response, { switched })
  }
  const begin = (attempt: number): void => {
    let entered: EnteredWorker | Promise<EnteredWorker>
    try {
      entered = enter()
    } catch (error) {
      ended('failed')
      sink.fail(error)
      return
    }
    if (entered instanceof Promise)
      entered
        .then((entry) => send(entry, attempt))
        .catch((error: unknown) => {
          ended('limit')
          sink.fail(new WorkerError('worker_limit', error instanceof Error ? error.message : String(error)))
        })
    else send(entered, attempt)
  }
  begin(0)
  return () => {
    isLeft = true
    clearTimeout(timer)
    ended('canceled')
    cancel?.()
    sink.fail(CLIENT_LEFT)
  }
}

const MAX_URLS = 1024
const urls = new Map<string, string>()

/** Returns the URL of a socket. */
function urlOf(socket: string): string {
  const known = urls.get(socket)
  if (known !== undefined) return known
  const url = `unix:${encodeURI(socket)}`
  if (urls.size >= MAX_URLS) urls.clear()
  urls.set(socket, url)
  return url
}

/** The response of the runtime. Its own error response becomes an error page. */
class WorkerResponse implements ResponseSink {
  readonly copies: boolean
  readonly #exchange: Exchange
  readonly #sink: ResponseSink
  readonly #entry: EnteredWorker
  /** Sends the request again. Undefined if that is not safe. */
  readonly #retry: (() => void) | undefined
  readonly #isRepeated: boolean
  readonly #ended: (outcome: WorkerOutcome) => void
  #isBegun = false
  #isOver = false

  constructor(
    exchange: Exchange,
    sink: ResponseSink,
    {
      entry,
      retry,
      isRepeated,
      ended,
    }: {
      entry: EnteredWorker
      retry: (() => void) | undefined
      isRepeated: boolean
      ended: (outcome: WorkerOutcome) => void
    },
  ) {
    this.#exchange = exchange
    this.#sink = sink
    this.copies = sink.copies ?? false
    this.#entry = entry
    this.#retry = retry
    this.#isRepeated = isRepeated
    this.#ended = ended
  }

  head(status: number, headers: RawHeaders): void {
    this.#isBegun = true
    if (status === 500 && isRuntimeError(this.#exchange.originHeaders ?? [])) {
      this.#isOver = true
      this.#entry.done()
      this.#ended('exception')
      this.#sink.fail(new WorkerError('worker_exception', `the Worker ${this.#entry.script} threw an exception`))
    } else this.#sink.head(status, headers)
  }

  data(chunk: Buffer): boolean {
    return this.#isOver ? true : this.#sink.data(chunk)
  }

  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#entry.done()
    this.#ended('ok')
    this.#sink.end()
  }

  fail(error: unknown): void {
    if (this.#isOver) {
      this.#sink.fail(error)
      return
    }
    this.#isOver = true
    const cut = this.#entry.cut()
    if (cut instanceof Promise) void this.#failedLater(error, cut)
    else this.#failed(error, cut)
  }

  async #failedLater(error: unknown, later: Promise<Cut>): Promise<void> {
    let cut: Cut = 'none'
    try {
      cut = await later
    } catch {
      // The daemon that knows it has ended.
    }
    this.#failed(error, cut)
  }

  #failed(error: unknown, cut: Cut): void {
    const isCut = cut === 'script'
    this.#entry.done()
    if (!isCut && !this.#isBegun && isLost(error)) {
      // Accepted by a running process and closed again: the script lost its connection to another process. The request would
      // call a script again that does not return.
      if (cut === 'other' || (this.#isRepeated && error instanceof ConnectionLost && !error.stale)) {
        this.#ended('exception')
        this.#sink.fail(new WorkerError('worker_exception', `the Worker ${this.#entry.script} lost a connection`))
        return
      }
      if (this.#retry) {
        this.#retry()
        return
      }
    }
    this.#ended(isCut ? 'limit' : 'failed')
    this.#sink.fail(
      isCut ? new WorkerError('worker_limit', `the Worker ${this.#entry.script} exceeded a limit`) : error,
    )
  }

  onDrain(listener: () => void): void {
    this.#sink.onDrain(listener)
  }
}

const LOST: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE'])
const isLost = (error: unknown): boolean =>
  error instanceof ConnectionLost || LOST.has((error as { code?: unknown } | null)?.code)

/** The runtime closes the connection after an exception; it removes such a field from responses of scripts. */
const isRuntimeError = (headers: RawHeaders): boolean =>
  headerOf(headers, 'connection')?.toLowerCase() === 'close' &&
  headerOf(headers, 'content-length') === '21' &&
  headerOf(headers, 'content-type') === undefined

/** The header fields that the script sees, and the private ones for the runtime. */
function workerHeaders(exchange: Exchange, hops: number, cf: string): string[] {
  const { clientAddress, scheme, headers } = exchange
  const sent: string[] = []
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i]!
    if (!PRIVATE_HEADERS.has(name.toLowerCase())) sent.push(name, headers[i + 1]!)
  }
  sent.push('x-real-ip', clientAddress, 'cf-visitor', `{"scheme":"${scheme}"}`)
  sent.push('cdn-loop', `${HOP_NAME}; n=${hops}`, PROTO_HEADER, scheme, BLOB_HEADER, cf)
  return sent
}

function hopsOf(headers: RawHeaders): number {
  const field = headerOf(headers, 'cdn-loop')
  const [, hops] = (field !== undefined && /\bedged; n=(\d{1,3})/.exec(field)) || []
  return hops === undefined ? 0 : Number(hops)
}
