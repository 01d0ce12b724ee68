import type { ResponseSink } from './response.js'
import type { Exchange } from './exchange.js'

/** The request of an exchange as a Worker gets it. */
export interface RequestOfWorker {
  /** Returns the head of the request if it has no body. Undefined if the head has to be written from {@link fields}. */
  text(): string | undefined
  /** Returns the fields: name, value, name, value. */
  fields(): readonly string[]
  /** Called when the connection has become a WebSocket. */
  switched(): void
}

/** Sends a request to the process of a Worker, and the response to a sink. Returns how to cancel that. */
export type SendTo = (url: string, sink: ResponseSink, request: RequestOfWorker) => () => void

/** Responds to requests instead of an origin. */
export interface WorkerSite {
  /** Sends the response to the sink. Returns how to cancel that. */
  serve(exchange: Exchange, sink: ResponseSink, sendTo: SendTo): () => void
}

/** Finds the Worker in charge of a request. */
export interface WorkerSites {
  /** Returns undefined if the zone's origin responds. */
  find(exchange: Exchange): WorkerSite | undefined
}

/** Errors of Workers that clients see on an error page, with the status of each. */
export const WORKER_ERRORS = {
  worker_loop: [1019, 508],
  worker_exception: [1101, 500],
  worker_limit: [1102, 503],
  worker_missing: [1104, 404],
  worker_data_away: [1105, 503],
} as const
export type WorkerErrorName = keyof typeof WORKER_ERRORS

/** The Worker failed. */
export class WorkerError extends Error {
  override readonly name = 'WorkerError'
  readonly code: number
  readonly status: 404 | 500 | 503 | 508
  readonly kind: WorkerErrorName

  constructor(kind: WorkerErrorName, message: string) {
    super(message)
    this.kind = kind
    const [code, status] = WORKER_ERRORS[kind]
    this.code = code
    this.status = status
  }
}

/** Explanations of Workers that this server does not run, for clients. */
const NOT_RUNNABLE = {
  no_runtime: {
    detail: 'A Worker is responsible for this address, and this server runs no Workers.',
    advice: 'The operator of this server can install the runtime for Workers. "edged doctor" prints the command.',
  },
  python: {
    detail: 'A Worker in Python is responsible for this address, and this server does not run Python.',
    advice: 'The owner of the website can deploy the Worker in JavaScript or WebAssembly.',
  },
} as const

/** The Worker has code, and this server has no runtime for it. */
export class NotRunnable extends Error {
  override readonly name = 'NotRunnable'
  readonly explanation: { readonly detail: string; readonly advice: string }

  constructor(kind: keyof typeof NOT_RUNNABLE, message: string) {
    super(message)
    this.explanation = NOT_RUNNABLE[kind]
  }
}
