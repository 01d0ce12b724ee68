import Router from '@koa/router'
import Koa from 'koa'
import { messageOf } from '../../../src/core/errors.js'
import { authenticate } from '../auth/authenticate.js'
import { readBody } from './body.js'
import { assertCaughtUp, catchUp } from './catch-up.js'
import { clientAddress } from './client-address.js'
import type { Endpoint } from '../endpoint.js'
import { envelope } from './envelope.js'
import { locate } from './scope.js'
import { bySpecificity, endpointPath } from '../paths.js'
import { PREFIX } from '../prefix.js'
import { limitRate } from './rate-limit.js'
import { writeResponse } from './response.js'
import type { ControlDeps, RequestState, ApiMiddleware } from '../context.js'
import { trace } from './request-id.js'
import { matchBySegments } from './segment-router.js'
import { unmatched } from './unmatched.js'

/** Creates the API: its middleware in order, around the endpoints of all areas. `before` runs before the endpoints. */
export function api(
  endpoints: readonly Endpoint[],
  deps: ControlDeps,
  before: readonly ApiMiddleware[] = [],
): Koa<RequestState> {
  const app = new Koa<RequestState>()
  // Errors while the response is written, mostly client disconnects.
  app.on('error', (error: unknown) => deps.log.debug({ event: 'response_lost', error: messageOf(error) }))
  app.use(trace(deps))
  app.use(envelope(deps.log))
  for (const step of before) app.use(step)
  app.use(routes(endpoints, deps).routes())
  app.use(unmatched())
  return app
}

/** Returns one route for each endpoint in each of its scopes, with the steps of each request. */
export function routes(endpoints: readonly Endpoint[], deps: ControlDeps): Router<RequestState> {
  const router = new Router<RequestState>({ prefix: PREFIX, sensitive: true })
  const steps = [
    catchUp(deps),
    clientAddress(deps),
    authenticate(deps),
    limitRate(deps),
    locate(deps),
    assertCaughtUp(),
    readBody(),
  ]
  const rows = endpoints.flatMap((endpoint) =>
    endpoint.scopes.map((type) => ({ endpoint, type, path: endpointPath(endpoint, type) })),
  )
  const reads = new Map(rows.flatMap(({ endpoint, path }) => (endpoint.method === 'get' ? [[path, endpoint]] : [])))
  for (const { endpoint, type, path } of rows.sort((a, b) => bySpecificity(a.path, b.path))) {
    router.register(
      path,
      [endpoint.method],
      [
        async (ctx, next) => {
          ctx.state.endpoint = endpoint
          ctx.state.scopeType = type
          await next()
        },
        ...steps,
        writeResponse(endpoint, endpoint.method === 'get' ? undefined : reads.get(path)),
      ],
    )
  }
  matchBySegments(router)
  return router
}
