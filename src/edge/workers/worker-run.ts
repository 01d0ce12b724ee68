import { messageOf } from '../../core/errors.js'
import { headerOf, type RawHeaders } from '../../http/headers.js'
import { ConnectionLost } from '../../http/origin-errors.js'
import { DataAway } from '../../workers/runtime/data-homes.js'
import type { Cut } from '../../workers/runtime/types.js'
import type { Exchange } from '../exchange/exchange.js'
import { CLIENT_LEFT } from '../exchange/origin-exchange.js'
import type { ResponseSink } from '../exchange/response.js'
import { WorkerError, type RequestOfWorker, type SendTo } from '../exchange/worker-sites.js'
import { hopsOf, namesWorkerFields, workerHeaders } from './worker-fields.js'

/** A request that passed this many Workers is in a loop. */
const MAX_HOPS = 16
/** Delays of further attempts: a process that ended is noticed a moment after its connections broke. */
const RETRY_DELAYS_MS = [10, 100, 1000]
const REPEATABLE = new Set(['GET', 'HEAD', 'OPTIONS'])

/** A slot in the process of a script. */
export interface EnteredWorker {
  readonly script: string
  /** Path of the unix socket to send the request to. */
  readonly socket: string
  cut(): Cut | Promise<Cut>
  /** An exception of the script ended the request. */
  threw(rayId: string): void
  /** The request has ended. */
  done(): void
}

/** How a request of a Worker ended. Labels a metric. */
export const WORKER_OUTCOMES = ['ok', 'exception', 'limit', 'loop', 'away', 'canceled', 'failed'] as const
export type WorkerOutcome = (typeof WORKER_OUTCOMES)[number]

export interface WorkerRun {
  readonly sendTo: SendTo
  /** Reserves a slot in the process of the script. */
  readonly enter: () => EnteredWorker | Promise<EnteredWorker>
  /** `request.cf` as JSON, in ASCII. */
  readonly cf: string
  /** Called once, at the end of the response. */
  readonly ended: (outcome: WorkerOutcome) => void
}

/** Sends the request of an exchange to the runtime. Returns how to cancel that. */
export function runWorker(exchange: Exchange, sink: ResponseSink, run: WorkerRun): () => void {
  const isPlain = exchange.unread !== undefined && !namesWorkerFields(exchange.unread.lines)
  const hops = isPlain ? 0 : hopsOf(exchange.clientHeaders)
  if (hops >= MAX_HOPS) {
    run.ended('loop')
    sink.fail(new WorkerError('worker_loop', `the request passed ${hops} Workers`))
    return () => undefined
  }
  const call = new WorkerCall(exchange, sink, run, isPlain ? undefined : hops + 1)
  call.begin()
  return () => call.cancel()
}

/** One request to a Worker: its attempts, and the response of the runtime. The error of the runtime becomes an error page. */
class WorkerCall implements ResponseSink, RequestOfWorker {
  readonly copies: boolean
  readonly #exchange: Exchange
  readonly #sink: ResponseSink
  readonly #run: WorkerRun
  /** Workers that the request will have passed. Undefined if this is the first one and its head is sent as text. */
  readonly #hops: number | undefined
  #attempt = 0
  /** The slot of the attempt in progress. */
  #entry: EnteredWorker | undefined
  #cancel: (() => void) | undefined
  #timer: NodeJS.Timeout | undefined
  #isLeft = false
  #isEnded = false
  /** The response has begun. */
  #isBegun = false
  /** The attempt in progress has its result. */
  #isOver = false

  constructor(exchange: Exchange, sink: ResponseSink, run: WorkerRun, hops: number | undefined) {
    this.#exchange = exchange
    this.#sink = sink
    this.#run = run
    this.#hops = hops
    this.copies = sink.copies ?? false
  }

  begin(): void {
    let entered: EnteredWorker | Promise<EnteredWorker>
    try {
      entered = this.#run.enter()
    } catch (error) {
      if (error instanceof DataAway) this.#failAway(error.message)
      else {
        this.#ended('failed')
        this.#sink.fail(error)
      }
      return
    }
    if (entered instanceof Promise) void this.#sendLater(entered)
    else this.#send(entered)
  }

