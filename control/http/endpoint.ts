import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Type, type Static, type TSchema } from 'typebox'
import { assertNoIssues, InvalidInput, type Issue } from '../../src/core/errors.js'
import { isUnknownMember, parser, soundMembers } from '../../src/core/schema.js'
import type { Scope } from '../../src/core/scope.js'
import type { RequestSource } from '../../src/core/store.js'
import { ApiError, ApiErrors } from './errors.js'
import { InvalidQuery, queryParser } from './query.js'
import { withoutReadOnly, type ReadCurrent } from './read-only.js'
import type { Caller, Credentials, EndpointInfo } from './context.js'

type Headers = Readonly<Record<string, string>>

/** `scopes` of an endpoint that exists for accounts only. */
export const ACCOUNT_ONLY = ['account'] as const

/** One entry of `messages`: a notice about a request that succeeded. */
export interface Message {
  readonly code: number
  readonly message: string
  readonly type?: null
  readonly documentation_url?: string
  readonly source?: { readonly pointer: string }
}

/** Code of the message for a member that is stored without effect. */
export const STORED_WITHOUT_EFFECT = 10900

/** Returns a message for each member that is stored without effect, by its pointer. */
export const withoutEffect = (pointers: readonly string[]): Message[] =>
  pointers.map((pointer) => ({
    code: STORED_WITHOUT_EFFECT,
    message: 'stored, without effect here',
    source: { pointer },
  }))

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

/** A result with the other parts of its envelope. */
export class ApiResponse<R = unknown> {
  readonly result: R
  readonly options: ApiResponseOptions

  constructor(result: R, options: ApiResponseOptions = {}) {
    this.result = result
    this.options = options
  }
}

/** A response without an envelope, such as a file. */
export class FileResponse {
  readonly type: string
  readonly body: Buffer | Readable | string
  readonly headers: Headers
  readonly status: number

  constructor(type: string, body: Buffer | Readable | string, headers: Headers = {}, status = 200) {
    this.type = type
    this.status = status
    this.body = body
    this.headers = headers
  }
}

/** Names of the parameters of a path. */
export type ParamNames<P extends string> = P extends `${infer Before}/*${infer Rest}`
  ? ParamNames<Before> | Rest
  : P extends `${string}:${infer Rest}`
    ? Rest extends `${infer Name}/${infer Tail}`
      ? Name | ParamNames<`/${Tail}`>
      : Rest
    : never

/** One authenticated, authorized and validated request to an endpoint. */
export interface Call<P extends string = string, B = unknown, Q = unknown> {
  readonly requestId: string
  /** Where the request came from. Undefined for changes by the daemon itself. */
  readonly source?: RequestSource
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
  /** The request itself, for endpoints with `raw`: its body is unread. */
  readonly request: IncomingMessage
  /** Reads the resource of a write. Undefined if the path has no GET. */
  readonly current?: ReadCurrent | undefined
}

/** One row of the API: permissions, input and output of an endpoint. */
export interface Endpoint extends EndpointInfo {
  readonly summary: string
  readonly query?: TSchema
  /** Query parameters of clients of the public API that a write accepts without effect. */
  readonly ignoredQuery?: readonly string[]
  /**
   * The public API does not have the path, so its clients do not send further parameters. Unknown parameters are
   * rejected, because a misspelled filter would return everything. Default: true below `/edged/`.
   */
  readonly isOwn?: true
  readonly result?: TSchema
  readonly status?: number
  /** All statuses of success, if there is more than one. */
  readonly statuses?: readonly number[]
  readonly raw?: RawBody
  /** If-Match and If-None-Match are compared with the ETag of the resource. */
  readonly conditional?: true
  /** Members at the top of the envelope besides the usual ones. */
  readonly top?: TSchema
  /** The envelope has no `result`. */
  readonly bare?: boolean
  /** The response is a {@link FileResponse} of this type. */
  readonly file?: string
  /** The body is optional although the endpoint accepts one. */
  readonly bodyOptional?: boolean
  readonly handle: (call: Call) => unknown
}

/** A body that the endpoint reads itself. */
export interface RawBody {
  /** Content types, for the manual. */
  readonly types: readonly string[]
  /** The shape, for the manual. */
  readonly schema?: TSchema
  readonly optional?: boolean
}

/** The input of {@link endpoint}: a row whose `handle` is typed by its schemas. */
export interface EndpointSpec<P extends string, B extends TSchema, Q extends TSchema, R extends TSchema> extends Omit<
  Endpoint,
  'path' | 'body' | 'query' | 'result' | 'handle'
