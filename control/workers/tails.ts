import type { IncomingMessage } from 'node:http'
import { Type, type Static } from 'typebox'
import { orNull, strict } from '../../src/core/schema.js'
import { area } from '../http/area.js'
import { ACCOUNT_ONLY as scopes } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { whole } from '../http/paging.js'
import type { Permission } from '../http/permissions.js'
import { socketAddress } from '../http/websocket-url.js'
import type { WorkersDeps } from './services/index.js'
import { scriptOf } from './services/find.js'
import { tailPath, type Tail } from './services/tail-sessions.js'

const PATH = '/workers/scripts/:script_name/tails'
/** A caller that can deploy code could listen anyway. */
const permissions: readonly Permission[] = ['Workers Tail Read', 'Workers Scripts Write']

const Shown = Type.Object({
  id: Type.String(),
  url: Type.String({ description: 'WebSocket URL; anyone who has it can listen.' }),
  expires_at: Type.String(),
})
const Texts = Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 100 })
const NewTail = Type.Object(
  {
    filters: Type.Optional(
      Type.Array(
        Type.Object(
          {
            sampling_rate: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
            outcome: Type.Optional(Texts),
            method: Type.Optional(Texts),
            client_ip: Type.Optional(Texts),
            query: Type.Optional(orNull(Type.String({ maxLength: 1024 }))),
            header: Type.Optional(
              Type.Object(
                {
                  key: Type.String({ minLength: 1, maxLength: 1024 }),
                  query: Type.Optional(Type.String({ maxLength: 1024 })),
                },
                strict,
              ),
            ),
            scriptVersion: Type.Optional(Type.String({ maxLength: 64, description: 'Id of a version.' })),
          },
          strict,
        ),
        { maxItems: 100, description: 'Which calls to report: those for which all conditions hold.' },
      ),
    ),
  },
  strict,
)

const rows = area<WorkersDeps>({
  scopes,
  access: { read: permissions, write: permissions },
  refusal: 'badTail',
})

/** Records of a script's calls as they come, over a WebSocket. */
export const tails = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the tails of a script',
    result: Type.Array(Shown),
    handle(deps, { scope, params, request }) {
      const { value: script } = scriptOf(deps, scope, params.script_name)
      return whole(
        deps
          .workers()
          .tails.list(scope, script)
          .map((tail) => shown(tail, request)),
      )
    },
  }),
  rows.post(PATH, {
    summary: 'Open a tail of a script: for six hours, or until nobody has listened for five minutes',
    body: NewTail,
    bodyOptional: true,
    jsonAs: ['text/plain'],
    result: Shown,
    async handle(deps, { scope, params, body, request, source }) {
      const { value: script } = scriptOf(deps, scope, params.script_name)
      const tail = deps.workers().tails.open(scope, script, { filters: body.filters ?? [], self: source?.ip ?? '' })
      if (!tail) throw new ApiError('tooManyTails')
      await Promise.all([deps.workers().runtime?.applied(scope), tail.elsewhere?.ready])
      return shown(tail, request)
    },
  }),
  rows.delete(`${PATH}/:tail_id`, {
    summary: 'End a tail and the WebSockets that listen to it',
    bare: true,
    handle(deps, { scope, params }) {
      const { value: script } = scriptOf(deps, scope, params.script_name)
      if (!deps.workers().tails.end(scope, script, params.tail_id)) throw new ApiError('tailNotFound')
    },
  }),
])

const shown = (tail: Tail, request: IncomingMessage): Static<typeof Shown> => ({
  id: tail.id,
  url: socketAddress(request) + tailPath(tail),
  expires_at: new Date(tail.expiresAt).toISOString(),
})
