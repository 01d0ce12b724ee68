/*
 * The types that rules, their actions and the proxy share. Types only. This file has no code, and nothing here depends
 * on the proxy, so that actions, fields and conditions can be written and tested without a connection.
 */
import type { ClientCertificate } from '../core/client-certificate.js'
import type { AsnResponse, CityResponse } from 'mmdb-lib'
import type { Log } from '../core/log.js'
import type { StoredPage } from '../core/model/error-page.js'
import type { ListNamed } from '../core/model/list.js'
import type { Rule, Ruleset, RulesetKind } from '../core/model/ruleset.js'
import type { Scope } from '../core/scope.js'
import type { Context, Evaluate, Filter, IndexedRule, Lists, RuleIndex, Value } from '../expr/index.js'
import type { RawHeaders } from '../http/headers.js'
import type { Decisions } from './decisions.js'
import type { Exceeded } from './limit.js'
import type { Level, Phase, PhaseName } from './phases.js'
import type { SkipParams } from './skip-set.js'
import type { MatchCount } from './match-counters.js'

/** Geographic data of an address, from the databases. */
export interface GeoLocation {
  /** Undefined if there is no such database or the address is not in it. */
  readonly city: Partial<CityResponse> | undefined
  readonly asn: Partial<AsnResponse> | undefined
  /** A city or country database is loaded. A value that is absent from the database is unknown, not missing. */
  readonly known: boolean
}

/** Finds the location of an address. */
export interface GeoLookup {
  find(address: string): GeoLocation
}

/** The beginning of a request's body, buffered for rules that read it. */
export interface BodyHead {
  /** A byte string. */
  readonly bytes: string
  /**
   * Size of the whole body. If its end was not seen and the client did not declare its length, the size of the part
   * seen so far.
   */
  readonly size: number
  /** `bytes` is not the whole body. */
  readonly truncated: boolean
  /** Releases the memory; `bytes` must not be read afterwards. May be called more than once. */
  release(): void
}

/** The head of a response on its way to the client, for the rules that read responses. */
export interface ExchangeResponse {
  readonly status: number
  readonly headers: RawHeaders
  /** As the origin sent them. Undefined if no origin sent a response. */
  readonly originHeaders: RawHeaders | undefined
  /** Cache-Control for the cache alone, if rules set it apart from the client's. */
  readonly edgeControl?: string | undefined
}

/** A rule that acted on a request. */
export interface RuleMatch {
  readonly phase: PhaseName
  readonly ruleset: string
  readonly rule: string
  readonly ref: string
  readonly description: string
  readonly action: string
}

/** A version of HTTP, as the rules language names it after `HTTP/`. */
export type HttpVersion = '1.0' | '1.1' | '2'

/** The local end of a connection. Undefined after the connection is closed. */
export interface LocalEnd {
  readonly localAddress?: string | undefined
  readonly localPort?: number | undefined
}

/** TLS between the client and the proxy. */
export interface ClientTls {
  /** `TLSv1.2` or `TLSv1.3`. */
  readonly version: string
  /** OpenSSL's name of the cipher suite. */
  readonly cipher: string
  /** Bytes of the ClientHello message. */
  readonly helloBytes: number
  /** Base64 values that distinguish clients. */
  readonly fingerprint: {
    readonly random: string
    readonly ciphersSha1: string
    readonly extensionsSha1: string
    readonly extensionsSha1Le: string
  }
}

/** The agent that sent a request. */
export interface RuleAgent {
  readonly name: string
  readonly operator: string
  readonly category: string
  readonly verified: 'none' | 'address' | 'signature'
  /** The agent is verified, and known. */
  readonly isVerifiedBot: boolean
  /** Value of `cf.verified_bot_category`. */
  readonly verifiedBotCategory: string
}

/** The zone of a request, as far as rules read it. */
export interface RuleZone {
  readonly id: string
  readonly name: string
  readonly plan: 'free' | 'pro' | 'business' | 'enterprise'
}

/** One request and the decisions about it. These are the members that rules read and write. */
export interface RuleExchange {
  readonly rayId: string
  readonly clientAddress: string
  readonly scheme: 'http' | 'https'
  readonly zone: RuleZone
  /** Lower case, without port. */
  readonly host: string
  readonly custom: { readonly metadata: Readonly<Record<string, string>> } | undefined
  readonly method: string
  /** The response may come from the cache. */
  readonly mayBeCached: boolean
  /** As the client sent it. */
  readonly rawTarget: string
  /**
   * The target as rules have rewritten it. After the origin gets a path that was normalized for rules only, the target
   * as the client sent it.
   */
  target: string
  /** `target` as expressions read it, normalized also after the path was restored for the origin. */
  readonly seenTarget: string
  readonly httpVersion: HttpVersion
  readonly rawHeaders: RawHeaders
  /** The headers as rules have rewritten them, which expressions read. Rules replace the list and never change it. */
  clientHeaders: RawHeaders
  /** As the origin receives them. */
  headers: string[]
  readonly local: LocalEnd
  /** Undefined without TLS, or if it ended at a trusted proxy. */
  readonly tls: ClientTls | undefined
  /**
   * The certificate that the client presented to the zone's authority. Undefined if it presented none or was not asked.
   */
  readonly clientCertificate: ClientCertificate | undefined
  /** Values of fields that a trusted proxy has sent, by the name of the field. */
  readonly trustedFields: ReadonlyMap<string, Value> | undefined
  /** Undefined for clients that are no agent. */
  readonly agent?: RuleAgent | undefined
  readonly body: BodyHead | undefined
  response: ExchangeResponse | undefined
  readonly decisions: Decisions
  /** Milliseconds since 1970. */
  readonly startedAt: number
  /** This and the times of the origin are on the clock's `monotonic` scale. */
  readonly startedMonotonic: number
  readonly origin: { readonly sentAt: number | undefined; readonly respondedAt: number | undefined }
  /** The rules that acted on the request, in order. Capped. */
  readonly matches: readonly RuleMatch[]
  /** Records that a rule acted on the request. */
  matched(match: RuleMatch): void
  /**
   * Called after the rules that choose settings. Reads an address that the edge adds to a site as the address of the
   * page, so that later rules judge the page. Returns whether `target` has changed.
   */
  settle(): boolean
}

