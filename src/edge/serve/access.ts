import { basicChallenge, basicVerdict } from '../auth/basic.js'
import { ForwardRequest, withCopied } from '../auth/forward-request.js'
import type { AuthOptions, BasicOptions, ForwardOptions } from '../exchange/auth-options.js'
import type { Verdict } from '../auth/passwords.js'
import type { ResponseSink } from '../exchange/response.js'
import { CLIENT_LEFT } from '../exchange/origin-exchange.js'
import { originFailure } from '../exchange/origin-errors.js'
import type { RawHeaders } from '../../http/headers.js'
import { Forward } from './forward.js'
import type { OriginCall } from './to-origin.js'

/** Maximum time until the service has responded, with the wait for a connection. */
const FORWARD_MS = 10_000
const LATE = 'the authentication service did not respond within 10 s'

/** A request that needs authentication. */
type AccessRequest = Omit<OriginCall, 'switched'>

/** Returns whether a request may pass now. If not, it has its response, or `resume` is called later. */
export function mayPass(request: AccessRequest, auths: readonly AuthOptions[], resume: () => void): boolean {
  const [first, ...rest] = auths
  if (first === undefined) return true
  const next = (): void => {
    if (mayPass(request, rest, resume)) resume()
  }
  return isProven(request, first, next) && mayPass(request, rest, resume)
}

function isProven(request: AccessRequest, auth: AuthOptions, resume: () => void): boolean {
  if (auth.forward) {
    ask(request, auth.forward, resume)
    return false
  }
  const verdict = basicVerdict(request.exchange, auth.basic, request.context.log)
  if (!(verdict instanceof Promise)) return verdict === 'right' || refused(request, auth.basic, verdict)
  void passLater(request, auth.basic, verdict, resume)
  return false
}

async function passLater(
  request: AccessRequest,
  options: BasicOptions,
  verdict: Promise<Verdict>,
  resume: () => void,
): Promise<void> {
  const { client } = request
  try {
    const known = await verdict
    if (client.isOver) return
    if (known === 'right') resume()
    else refused(request, options, known)
  } catch (error) {
    client.fail(error)
  }
}

function refused({ client }: AccessRequest, options: BasicOptions, verdict: Exclude<Verdict, 'right'> | 'none'): false {
  if (verdict === 'limited') client.page({ status: 429, retryAfter: 60, detail: 'too many wrong passwords' })
  else if (verdict === 'busy')
    client.page({ status: 503, retryAfter: 1, detail: 'too many passwords are being checked' })
  else client.page({ status: 401, headers: { 'www-authenticate': basicChallenge(options) } })
  return false
}

/** Asks the service. Its response goes to the client unless it is a success. */
function ask(request: AccessRequest, options: ForwardOptions, resume: () => void): void {
  const { client, exchange, context } = request
  const service = context.origins.get(exchange.zone.id, { url: options.origin })
  const timer = new AbortController()
  const sink = new Decision(client, timer, (fields) => {
    exchange.headers = withCopied(exchange.headers, options, fields)
    client.cancel = undefined
    resume()
  })
  const forward = new Forward(new ForwardRequest(exchange, options), service, sink, context, {
    body: null,
    switched: undefined,
  })
  client.cancel = () => forward.cancel()
  void (async () => {
    // Rejects when the service has decided.
    const isLate = await context.clock.sleep(FORWARD_MS, timer.signal).then(
      () => true,
      () => false,
    )
    if (!isLate) return
    sink.late()
    forward.cancel()
  })()
  forward.send()
}

/** Receives the response of the service. */
class Decision implements ResponseSink {
  readonly #client: ResponseSink
  readonly #timer: AbortController
  readonly #passed: (fields: RawHeaders) => void
  /** Fields of a success. Undefined before the head, and for other responses. */
  #success: RawHeaders | undefined
  /** The request has passed, or has its error. */
  #isOver = false

  constructor(client: ResponseSink, timer: AbortController, passed: (fields: RawHeaders) => void) {
    this.#client = client
    this.#timer = timer
    this.#passed = passed
  }

  head(status: number, headers: RawHeaders): void {
    if (status >= 200 && status < 300) {
      this.#success = headers
      return
    }
    this.#timer.abort()
    this.#client.head(status, headers)
  }

  data(chunk: Buffer): boolean {
    return this.#success ? true : this.#client.data(chunk)
  }

  end(trailers?: RawHeaders): void {
    if (this.#isOver) return
    this.#timer.abort()
    if (!this.#success) return this.#client.end(trailers)
    this.#isOver = true
    this.#passed(this.#success)
  }

  fail(error: unknown): void {
    if (this.#isOver) return
    this.#timer.abort()
    // A service that does not respond is an error of the gateway, as one that cannot be reached.
    const isLate = error !== CLIENT_LEFT && originFailure(error).status === 504
    this.#client.fail(isLate ? new Error(LATE) : error)
  }

  /** The time is over. A success whose body has not ended is a success. */
  late(): void {
    if (this.#isOver) return
    this.#isOver = true
    if (this.#success) this.#passed(this.#success)
    else this.#client.fail(new Error(LATE))
  }

  onDrain(listener: () => void): void {
    this.#client.onDrain(listener)
  }
}
