import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Type, type Static, type TSchema } from 'typebox'
import { InvalidInput } from '../../src/core/errors.js'
import { parser } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import { queryParser } from './query.js'
import type { Caller, Credentials, EndpointInfo } from './context.js'

type Headers = Readonly<Record<string, string>>

/** `scopes` of an endpoint below accounts alone. */
export const ACCOUNT_ONLY = ['account'] as const

/** One entry of `messages`: something to know about a request that succeeded. */
export interface Message {
  readonly code: number
  readonly message: string
  readonly type?: null
  readonly documentation_url?: string
  readonly source?: { readonly pointer: string }
}

/** Code of the message for a member that is stored without effect. */
export const STORED_WITHOUT_EFFECT = 10900

/** Parts of a response besides its result. */
export interface ApiResponseOptions {
  readonly status?: number
  /** Count and page of a list. */
  readonly result_info?: object
  readonly messages?: readonly Message[]
  /** Further members at the top of the envelope. */
  readonly top?: Readonly<Record<string, unknown>>
  readonly headers?: Headers
}

/** A result together with what else its envelope holds. */
export class ApiResponse<R = unknown> {
  readonly result: R
  readonly options: ApiResponseOptions

  constructor(result: R, options: ApiResponseOptions = {}) {
    this.result = result
    this.options = options
  }
}

/** An answer without an envelope, such as a file. */
export class FileResponse {
  readonly type: string
  readonly body: Buffer | Readable | string
  readonly headers: Headers

  constructor(type: string, body: Buffer | Readable | string, headers: Headers = {}) {
    this.type = type
    this.body = body
    this.headers = headers
  }
}

type ParamNames<P extends string> = P extends `${string}:${infer Rest}`
  ? Rest extends `${infer Name}/${infer Tail}`
    ? Name | ParamNames<`/${Tail}`>
    : Rest
  : never

/** One request to an endpoint, authenticated, allowed and checked. */
export interface Call<P extends string = string, B = unknown, Q = unknown> {
  readonly requestId: string
  readonly caller: Caller
  /** State and validity of the caller's own credentials. */
  readonly credentials?: Credentials | undefined
  /** The account or zone of the path; the daemon's own scope for paths without one. */
  readonly scope: Scope
  /** The account of the scope, of the zone's account for zones. */
  readonly accountId: string
  readonly params: Readonly<Record<P, string>>
  readonly query: Q
  readonly body: B
  /** The request itself, for endpoints with `raw`: nothing of its body has been read. */
  readonly request: IncomingMessage
}

/** One row of the API: who may call it, what it takes, what it gives. */
export interface Endpoint extends EndpointInfo {
  readonly summary: string
  readonly query?: TSchema
  readonly result?: TSchema
  readonly status?: number
  /** All statuses of success, where there is more than one. */
  readonly statuses?: readonly number[]
  readonly raw?: RawBody
  /** Members at the top of the envelope besides the usual ones. */
  readonly top?: TSchema
  /** The envelope has no `result`. */
  readonly bare?: boolean
  /** The answer is a {@link FileResponse} of this type. */
  readonly file?: string
  /** The body may be left out although the endpoint takes one. */
  readonly bodyOptional?: boolean
  readonly handle: (call: Call) => unknown
}

/** A body that the endpoint reads by itself. */
export interface RawBody {
  /** Content types, for the manual. */
  readonly types: readonly string[]
  /** The shape, for the manual. */
  readonly schema?: TSchema
  readonly optional?: boolean
}

/** What {@link endpoint} takes: a row whose `answer` is typed by its schemas. */
export interface EndpointSpec<P extends string, B extends TSchema, Q extends TSchema, R extends TSchema> extends Omit<
  Endpoint,
  'path' | 'body' | 'query' | 'result' | 'handle'
> {
  readonly path: P
  readonly body?: B
  readonly query?: Q
  readonly result?: R
  /** Gives `result`, alone or in a {@link ApiResponse}, or a {@link FileResponse}. */
  handle(call: Call<ParamNames<P>, Static<B>, Static<Q>>): HandlerResult<Static<R>> | Promise<HandlerResult<Static<R>>>
}

export type HandlerResult<R> = R | ApiResponse<R> | FileResponse

const NO_QUERY = Type.Object({})

/** Describes an endpoint. `answer` receives a body and a query that have passed their schemas; it throws to refuse. */
export function endpoint<
  const P extends string,
  B extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  R extends TSchema = TSchema,
>(spec: EndpointSpec<P, B, Q, R>): Endpoint {
  const parse = spec.body && parser<TSchema>(spec.body)
  const optional = spec.bodyOptional ?? spec.method === 'delete'
  const parseBody = (body: unknown): unknown => {
    if (body !== undefined) return parse?.(body)
    // An empty body lacks the required members first of all.
    const empty = parse?.({})
    if (parse && !optional) throw new InvalidInput([{ pointer: '', message: 'is required: the body is empty' }])
    return empty
  }
  const parseQuery = queryParser(spec.query ?? NO_QUERY)
  return {
    ...spec,
    handle: (call) =>
      spec.handle({
        ...call,
        body: parseBody(call.body) as Static<B>,
        query: parseQuery(call.query as URLSearchParams) as Static<Q>,
      }),
  }
}
