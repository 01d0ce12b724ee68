import type { Clock } from '../../core/clock.js'
import type { Log } from '../../core/log.js'

/** Lines of one account in a minute. Further exceptions are counted. */
const MAX_LINES = 60
const MINUTE_MS = 60_000
/** A request and the text of its exception arrive from two places, and are joined if this time is not between them. */
const JOIN_MS = 1000
/** Texts, and requests, that wait for the other part. */
const MAX_WAITING = 100
const MAX_CHARACTERS = 2048
/** Characters of a line whose end has not arrived. */
const MAX_PENDING = 64 * 1024

/** A line of the runtime begins so. What follows up to the next one belongs to it. */
const LINE = /^(?=\S+:\d+: \w+: )/m
const UNCAUGHT = /^\S+:\d+: \w+: Uncaught exception: \S+: failed: (?:(?:remote\.)*jsg\.(\w+): )?([\s\S]*)/

/** An exception as the runtime prints it. */
interface Exception {
  readonly name: string
  readonly message: string
}

/** A request that an exception ended. */
interface Request {
  readonly script: string
  readonly rayId: string
}

interface Options {
  readonly log: Log
  readonly clock: Clock
  readonly accountId: string
  /** Whether the exceptions of a script are logged elsewhere, with its calls. */
  readonly isObserved: (script: string) => boolean
}

/** Writes uncaught exceptions of the scripts of an account to the log, a limited number in a minute. */
export class ExceptionLog {
  readonly #options: Options
  #since = -Infinity
  #lines = 0

  constructor(options: Options) {
    this.#options = options
  }

  /** Returns the exceptions of one process that runs these scripts. */
  ofProcess(scripts: ReadonlySet<string>): ProcessExceptions {
    const [sole] = scripts.size === 1 ? scripts : []
    const isSilent = [...scripts].every((script) => this.#options.isObserved(script))
    return new ProcessExceptions(this.#options.clock, (exception, request) => {
      const script = request?.script ?? sole
      if (script === undefined ? !isSilent : !this.#options.isObserved(script)) this.#write(exception, script, request)
    })
  }

  #write(exception: Exception | undefined, script: string | undefined, request: Request | undefined): void {
    const { log, clock, accountId: account } = this.#options
    const now = clock.monotonic()
    if (now - this.#since >= MINUTE_MS) {
      const dropped = this.#lines - MAX_LINES
      if (dropped > 0) log.warn({ event: 'worker_exceptions_dropped', account, lines: dropped })
      this.#since = now
      this.#lines = 0
    }
    this.#lines += 1
    if (this.#lines > MAX_LINES) return
    log.error({
      event: 'worker_exception',
      account,
      ...(script !== undefined && { script }),
      ...(request && { ray: request.rayId }),
      ...(exception && exceptionFacts(exception)),
    })
  }
}

/** Joins the texts of one process about uncaught exceptions with the requests that they ended. */
export class ProcessExceptions {
  readonly #clock: Clock
  readonly #write: (exception: Exception | undefined, request: Request | undefined) => void
  readonly #texts: Exception[] = []
  readonly #requests: Request[] = []
  #pending = ''

  constructor(clock: Clock, write: (exception: Exception | undefined, request: Request | undefined) => void) {
    this.#clock = clock
    this.#write = write
  }

  /** Takes a part of the text that the process prints on standard error. */
  read(chunk: string): void {
    this.#pending += chunk
    const end = this.#pending.lastIndexOf('\n') + 1
    if (end === 0 && this.#pending.length < MAX_PENDING) return
    const whole = end === 0 ? this.#pending : this.#pending.slice(0, end)
    this.#pending = this.#pending.slice(whole.length)
    for (const line of whole.split(LINE)) {
      const [, name = 'Error', text] = UNCAUGHT.exec(line) ?? []
      if (text !== undefined) this.#join(this.#texts, this.#requests, { name, message: text.trimEnd() })
    }
  }

  /** Takes a request that ended with the error of the runtime. */
  ended(request: Request): void {
    this.#join(this.#requests, this.#texts, request)
  }

  #join<Own extends Exception | Request>(own: Own[], others: (Exception | Request)[], item: Own): void {
    const other = others.shift()
    if (other !== undefined) return this.#pair(item, other)
    if (own.length >= MAX_WAITING) this.#pair(own.shift()!, undefined)
    own.push(item)
    void this.#expire(own, item)
  }

  /** Writes a part that stays alone. */
  async #expire<Own extends Exception | Request>(own: Own[], item: Own): Promise<void> {
    await this.#clock.sleep(JOIN_MS)
    const at = own.indexOf(item)
    if (at < 0) return
    own.splice(at, 1)
    this.#pair(item, undefined)
  }

  #pair(one: Exception | Request, other: Exception | Request | undefined): void {
    const parts = [one, other]
    this.#write(
      parts.find((part): part is Exception => part !== undefined && 'message' in part),
      parts.find((part): part is Request => part !== undefined && 'rayId' in part),
    )
  }
}

/** The members of a line of the log that tell about an exception. */
export function exceptionFacts({ name, message }: { readonly name: unknown; readonly message: unknown }): {
  readonly name: string
  readonly message: string
} {
  return { name: shortened(String(name)), message: shortened(`${String(name)}: ${String(message)}`) }
}

/** Cuts a text for the log. */
export const shortened = (text: string): string =>
  text.length > MAX_CHARACTERS ? `${text.slice(0, MAX_CHARACTERS)}…` : text
