/**
 * Tails: WebSockets that receive a record of each call of a script, on all machines. They live in the memory of one daemon, for
 * hours at most; the URL of a tail is its secret.
 */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { WebSocketServer } from 'ws'
import type { Clock } from '../../../src/core/clock.js'
import { newId } from '../../../src/core/ids.js'
import type { FollowedMachines, OtherMachines, StreamSource } from '../../../src/core/machine-streams.js'
import { WORKER_SCRIPTS, type StoredScript } from '../../../src/core/model/worker.js'
import type { Scope } from '../../../src/core/scope.js'
import type { Store } from '../../../src/core/store.js'
import { LiveClients } from '../../http/websocket-clients.js'
import { PREFIX } from '../../http/prefix.js'
import { reports, type TailFilter } from './tail-filters.js'
import { takeUnmasked } from './websocket-mask.js'

const MAX_PER_SCRIPT = 10
/** Of all scripts together. */
const MAX_TAILS = 1000
const LIFE_MS = 6 * 60 * 60_000
const UNUSED_MS = 5 * 60_000
const SWEEP_MS = 10_000

const NORMAL = 1000

/** The subprotocol that clients request. */
const PROTOCOL = 'trace-v1'

/** Path of a tail on the listener of the API. */
const PATH = new RegExp(`^${PREFIX}/workers/tails/([0-9a-f]{32})$`)
export const tailPath = ({ secret }: Tail): string => `${PREFIX}/workers/tails/${secret}`

export interface Tail {
  readonly id: string
  readonly scope: Scope
  /** Name of the script, and its id: another script may have the name later. */
  readonly script: Pick<StoredScript, 'name' | 'tag'>
  readonly expiresAt: number
  /** Anyone who has it can listen. */
  readonly secret: string
  readonly clients: LiveClients
  readonly wants: TailWants
  /** Calls that other machines serve. Undefined without other machines. */
  readonly elsewhere: FollowedMachines | undefined
  /** Notices for new clients about machines that do not respond, by machine. */
  readonly away: ReadonlyMap<string, string>
}

/** Which calls a tail reports. */
export interface TailWants {
  readonly filters: readonly TailFilter[]
  /** Address of the client that opened it. */
  readonly self: string
}

/** A tail of another machine. */
interface TailElsewhere {
  readonly scope: Scope
  /** Name of the script. */
  readonly script: string
  readonly wants: TailWants
  readonly send: (text: string) => void
}

export interface TailDeps {
  readonly store: Store
  readonly clock: Clock
}