  cancel(): void {
    this.#isLeft = true
    clearTimeout(this.#timer)
    this.#ended('canceled')
    this.#cancel?.()
    this.#sink.fail(CLIENT_LEFT)
  }

  head(status: number, headers: RawHeaders): void {
    this.#isBegun = true
    if (status === 500 && isRuntimeError(this.#exchange.origin.headers ?? [])) this.#threw()
    else this.#sink.head(status, headers)
  }

  data(chunk: Buffer): boolean {
    return this.#isOver ? true : this.#sink.data(chunk)
  }

  end(): void {
    if (this.#isOver) return
    this.#over('ok')
    this.#sink.end()
  }

  fail(error: unknown): void {
    if (this.#isOver || !this.#entry) {
      this.#sink.fail(error)
      return
    }
    this.#isOver = true
    const cut = this.#entry.cut()
    if (cut instanceof Promise) void this.#failedLater(error, cut)
    else this.#failed(error, cut)
  }

  onDrain(listener: () => void): void {
    this.#sink.onDrain(listener)
  }

  async #sendLater(entered: Promise<EnteredWorker>): Promise<void> {
    try {
      this.#send(await entered)
    } catch (error) {
      if (error instanceof DataAway) this.#failAway(error.message)
      else {
        this.#ended('limit')
        this.#sink.fail(new WorkerError('worker_limit', messageOf(error)))
      }
    }
  }

  #send(entry: EnteredWorker): void {
    if (this.#isLeft) {
      entry.done()
      return
    }
    this.#entry = entry
    this.#isOver = false
    this.#cancel = this.#run.sendTo(urlOf(entry.socket), this, this)
  }

  text(): string | undefined {
    const { unread, method, target } = this.#exchange
    return this.#hops === undefined ? unread?.text(method, target, this.#run.cf) : undefined
  }

  fields(): readonly string[] {
    return workerHeaders(this.#exchange, this.#hops ?? 1, this.#run.cf)
  }

  switched(): void {
    this.#over('ok')
  }

  /** The exception may come from a call to a machine that is away. */
  #threw(): void {
    const cut = this.#entry?.cut() ?? 'none'
    if (!(cut instanceof Promise)) {
      this.#failThrown()
      return
    }
    this.#isOver = true
    void settled(cut).then((cut) => (cut === 'away' ? this.#failAway() : this.#failThrown()))
  }

  async #failedLater(error: unknown, later: Promise<Cut>): Promise<void> {
    this.#failed(error, await settled(later))
  }

  #failed(error: unknown, cut: Cut): void {
    const isCut = cut === 'script'
    if (cut === 'away') {
      this.#failAway()
      return
    }
    if (!isCut && !this.#isBegun && isLost(error)) {
      // Accepted by a running process and closed again: the script lost its connection to another process. The request would
      // call a script again that does not return.
      if (cut === 'other' || (this.#attempt > 0 && error instanceof ConnectionLost && !error.stale)) {
        this.#failWith('lost a connection')
        return
      }
      const delay = REPEATABLE.has(this.#exchange.method) ? RETRY_DELAYS_MS[this.#attempt] : undefined
      if (delay !== undefined) {
        this.#entry?.done()
        this.#attempt += 1
        this.#timer = setTimeout(() => this.begin(), delay)
        return
      }
    }
    if (isCut) {
      this.#over('limit')
      this.#sink.fail(new WorkerError('worker_limit', `the Worker ${this.#entry?.script} exceeded a limit`))
    } else {
      this.#over('failed')
      this.#sink.fail(error)
    }
  }

  #failThrown(): void {
    this.#entry?.threw(this.#exchange.rayId)
    this.#failWith('threw an exception')
  }

  #failWith(what: string): void {
    this.#over('exception')
    this.#sink.fail(new WorkerError('worker_exception', `the Worker ${this.#entry?.script} ${what}`))
  }

  #failAway(reason = `the machine with the data of the Worker ${this.#entry?.script} does not respond`): void {
    this.#over('away')
    this.#sink.fail(new WorkerError('worker_data_away', reason))
  }

  #over(outcome: WorkerOutcome): void {
    this.#isOver = true
    this.#entry?.done()
    this.#ended(outcome)
  }

  #ended(outcome: WorkerOutcome): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#run.ended(outcome)
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

/** Whether the process was killed. The daemon that knows it may have ended. */
const settled = async (cut: Promise<Cut>): Promise<Cut> => await cut.catch(() => 'none')

const LOST: ReadonlySet<unknown> = new Set(['ECONNREFUSED', 'ECONNRESET', 'ENOENT', 'EPIPE'])
const isLost = (error: unknown): boolean =>
  error instanceof ConnectionLost || LOST.has((error as { code?: unknown } | null)?.code)

/** The runtime closes the connection after an exception; it removes such a field from responses of scripts. */
const isRuntimeError = (headers: RawHeaders): boolean =>
  headerOf(headers, 'connection')?.toLowerCase() === 'close' &&
  headerOf(headers, 'content-length') === '21' &&
  headerOf(headers, 'content-type') === undefined