/** Decisions of rules that have their own error page, by the name that programs read. */
export type ErrorPageReason = 'access_denied' | 'rate_limited' | 'challenge_required'

/** The way in which a rule ends a request. */
export type TerminalAction =
  /** A response created by the rule. Its length is added. */
  | {
      readonly kind: 'response'
      readonly status: number
      readonly headers: RawHeaders
      /** In parts that requests may share. */
      readonly body: Buffer | readonly Buffer[]
    }
  /** The error page for a status or for a decision of a rule, in the form that the client accepts. */
  | {
      readonly kind: 'page'
      readonly status: number
      readonly reason?: ErrorPageReason
      readonly retryAfter?: number | undefined
      readonly headers?: Readonly<Record<string, string>>
    }
  /** The connection is closed without a response. */
  | { readonly kind: 'close' }

/** One request during the run of its rules, for effects and conditions. */
export interface RuleRun {
  readonly exchange: RuleExchange
  /** The fields of the request as the current phase sees them. */
  readonly context: Context
  /** The limit that the request exceeds at the current rule. Set by the rule's condition. */
  exceeded: Exceeded | undefined
  /** The response may come from the cache. */
  readonly mayBeCached: boolean
  /** Registers an observer of the rest of the exchange. */
  follow(observer: ExchangeObserver): void
  /** Registers a check that is made if the request has to be sent to the origin. The rule acts if it returns a limit. */
  beforeOrigin(check: () => Exceeded | undefined): void
  /**
   * Registers a change that is made at the end of the phase, in the order of the rules. `fields` is the number of
   * header fields or tags that it changes. Their work is charged now, so that a rule beyond the budget changes nothing.
   */
  change(make: () => void, fields?: number): void
  /** Adds to the total of scores, which later rules of the same phase see. */
  addScore(increment: number): undefined
  /** Skips the parts that the parameters of a skip rule name. */
  skip(params: SkipParams): void
  /** Ends the phase. No further rule of the phase runs. */
  leavePhase(): void
  /** Runs the ruleset that an execute rule names, found by its parameters. Throws if too many were run already. */
  execute(params: object): TerminalAction | undefined
}

/**
 * Applies a rule to a request that matches it. Returns how the request ends, undefined if it continues, false if the
 * rule does not match after all. Changes use {@link RuleRun.change} and are visible in the next phase. Throws if the
 * action fails. The rule then does not match.
 */
export type Effect = (run: RuleRun) => TerminalAction | undefined | false

/** A condition in addition to a rule's expression, such as a rate limit or a check for exposed credentials. */
export interface Condition {
  /** It is evaluated even if the expression does not match. */
  readonly always: boolean
  /** It reads the body of the request. */
  readonly readsBody?: boolean
  /** Returns whether the rule acts on the request. If `matched` is false, the result is ignored. */
  holds(run: RuleRun, matched: boolean): boolean
}

/** Observer of a request after its rule has run. */
export interface ExchangeObserver {
  /** Called when the request is sent to the origin. */
  toOrigin(): void
  /**
   * Called once when the response is complete. `context` has the fields of the response. `origin` has the header fields
   * as the origin sent them. It is undefined if the request did not reach the origin.
   */
  responded(context: Context, origin: RawHeaders | undefined): void
  /** Called when a rule ended the request. `responded` is called after it. */
  endedBy(ruleId: string): void
}

/** The target of an item of a redirect list. */
export interface ListedRedirect {
  /** The `location`. Contains the path suffix and the query if the item preserves them. */
  readonly location: string
  readonly status: number
}

export type ChallengeKind = 'challenge' | 'js_challenge' | 'managed_challenge'

