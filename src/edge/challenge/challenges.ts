import type { Clock } from '../../core/clock.js'
import { mediaRanges } from '../../http/accept.js'
import { headerOf } from '../../http/headers.js'
import type { RuleExchange } from '../../rules/types.js'
import { BoundedSet } from './bounded-set.js'
import { challengePage, PAGE_POLICY, SOLUTION_PATH } from './page.js'
import { provesWork } from './proof.js'
import { Tickets, type Ticket } from './tickets.js'

/** Options of challenges (see `proxy.challenge` of the configuration). */
export interface ChallengeOptions {
  /** Zero bits at the beginning of a valid proof of work. */
  readonly difficulty: number
  /** Milliseconds for which a solved challenge is valid. */
  readonly clearance_lifetime: number
}

/** The cookie of a client that has solved a challenge. */
export const COOKIE = 'cf_clearance'

/** Maximum time from the creation of a page to its solution. */
const TASK_MS = 10 * 60_000
/** Solved tasks that are remembered, so that none is accepted twice. */
const MAX_REMEMBERED = 100_000
/** Maximum number of cookies with this name that are read. More cookies are an attack. */
const MAX_COOKIES = 4
/** Maximum length of a path that a client is redirected to. */
const MAX_PATH = 8192
const MAX_ACCEPT = 1024

/** Fields that a client sends with a solved task. */
export interface Solution {
  readonly ticket: string
  readonly nonce: string
  /** Path, query and fragment to continue with. */
  readonly to: string
}

/**
 * Challenges of clients: a task on a page, and a signed cookie for clients that solve it. All state between the two is
 * in the page and the cookie, so that machines with the same key accept each other's. Each machine remembers separately
 * which tasks were used, the latest 100,000.
 *
 * Tasks and cookies are bound to the host (cookies: to the zone), the client's address and User-Agent: neither is valid
 * for another client.
 */
export class Challenges {
  /** Changes with the configuration. */
  options: ChallengeOptions
  readonly #clock: Clock
  readonly #tasks: Tickets
  readonly #clearances: Tickets
  readonly #solved = new BoundedSet(MAX_REMEMBERED)
  readonly #redeemed = new BoundedSet(MAX_REMEMBERED)

  /** The first key signs. Each key is valid. */
  constructor(keys: () => readonly Buffer[], clock: Clock, options: ChallengeOptions) {
    this.options = options
    this.#clock = clock
    this.#tasks = new Tickets('task', keys)
    this.#clearances = new Tickets('clearance', keys)
  }

  /** Returns the content of the client's cookie, or undefined if it has no valid one. */
  clearance(exchange: RuleExchange): Ticket | undefined {
    const now = this.#clock.now()
    const bound = boundTo(exchange, exchange.zone.id)
    for (const text of cookies(exchange)) {
      const ticket = this.#clearances.read(text, now, bound)
      if (ticket) return ticket
    }
    return undefined
  }

  /** Returns true once for each clearance and each item, so that it can be exchanged for a new start only once. */
  redeem({ id }: Ticket, thing: string): boolean {
    return this.#redeemed.add(`${id} ${thing}`)
  }

  /**
   * Returns the page with a new task, or undefined if the client is not a navigating browser and could not use the page.
   */
  page(
    exchange: RuleExchange,
  ): { readonly headers: Readonly<Record<string, string>>; readonly body: Buffer } | undefined {
    if (exchange.method !== 'GET' || !takesHtml(headerOf(exchange.rawHeaders, 'accept'))) return undefined
    const { difficulty: bits } = this.options
    const ticket = this.#tasks.issue(this.#clock.now() + TASK_MS, [...boundTo(exchange, exchange.host), String(bits)])
    return {
      headers: {
        'content-type': 'text/html; charset=utf-8',
        'cache-control': 'no-store',
        'content-security-policy': PAGE_POLICY,
        'referrer-policy': 'same-origin',
        'x-content-type-options': 'nosniff',
        vary: 'accept',
      },
      body: Buffer.from(challengePage({ ticket, bits, rayId: exchange.rayId })),
    }
  }

  /** Returns whether a request posts a solution, which is handled here. Its path and query are as the client sent them. */
  takes({ method, target }: Pick<RuleExchange, 'method' | 'target'>): boolean {
    return method === 'POST' && target === SOLUTION_PATH
  }

  /**
   * Returns the header fields for a client that solved the task: a cookie and the redirect. Undefined if it did not.
   */
  solved(exchange: RuleExchange, { ticket: text, nonce, to }: Solution): Readonly<Record<string, string>> | undefined {
    const { difficulty, clearance_lifetime: clearance } = this.options
    const now = this.#clock.now()
    const ticket = this.#tasks.read(text, now, [...boundTo(exchange, exchange.host), String(difficulty)])
    if (!ticket || !provesWork(ticket.id, nonce, difficulty) || !this.#solved.add(ticket.id)) return undefined
    const value = this.#clearances.issue(now + clearance, boundTo(exchange, exchange.zone.id))
    const secure = exchange.scheme === 'https' ? '; Secure' : ''
    return {
      'set-cookie': `${COOKIE}=${value}; Path=/; Max-Age=${Math.ceil(clearance / 1000)}; HttpOnly; SameSite=Lax${secure}`,
      location: ownPath(to),
      'cache-control': 'no-store',
    }
  }
}

const boundTo = ({ clientAddress, rawHeaders }: RuleExchange, place: string): string[] => [
  place,
  clientAddress,
  headerOf(rawHeaders, 'user-agent') ?? '',
]

/** Returns the values of the client's cookies of our name. */
function* cookies({ rawHeaders }: RuleExchange): Generator<string> {
  let left = MAX_COOKIES
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() !== 'cookie') continue
    for (const pair of rawHeaders[i + 1]!.split(';')) {
      const cookie = pair.trim()
      if (!cookie.startsWith(`${COOKIE}=`)) continue
      if (left-- === 0) return
      yield cookie.slice(COOKIE.length + 1)
    }
  }
}

/** Returns whether an Accept field names HTML. Clients that accept only wildcards are programs rather than browsers. */
function takesHtml(accept: string | undefined): boolean {
  if (accept === undefined || accept.length > MAX_ACCEPT) return false
  for (const { range, quality } of mediaRanges(accept)) if (range === 'text/html') return quality > 0
  return false
}

/**
 * Returns a path on this host as a Location, or `/` if it is not one. A second slash or a backslash would begin another
 * host's name, and browsers drop white space and control characters before they parse.
 */
const ownPath = (to: string): string => (/^\/(?![/\\])[!-~]*$/.test(to) && to.length <= MAX_PATH ? to : '/')
