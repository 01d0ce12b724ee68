/** The interface of actions and fields that plug-ins add to the rules language. */
import type { PluginObjectSchema } from '../core/extension/schema.js'

/** A request as plug-ins read it. Texts are byte strings with one character (0 to 255) per byte, as in HTTP. */
export interface PluginRequest {
  readonly rayId: string
  /** IP address of the client. */
  readonly clientAddress: string
  readonly scheme: 'http' | 'https'
  readonly zone: { readonly id: string; readonly name: string }
  /** In lower case, without a port. */
  readonly host: string
  readonly method: string
  /** Path and query as the client sent them. */
  readonly rawTarget: string
  /** Path and query after rules have rewritten them. */
  readonly target: string
  readonly httpVersion: string
  /** Header fields as rules have rewritten them: alternating names and values. */
  readonly clientHeaders: readonly string[]
}

/** A field of the rules language. */
export interface PluginField {
  /** Two or more words with dots between them, for example `acme.tenant`. */
  readonly name: string
  /** `Bool`, `Int`, `Bytes`, `Ip`, or an array such as `Array<Bytes>`. */
  readonly type: string
  readonly description: string
  /** Phases whose expressions may name it. Default: all. */
  readonly phases?: readonly string[]
  /**
   * Returns the value: a boolean, an integer, a byte string, the text of an address, or an array of them. Undefined if the
   * field is missing. Called on first use in a phase.
   */
  get(request: PluginRequest): unknown
}

/** One request to which a rule with the action applies. */
export interface PluginRun {
  readonly request: PluginRequest
  /** Sets a header field of the request; undefined removes it. Rules of later phases and the origin see it. */
  readonly setRequestHeader: (name: string, value: string | undefined) => void
  /** Adds to the total of scores of the request. */
  readonly addScore: (increment: number) => void
  /** Ends the phase: no further rule of it runs. */
  readonly leavePhase: () => void
}

/** Ends a request with a response. */
export interface PluginResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** A text is sent as UTF-8. */
  readonly body?: string | Uint8Array
}

/**
 * What the action decides: a response, `close` to close the connection without one, false if the rule does not match after
 * all, undefined to continue.
 */
export type PluginDecision = PluginResponse | 'close' | false | undefined

/** An action of rules. */
export interface PluginAction {
  readonly name: string
  /** A sentence for the manual. */
  readonly summary: string
  /** Phases in which rules may name the action. */
  readonly phases: readonly string[]
  /** Schema of `action_parameters`. Without it, rules of the action have none. */
  readonly params?: PluginObjectSchema
  /** Valid `action_parameters` with a phase each, for the manual. */
  readonly examples?: readonly { readonly phase: string; readonly params: Readonly<Record<string, unknown>> }[]
  /** Prepares a rule, once, when it is loaded. The result is called for each request that matches the rule. */
  prepare(params: Readonly<Record<string, unknown>>): (run: PluginRun) => PluginDecision
}