> {
  readonly path: P
  readonly body?: B
  readonly query?: Q
  readonly result?: R
  /**
   * Called if a body does not fit the schema, with the members that do and with the whole body: returns the issues that
   * `handle` would report, so that a response has the issues of both. An ApiError that it throws is ignored.
   */
  further?(
    call: Call<ParamNames<P>, Partial<Static<B>>>,
    given: GivenBody,
  ): readonly Issue[] | Promise<readonly Issue[]>
  /** Returns `result`, alone or in a {@link ApiResponse}, or a {@link FileResponse}. */
  handle(call: Call<ParamNames<P>, Static<B>, Static<Q>>): HandlerResult<Static<R>> | Promise<HandlerResult<Static<R>>>
}

/** A body that is an object and not valid. */
export type GivenBody = Readonly<Record<string, unknown>>

export type HandlerResult<R> = R | ApiResponse<R> | FileResponse

const isObject = (value: unknown): value is GivenBody =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const NO_QUERY = Type.Object({})

/** Code of the message for a query parameter that is unknown and ignored. */
const UNKNOWN_PARAMETER = 10904

/** Adds a message for each ignored parameter to a response. Files have no messages. */
function withIgnored<R>(result: HandlerResult<R>, ignored: readonly Issue[]): HandlerResult<R> {
  if (ignored.length === 0 || result instanceof FileResponse) return result
  const response = result instanceof ApiResponse ? result : new ApiResponse(result)
  const messages = ignored.map(({ pointer, message }) => ({
    code: UNKNOWN_PARAMETER,
    message: `ignored: ${message}`,
    source: { pointer },
  }))
  return new ApiResponse(response.result, {
    ...response.options,
    messages: [...(response.options.messages ?? []), ...messages],
  })
}

/** Parses a body without its read-only members, if they have their current values. Throws the issues of the others. */
async function parseWritable({ body, current }: Call, parse: (body: unknown) => unknown): Promise<unknown> {
  try {
    return parse(body)
  } catch (error) {
    if (!current || !(error instanceof InvalidInput) || !error.issues.some(isUnknownMember)) throw error
    assertNoIssues(withoutReadOnly(body, error.issues, await current()))
    return parse(body)
  }
}

/** Describes an endpoint. `handle` receives a validated body and query; it throws to reject the request. */
export function endpoint<
  const P extends string,
  B extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  R extends TSchema = TSchema,
>(spec: EndpointSpec<P, B, Q, R>): Endpoint {
  const parse = spec.body && parser<TSchema>(spec.body)
  const optional = spec.bodyOptional ?? spec.method === 'delete'
  const parseWhole = async (call: Call): Promise<unknown> => {
    try {
      return parse && (await parseWritable(call, parse))
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error
      assertNoIssues([...error.issues, ...(await furtherIssues(call, error.issues))])
      throw error
    }
  }
  const furtherIssues = async (call: Call, issues: readonly Issue[]): Promise<readonly Issue[]> => {
    const { body } = call
    if (!spec.further || !isObject(body)) return []
    try {
      return await spec.further({ ...call, body: soundMembers(body, issues) as Partial<Static<B>> }, body)
    } catch (error) {
      if (error instanceof InvalidInput) return error.issues
      if (error instanceof ApiError) return []
      throw error
    }
  }
  const parseBody = async (call: Call): Promise<unknown> => {
    if (call.body !== undefined) return await parseWhole(call)
    // An empty body is first of all a body without the required members.
    const empty = parse?.({})
    if (parse && !optional) throw new InvalidInput([{ pointer: '', message: 'is required: the body is empty' }])
    return empty
  }
  const isOwn = spec.isOwn ?? spec.path.startsWith('/edged/')
  const parseQuery = queryParser(spec.query ?? NO_QUERY, {
    areIgnored: spec.method === 'get' && !isOwn,
    accepted: spec.ignoredQuery,
  })
  /** Throws the issues of the query together with the issues of the body. */
  const parseInput = async (call: Call): Promise<{ body: unknown; query: unknown; ignored: readonly Issue[] }> => {
    let query: ReturnType<typeof parseQuery> = { value: undefined, ignored: [] }
    let wrong: readonly Issue[] = []
    try {
      query = parseQuery(call.query as URLSearchParams)
    } catch (error) {
      if (!(error instanceof InvalidQuery)) throw error
      wrong = error.issues
    }
    const [first, ...others] = wrong.map(({ pointer, message }) => new ApiError('badQuery', pointer, message))
    try {
      const body = await parseBody(call)
      if (first) throw new ApiErrors([first, ...others])
      return { body, query: query.value, ignored: query.ignored }
    } catch (error) {
      if (!first || !(error instanceof InvalidInput)) throw error
      const { refusal = 'invalid' } = spec
      const inBody = error.issues.map(({ pointer, message }) => new ApiError(refusal, pointer, message))
      throw new ApiErrors([first, ...others, ...inBody])
    }
  }
  return {
    ...spec,
    handle: async (call) => {
      const { body, query, ignored } = await parseInput(call)
      const result = await spec.handle({ ...call, body: body as Static<B>, query: query as Static<Q> })
      return withIgnored(result, ignored)
    },
  }
}
