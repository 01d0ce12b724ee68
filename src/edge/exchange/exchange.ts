import type { AccessAction, Price } from '../../agents/access/access.js'
import type { Agent } from '../../agents/identity.js'
import type { ClientCertificate } from '../../core/client-certificate.js'
import { headerOf, type RawHeaders } from '../../http/headers.js'
import type { Decisions, RouteParams } from '../../rules/decisions.js'
import type { Run } from '../../rules/engine/run.js'
import type { BodyHead, ExchangeResponse, RuleExchange, RuleMatch } from '../../rules/types.js'
import type { ExchangeTrace } from '../../telemetry/tracer.js'
import type { CacheReason } from '../../core/model/requests/cache-reason.js'
import type { CachedResponse, CacheStatus } from '../cache/entries/types.js'
import { ArrivedRequest, type Arrival } from './arrival.js'
import { aliasOf, type Alias } from './markdown-addresses.js'
import { normalTarget } from './normal-path.js'
import { OriginFacts } from './origin-exchange.js'
import type { Conversion } from './conversion.js'
import type { AuthOptions } from './auth-options.js'
import type { Balancer } from '../balancing/balancer.js'
import type { Place } from './paths.js'
import type { UnreadResponse } from './unread-response.js'
import type { CustomHostname, Zone } from './zones.js'

const MAX_MATCHES = 256
const NOTHING: RawHeaders = []

/** The cache's part in a response. */
class CacheFacts {
  /** Undefined if the response is the proxy's own or the zone has no cache. */
  status: CacheStatus | undefined
  /** Why the cache did not answer, if there is a reason besides that it had no response. */
  reason: CacheReason | undefined
  /** Undefined if the response is not in the cache, or rules replaced it. */
  response: CachedResponse | undefined
  /** Bytes of the body that the cache sent, before later stages changed it. */
  bytes = 0
  /** Status that the cache responded with; 0 if the response is not from the cache. */
  responseStatus = 0
  /** The cache read the response from its disk tier. */
  isFromDisk = false
  /** The rules that judge responses before they are stored have run for the response. */
  haveRulesRun = false
}

/** The response as the client received it. */
export class SentResponse {
  /** Status that the client got; 0 before that, 499 if it left without one. */
  status = 0
  #headers: RawHeaders | undefined
  #unread: UnreadResponse | undefined
  #added: RawHeaders = NOTHING
  /** When the first byte was written, on the clock's `monotonic` scale. Undefined before that. */
  firstByteAt: number | undefined
  /** When the response was complete or the client had left, on the same scale. Undefined before that. */
  endedAt: number | undefined
  /** Bytes of the body. */
  bodyBytes = 0
  /** Bytes of the whole response: head, body and chunk framing. Set at its end. */
  bytes = 0

  /** Undefined before the head was sent. */
  get headers(): RawHeaders | undefined {
    return (this.#headers ??= this.#unread?.fields().concat(this.#added))
  }

  set headers(fields: RawHeaders | undefined) {
    this.#headers = fields
  }

  /** Whether the response is Markdown. */
  get isMarkdown(): boolean {
    const type = this.#headers ? headerOf(this.#headers, 'content-type') : this.#unread?.contentType
    return type?.startsWith('text/markdown') === true
  }

  /** The head was sent with fields that nothing has read, and with added ones. */
  unread(response: UnreadResponse, added: RawHeaders): void {
    this.#headers = undefined
    this.#unread = response
    this.#added = added
  }
}

/** One request: the facts of its arrival, its state on the way through the stages, and the decisions about it. */
export class Exchange extends ArrivedRequest implements RuleExchange {
  /** `rawTarget` after normalization and rewrites by rules. */
  target: string
  /** Undefined if no rule needs the body or the request has none. */
  body: BodyHead | undefined
  /** Undefined before the response begins. Replaced when rules change it. */
  response: ExchangeResponse | undefined
  /** The agent that sent the request. Undefined for any other client. */
  agent: Agent | undefined
  /** What `access` did to the request of the agent. Undefined if no entry fitted. */
  agentAction: AccessAction | undefined
  /** Whether the agent has to pay for the page, or has paid for it. */
  payStatus: 'required' | 'charged' | undefined
  /** The price that was charged. Undefined if none was. */
  charged: Price | undefined
  /** Undefined unless the response was a page that the request wanted in Markdown. */
  conversion: Conversion | undefined
  /** Undefined if the zone has no rules. */
  run: Run | undefined
  /** Undefined if the request is not traced. */
  trace: ExchangeTrace | undefined
  /** When the request had passed the stages, on the clock's `monotonic` scale. Undefined if a stage responded. */
  routedAt: number | undefined
  /** Name of the Worker that runs for the request. Undefined if none does. */
  worker: string | undefined
  /** Rules that acted on the request, in order; limited to the first ones. */
  readonly matches: RuleMatch[] = []
  /** Results of rules. Later stages follow them. */
  readonly decisions: Decisions
  /** Facts about the last request that was sent to an origin. */
  readonly origin = new OriginFacts()
  readonly caching = new CacheFacts()
  readonly sent = new SentResponse()
  /** The requested address, if the edge adds this address to the site. Known after `settle`. */
  alias: Alias | undefined
  #rewritten: RawHeaders | undefined
  #isSettled = false
  #place: Place | undefined
  /** The normalized target, if the origin gets the original one. */
  readonly #incoming: string | undefined
  #isRestored = false

