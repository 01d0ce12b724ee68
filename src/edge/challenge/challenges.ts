import type { Clock } from '../../core/clock.js'
import { mediaRanges } from '../../http/accept.js'
import { headerOf } from '../../http/headers.js'
import type { RuleExchange } from '../../rules/types.js'
import { BoundedSet } from './bounded-set.js'
import { challengePage, PAGE_POLICY, SOLUTION_PATH } from './page.js'
import { provesWork } from './proof.js'
import { Tickets, type Ticket } from './tickets.js'

/** How visitors are challenged; see `proxy.challenge` of the configuration. */
export interface ChallengeOptions {
  /** Zero bits that the proof of work has to begin with. */
  readonly difficulty: number
  /** Milliseconds that a solved challenge is good for. */
  readonly clearance_lifetime: number
}

/** The cookie that says that its visitor has solved a challenge. */
export const COOKIE = 'cf_clearance'

/** A page may stay open for this long before its task is solved. */
const TASK_MS = 10 * 60_000
/** Solved tasks that are remembered, so that none of them is good twice. */
const MAX_REMEMBERED = 100_000
/** Cookies of our name that are looked at; more are somebody's try. */
const MAX_COOKIES = 4
/** Longest path that a visitor is sent back to. */
const MAX_PATH = 8192
const MAX_ACCEPT = 1024

/** What a visitor sends who has solved the task of the page. */
export interface Solution {
  readonly ticket: string
  readonly nonce: string
  /** Path, query and fragment to go on to. */
  readonly to: string
}

/**
 * Challenges of visitors: a task on a page, a signed cookie for who solves it. All that has to be remembered between the
 * two is in the page and the cookie, so that machines with the same key take each other's; only that a task is good
 * once, each machine remembers for itself, the latest 100,000.
 *
 * Tasks and cookies are bound to the host (cookies: to the zone), the visitor's address and User-Agent: neither is worth
 * anything to somebody else.
 */
export class Challenges {
  /** Changes with the configuration. */
  options: ChallengeOptions
  readonly #clock: Clock
  readonly #tasks: Tickets
  readonly #clearances: Tickets
  readonly #solved = new BoundedSet(MAX_REMEMBERED)
  readonly #redeemed = new BoundedSet(MAX_REMEMBERED)

  constructor(key: Buffer, clock: Clock, options: ChallengeOptions) {
    this.options = options
    this.#clock = clock
    this.#tasks = new Tickets('task', key)
    this.#clearances = new Tickets('clearance', key)
  }

  /** What the visitor's cookie says; undefined where there is none that is good. */
  clearance(exchange: RuleExchange): Ticket | undefined {
    const now = this.#clock.now()
    const bound = boundTo(exchange, exchange.zone.id)
    for (const text of cookies(exchange)) {
      const ticket = this.#clearances.read(text, now, bound)
      if (ticket) return ticket
    }
    return undefined
  }

  /** True once for each clearance and each thing: so that it can be exchanged for a fresh start only once. */
  redeem({ id }: Ticket, thing: string): boolean {
    return this.#redeemed.add(`${id} ${thing}`)
  }

  /** The page with a new task; undefined where the client is no browser that navigates, and could make nothing of it. */
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

  /** Whether a request posts a solution, and so is ours to answer; its path and query are as the client sent them. */
  takes({ method, target }: Pick<RuleExchange, 'method' | 'target'>): boolean {
    return method === 'POST' && target === SOLUTION_PATH
  }

  /** The header fields for a visitor who has solved the task: a cookie, and the way on. Undefined where that is not so. */
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

/** The values of the visitor's cookies of our name. */
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

/** Whether an Accept field names HTML. Clients that only take anything are programs rather than browsers. */
function takesHtml(accept: string | undefined): boolean {
  if (accept === undefined || accept.length > MAX_ACCEPT) return false
  for (const { range, quality } of mediaRanges(accept)) if (range === 'text/html') return quality > 0
  return false
}

/**
 * A path on this host as a Location, `/` where it is none: a second slash or a backslash would begin another host's
 * name, and browsers drop white space and control characters before they look.
 */
const ownPath = (to: string): string => (/^\/(?![/\\])[!-~]*$/.test(to) && to.length <= MAX_PATH ? to : '/')
