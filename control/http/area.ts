import type { Static, TSchema } from 'typebox'
import type { Issue } from '../../src/core/errors.js'
import { endpoint, type Call, type Endpoint, type GivenBody, type HandlerResult, type ParamNames } from './endpoint.js'
import type { ErrorKind } from './errors.js'
import type { Method } from './context.js'
import type { Permission } from './permissions.js'

/** The members that the endpoints of an area have in common. */
export interface AreaOptions {
  readonly scopes: Endpoint['scopes']
  /** `read` is required for GET, `write` for the other methods. */
  readonly access: { readonly read: readonly Permission[]; readonly write: readonly Permission[] }
  /** The error row for a body that its schema rejects. Default: `invalid`. */
  readonly refusal?: ErrorKind
}

/** A row of an area: its path, its schemas, and `handle`, which receives the services of the area. */
export interface RowSpec<S, P extends string, B extends TSchema, Q extends TSchema, R extends TSchema> extends Omit<
  Endpoint,
  'method' | 'path' | 'scopes' | 'permissions' | 'body' | 'query' | 'result' | 'handle'
> {
  /** Instead of the scopes of the area. */
  readonly scopes?: Endpoint['scopes']
  /** Instead of the access of the area. */
  readonly permissions?: Endpoint['permissions']
  readonly body?: B
  readonly query?: Q
  readonly result?: R
  /** As {@link EndpointSpec.further}. */
  further?(
    this: void,
    services: S,
    call: Call<ParamNames<P>, Partial<Static<B>>>,
    given: GivenBody,
  ): readonly Issue[] | Promise<readonly Issue[]>
  /** Returns `result`, alone or in an ApiResponse, or a FileResponse. It throws to reject the request. */
  handle(
    this: void,
    services: S,
    call: Call<ParamNames<P>, Static<B>, Static<Q>>,
  ): HandlerResult<Static<R>> | Promise<HandlerResult<Static<R>>>
}

/** Makes the endpoint of a row, or the endpoints of several rows. */
export type Row<S> = (services: S) => Endpoint | readonly Endpoint[]

type DefineRow<S> = <
  const P extends string,
  B extends TSchema = TSchema,
  Q extends TSchema = TSchema,
  R extends TSchema = TSchema,
>(
  path: P,
  spec: RowSpec<S, P, B, Q, R>,
) => Row<S>

/** A function for each method, and `endpoints`, which opens the area for its dependencies. */
export interface Area<A extends readonly unknown[], S> extends Readonly<Record<Method, DefineRow<S>>> {
  /** Returns a function that makes the endpoints of these rows. */
  endpoints(rows: readonly Row<S>[]): (...given: A) => Endpoint[]
}

/** The services that `handle` receives in the rows of an area. */
export type ServicesOf<T> = T extends Area<never, infer S> ? S : never

/**
 * Returns the functions that define the rows of an area. `open` makes its services from the dependencies, once for each
 * call of the function that `endpoints` returns. Without `open` the services are the dependencies.
 */
export function area<S>(options: AreaOptions): Area<[services: S], S>
export function area<A extends readonly unknown[], S>(options: AreaOptions, open: (...given: A) => S): Area<A, S>
export function area(
  { scopes, access, refusal }: AreaOptions,
  open: (...given: readonly unknown[]) => unknown = (services) => services,
): Area<readonly unknown[], unknown> {
  const define =
    (method: Method): DefineRow<unknown> =>
    <P extends string, B extends TSchema, Q extends TSchema, R extends TSchema>(
      path: P,
      { further, handle, ...row }: RowSpec<unknown, P, B, Q, R>,
    ) =>
    (services: unknown) =>
      endpoint<P, B, Q, R>({
        scopes,
        permissions: method === 'get' ? access.read : access.write,
        ...(refusal && (row.body ?? row.raw) && { refusal }),
        ...row,
        method,
        path,
        ...(further && { further: (call, given) => further(services, call, given) }),
        handle: (call) => handle(services, call),
      })
  return {
    get: define('get'),
    post: define('post'),
    put: define('put'),
    patch: define('patch'),
    delete: define('delete'),
    endpoints:
      (rows) =>
      (...given) => {
        const services = open(...given)
        return rows.flatMap((row) => row(services))
      },
  }
}