/** All tails of a daemon. */
export class Tails {
  readonly #deps: TailDeps
  /** By their secret. */
  readonly #tails = new Map<string, Tail>()
  readonly #sockets = new WebSocketServer({
    noServer: true,
    clientTracking: false,
    maxPayload: 4096,
    handleProtocols: (offered) => (offered.has(PROTOCOL) ? PROTOCOL : false),
  })
  readonly #elsewhere = new Set<TailElsewhere>()
  #timer: NodeJS.Timeout | undefined
  /** Undefined if no other machine uses the store. */
  machines: OtherMachines | undefined

  constructor(deps: TailDeps) {
    this.#deps = deps
  }

  /** Returns the tails of a script in the order of their creation. */
  list(scope: Scope, { tag }: StoredScript): Tail[] {
    this.sweep()
    return [...this.#tails.values()].filter((tail) => tail.scope.id === scope.id && tail.script.tag === tag)
  }

  /** Whether a script has a tail, here or on another machine. */
  has(scope: Scope, { name, tag }: StoredScript): boolean {
    for (const tail of this.#tails.values()) if (tail.scope.id === scope.id && tail.script.tag === tag) return true
    for (const tail of this.#elsewhere) if (tail.scope.id === scope.id && tail.script === name) return true
    return false
  }

  /** Sends a trace event of this machine to all tails of a script. */
  send(scope: Scope, script: string, event: object): void {
    if (this.#tails.size === 0 && this.#elsewhere.size === 0) return
    let text: string | undefined
    for (const { scope: of, script: tailed, wants, clients } of this.#tails.values())
      if (of.id === scope.id && tailed.name === script && reports(wants.filters, event, wants))
        clients.send((text ??= JSON.stringify(event)), 1)
    for (const { scope: of, script: tailed, wants, send } of this.#elsewhere)
      if (of.id === scope.id && tailed === script && reports(wants.filters, event, wants))
        send((text ??= JSON.stringify(event)))
  }

  /** Sends trace events of this machine to a tail of another one, when `traced` has made the script report its calls. */
  source(traced: (scope: Scope) => Promise<void>): StreamSource {
    return async ({ scope, input }, sender, signal) => {
      const tail = {
        scope,
        ...(input as Pick<TailElsewhere, 'script' | 'wants'>),
        send: (text: string) => sender.send(text, 1),
      }
      this.#elsewhere.add(tail)
      signal.addEventListener('abort', () => this.#elsewhere.delete(tail))
      if (signal.aborted) this.#elsewhere.delete(tail)
      await traced(scope)
    }
  }

  /** Creates a tail. Returns undefined at the maximum number of the script or of the daemon. */
  open(scope: Scope, script: StoredScript, wants: TailWants): Tail | undefined {
    if (this.list(scope, script).length >= MAX_PER_SCRIPT || this.#tails.size >= MAX_TAILS) return undefined
    const secret = randomBytes(16).toString('hex')
    const { clock } = this.#deps
    const { name, tag } = script
    const note = (message: string) => ({ text: notice(name, clock.now(), message), binary: false })
    const away = new Map<string, string>()
    const clients = new LiveClients(clock, (missed) =>
      note(`${missed} calls were left out; the client reads too slowly`),
    )
    const tail: Tail = {
      id: newId(),
      scope,
      script: { name, tag },
      expiresAt: clock.now() + LIFE_MS,
      secret,
      clients,
      wants,
      elsewhere: this.machines?.follow(
        { type: 'worker_tail', scope, input: { script: name, wants } },
        {
          text: (text) => void clients.send(text, 1),
          missed: (calls) => clients.miss(calls),
          machine(machine, state) {
            const isAway = state === 'away'
            const message = note(
              isAway
                ? `the machine ${machine} does not respond; its calls are not shown`
                : `the calls of the machine ${machine} are shown again`,
            )
            if (isAway) away.set(machine, message.text)
            else away.delete(machine)
            clients.notify(message)
          },
        },
      ),
      away,
    }
    this.#tails.set(secret, tail)
    this.#timer ??= setInterval(() => this.sweep(), SWEEP_MS).unref()
    return tail
  }

  /** Ends a tail. Returns false if the script has no tail with this id. */
  end(scope: Scope, script: StoredScript, id: string): boolean {
    const tail = this.list(scope, script).find((one) => one.id === id)
    if (!tail) return false
    this.#end(tail, 'the tail was deleted')
    return true
  }

  /** Takes over a connection that requests the path of a tail. Returns false, without an effect, for other paths. */
  take(request: IncomingMessage, socket: Duplex, head: Buffer): boolean {
    const [, secret = ''] = PATH.exec(request.url?.split('?', 1)[0] ?? '') ?? []
    const tail = this.#tails.get(secret)
    if (!tail || this.#deps.clock.now() >= tail.expiresAt) return false
    this.#sockets.handleUpgrade(request, socket, head, (client) => {
      takeUnmasked(socket)
      if (tail.clients.join(client, socket)) for (const text of tail.away.values()) client.send(text)
    })
    return true
  }

  /**
   * Ends tails that expired, whose script was deleted, or that had no client for five minutes, and clients
   * that no longer respond.
   */
  sweep(): void {
    const { clock, store } = this.#deps
    const now = clock.now()
    for (const tail of this.#tails.values()) {
      const { scope, script, expiresAt, clients } = tail
      if (now >= expiresAt) this.#end(tail, 'the tail has expired')
      else if (clients.unusedMs >= UNUSED_MS) this.#end(tail, 'nobody listened')
      else if (store.get(WORKER_SCRIPTS, scope, script.name)?.value.tag !== script.tag)
        this.#end(tail, 'the script was deleted')
      else clients.probe()
    }
    if (this.#tails.size === 0) this.#rest()
  }

  /** Asks every client to go; those that do not are disconnected a little later. */
  closeAll(): void {
    this.#rest()
    for (const { clients } of this.#tails.values()) clients.closeAll()
  }

  /** Ends all tails. */
  close(): void {
    this.closeAll()
    for (const { elsewhere } of this.#tails.values()) elsewhere?.close()
    this.#tails.clear()
  }

  #end(tail: Tail, why: string): void {
    this.#tails.delete(tail.secret)
    tail.elsewhere?.close()
    tail.clients.close(NORMAL, why)
  }

  #rest(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** Returns a message that is not about a call, in the form that wrangler shows. */
const notice = (scriptName: string, now: number, message: string): string =>
  JSON.stringify({
    outcome: 'unknown',
    scriptName,
    eventTimestamp: now,
    logs: [],
    exceptions: [],
    event: { type: 'overload', message },
  })