/** Dependencies of the rules. */
export interface RuleDeps {
  /** Returns the lists of an account, as expressions name them. */
  lists(accountId: string): Lists
  /** Returns the redirect for a URL in a redirect list of an account, by its name without `$`. */
  redirect(accountId: string, list: string, url: string): ListedRedirect | undefined
  /** Returns the page that is stored under a name in an account or zone. */
  errorAsset(scope: Scope, name: string): StoredPage | undefined
  /**
   * Returns undefined if the client has passed, or if the security level of the request switches this challenge off.
   * The rule then does not act. `scored` means that the rule matches by a score.
   */
  challenge(kind: ChallengeKind, run: RuleRun, scored: boolean): TerminalAction | undefined
  /**
   * Returns the condition of a rule in addition to its expression. Undefined if there is none. Throws if the condition
   * is invalid.
   */
  condition(rule: Rule, context: ActionContext): Condition | undefined
}

/** Place of a rule, on which the permitted parameters of its action can depend. */
export interface RulePlace {
  readonly phase: Phase
  readonly kind: RulesetKind
  readonly level: Level
  /** The rule checks for exposed credentials. */
  readonly credentials: boolean
}

/** Place of the checked rules, and the rulesets and lists that they can name. */
export interface RuleContext extends Omit<RulePlace, 'credentials'> {
  target(id: string): Ruleset | undefined
  /** The lists that expressions can name. */
  readonly list: ListNamed
}

/** The inputs of an action when a rule is loaded. */
export interface ActionContext {
  readonly place: RulePlace
  readonly accountId: string
  readonly lists: Lists
  readonly parts: RuleDeps
  /** Compiles a value expression of the rule. Throws an ExprError. */
  readonly value: (text: string) => Evaluate
  /**
   * Returns whether the rule matches by a score, which means that its expression reads one, or its rate limit counts
   * one.
   */
  readonly isScored: () => boolean
}

/** A rule, ready to run. */
export interface PreparedRule {
  readonly rule: Rule
  /** False if it could not be compiled. It then never matches. */
  readonly loaded: boolean
  readonly enabled: boolean
  /** The rule's action, or the one from an override. */
  readonly action: string
  readonly effect: Effect
  /** The total of scores that the request must have reached. Undefined if any total suffices. */
  readonly leastScore: number | undefined
  readonly condition: Condition | undefined
  /** Its entry in the index of the ruleset. */
  readonly indexed: IndexedRule
  /** Some of its expressions read the body of the request, or the total of scores. */
  readonly readsBody: boolean
  readonly readsScore: boolean
  /** Evaluated instead of the index, for a condition that needs every request. */
  readonly filter: Filter | undefined
  readonly counter: MatchCount
  /** Matches are recorded. */
  readonly logged: boolean
}

/** A ruleset, ready to run. Immutable. */
export interface PreparedRuleset {
  readonly id: string
  readonly name: string
  readonly description: string
  readonly version: string
  readonly kind: Ruleset['kind']
  readonly phase: PhaseName
  readonly level: Level
  readonly rules: readonly PreparedRule[]
  readonly index: RuleIndex
  /** Some rule reads the body of the request. */
  readonly readsBody: boolean
  /** Some rule reads the total of scores, which changes while the rules run. */
  readonly readsScore: boolean
  /** Creates the effect of a rule with another action than its own. Throws if that is not possible. */
  effect(action: string, rule: Rule): Effect
}

/** A ruleset as one entry point or execute rule runs it. */
export interface Execution {
  readonly ruleset: PreparedRuleset
  /** Its rules, in the order of its index, with overrides applied. */
  readonly rules: readonly PreparedRule[]
}

/** The entry points of one phase. The account's entry point precedes the zone's. */
export interface PhaseRules {
  readonly phase: PhaseName
  readonly entries: readonly Execution[]
}

/** The rules of a run. */
export interface RunRules {
  readonly request: readonly PhaseRules[]
  readonly response: readonly PhaseRules[]
  readonly log: Log
  /**
   * Returns the ruleset that an execute rule runs, found by its parameters. Undefined if the ruleset does not exist.
   */
  linked(params: object): Execution | undefined
}

/** A request to trace. Texts are Unicode. */
export interface TraceRequest {
  readonly method: string
  readonly url: URL
  readonly httpVersion: HttpVersion
  /** Alternating names and values, without `host`. */
  readonly headers: readonly string[]
  readonly body: Buffer | undefined
  /** Address of the client. An address that belongs to nobody if it is undefined. */
  readonly clientAddress: string | undefined
  /** Fields of the rules language that the caller sets, by name. Text values are byte strings. */
  readonly fields: ReadonlyMap<string, Value>
  readonly skipsChallenges: boolean
}

/** A phase, a ruleset in a phase, or a rule in a ruleset. Below an execute rule is the ruleset that the rule runs. */
export interface TraceStep {
  readonly type: 'phase' | 'ruleset' | 'rule'
  /** The name of the phase, the id of the ruleset or of the rule. */
  readonly step_name: string
  /** True if the rule acted on the request. For a ruleset or phase, true if any of its rules did. */
  matched: boolean
  readonly action?: string
  readonly action_parameters?: unknown
  readonly expression?: string
  readonly kind?: string
  readonly name?: string
  readonly description?: string
  trace?: TraceStep[]
}

export interface TraceResult {
  /** The status of a rule's response, 200 if no rule responds. Absent if a rule closes the connection. */
  readonly status_code?: number
  readonly trace: TraceStep[]
}