  constructor(arrival: Arrival) {
    super(arrival)
    const { zone, host, custom } = this
    const { normalization } = zone
    this.target = normalization ? normalTarget(arrival.target, normalization) : arrival.target
    this.#incoming = normalization?.scope === 'incoming' ? this.target : undefined
    this.decisions = {
      settings:
        custom && zone.customHostnames === 'all' ? { ...zone.settings, content_converter: true } : zone.settings,
      route: custom && customRoute(custom, zone, host),
      cache: undefined,
      compression: undefined,
      logFields: undefined,
      score: undefined,
      edgeError: undefined,
    }
  }

  /** `rawHeaders` after rewrites by rules. Expressions read this list. Rules replace the list, they never change it. */
  get clientHeaders(): RawHeaders {
    return this.#rewritten ?? this.rawHeaders
  }

  set clientHeaders(fields: RawHeaders) {
    this.#rewritten = fields
  }

  /** Returns the first value of a field in `clientHeaders`, by its lower-case name. Not for Host. */
  clientField(name: string): string | undefined {
    return this.#rewritten === undefined ? this.rawField(name) : headerOf(this.#rewritten, name)
  }

  /** Restores the path as it was sent, if it was normalized for rules only and no rule rewrote it. */
  restoreTarget(): void {
    if (this.target !== this.#incoming) return
    this.target = this.rawTarget
    this.#isRestored = true
  }

  /** Origins, folder and authentication of the path. Undefined if the zone has one place for all paths. */
  get place(): Place | undefined {
    const { places } = this.zone
    // The address of a page's Markdown is the place of the page.
    if (places) this.#place ??= places.find(this.alias?.target ?? this.rawTarget)
    return this.#place
  }

  /** Everything that the client has to prove: for the path as it was sent, and for the page of its Markdown. */
  get auths(): readonly AuthOptions[] {
    const { places } = this.zone
    if (!places) return []
    const sent = places.auths(this.rawTarget)
    const { auth } = this.place!
    return auth === undefined || sent.includes(auth) ? sent : [...sent, auth]
  }

  /** The balancer of the path. */
  get balancer(): Balancer {
    return this.place?.balancer ?? this.zone.balancer
  }

  get mayBeCached(): boolean {
    if (this.zone.places && this.auths.length > 0) return false
    return (this.method === 'GET' || this.method === 'HEAD') && this.zone.cache.mode !== 'off'
  }

  get seenTarget(): string {
    return (this.#isRestored ? this.#incoming : undefined) ?? this.target
  }

  /** Whether the client was asked for a certificate of this zone's authority. */
  get asksForCertificate(): boolean {
    const { clientAuthority } = this.zone
    return clientAuthority !== undefined && this.tls?.client?.authority.id === clientAuthority.id
  }

  get clientCertificate(): ClientCertificate | undefined {
    return this.asksForCertificate ? this.tls?.client?.certificate : undefined
  }

  settle(): boolean {
    if (this.#isSettled) return false
    this.#isSettled = true
    if (!this.decisions.settings.content_converter || (this.method !== 'GET' && this.method !== 'HEAD')) return false
    this.alias = aliasOf(this)
    if (this.alias === undefined) return false
    this.target = this.alias.target
    this.#place = undefined
    return true
  }

  /** Records that a rule acted on the request. */
  matched(match: RuleMatch): void {
    if (this.matches.length < MAX_MATCHES) this.matches.push(match)
  }
}

/** Returns the origin of requests for a custom hostname, or undefined for the zone's origin. Origin rules can change it. */
function customRoute(custom: CustomHostname, zone: Zone, host: string): RouteParams | undefined {
  const server = custom.originServer ?? zone.fallbackOrigin
  if (server === undefined) return undefined
  const { originSni: sni } = custom
  return {
    origin: { host: server },
    ...(sni !== undefined && { sni: { value: sni === ':request_host_header:' ? host : sni } }),
  }
}
