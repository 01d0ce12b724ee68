import type { Clock } from '../core/clock.js'
import type { Destination } from '../core/model/delivery.js'
import { WEBHOOKS } from '../core/model/webhook.js'
import type { Scope } from '../core/scope.js'
import type { Store } from '../core/store.js'
import type { Vault } from '../core/vault.js'
import type { Egress, GuardedAgents } from '../egress/egress.js'
import { destinationOf } from './auth-headers.js'
import { posterOver, type Poster } from './http-post.js'

/** A destination with decrypted secrets and its connections. */
export interface OpenDestination {
  readonly destination: Destination
  readonly post: Poster
}

interface Opened extends OpenDestination {
  readonly agents: GuardedAgents
  readonly version: number
  readonly until: number
}

export interface DestinationDeps {
  readonly store: Store
  readonly vault: Vault
  readonly egress: Egress
  readonly clock: Clock
  /** Sends the attempts. Default is HTTP. */
  readonly post?: Poster
}

/** The open destination of one webhook. Opens on first use and again after the webhook changed. */
export class DestinationOf {
  readonly #deps: DestinationDeps
  readonly #scope: Scope
  readonly #id: string
  readonly #maxSockets: number
  #opened: Opened | undefined

  constructor(deps: DestinationDeps, scope: Scope, id: string, maxSockets: number) {
    this.#deps = deps
    this.#scope = scope
    this.#id = id
    this.#maxSockets = maxSockets
  }

  /** Throws if the webhook does not exist or a secret cannot be decrypted. */
  open(): OpenDestination {
    const { store, vault, egress, clock } = this.#deps
    const stored = store.get(WEBHOOKS, this.#scope, this.#id)
    if (stored === undefined) throw new Error('the webhook does not exist')
    const now = clock.now()
    const opened = this.#opened
    if (opened !== undefined && opened.version === stored.version && now < opened.until) return opened
    this.close()
    const destination = destinationOf(stored.value, this.#scope, vault, now)
    // A replaced secret signs until it expires. Then the destination is opened again without it.
    const ends = (stored.value.former_secrets ?? []).map(({ until }) => Date.parse(until)).filter((end) => end > now)
    const agents = egress.agents({ maxSockets: this.#maxSockets })
    this.#opened = {
      destination,
      agents,
      post: this.#deps.post ?? posterOver(agents),
      version: stored.version,
      until: Math.min(...ends, Infinity),
    }
    return this.#opened
  }

  /** Releases secrets and connections. Attempts in flight end on their own connections. */
  close(): void {
    this.#opened?.agents.retire()
    this.#opened = undefined
  }
}
