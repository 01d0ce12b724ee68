import type { IncomingMessage } from 'node:http'
import { Type, type Static } from 'typebox'
import { strict } from '../../src/core/schema.js'
import { area } from '../http/area.js'
import { ApiError } from '../http/errors.js'
import { whole } from '../http/paging.js'
import { ACCESS } from '../http/permissions.js'
import { socketAddress } from '../http/websocket-url.js'
import type { LogpushDeps } from './services.js'
import type { LiveSession } from './live-session.js'
import { sessionPath } from './live-sessions.js'

const PATH = '/logpush/edge/jobs'

const LiveInput = Type.Object(
  {
    fields: Type.Optional(
      Type.String({
        maxLength: 16_384,
        description: 'Names of fields with commas between them; the usual ones unless said.',
      }),
    ),
    filter: Type.Optional(Type.String({ description: 'JSON text, as in the filter of a job.' })),
    sample: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: 1_000_000,
        description: 'Shows one record out of this number: 1 shows all, 10 shows 10%.',
      }),
    ),
    kind: Type.Optional(
      Type.Literal('instant-logs', { description: 'Has no effect; commands of the hosted service send it.' }),
    ),
  },
  strict,
)

const LiveResult = Type.Object({
  ...LiveInput.properties,
  destination_conf: Type.String({ description: 'WebSocket URL; anyone who has it can listen.' }),
  session_id: Type.String(),
})

const rows = area<LogpushDeps>({ scopes: ['zone'], access: ACCESS.logpush, refusal: 'badLogpush' })

/** Live records of a zone: each message of the WebSocket has records, a line each, times in RFC 3339. */
export const edgeJobs = rows.endpoints([
  rows.get(PATH, {
    summary: 'List the live sessions of a zone',
    result: Type.Array(LiveResult),
    handle: ({ logpush }, { scope, request }) =>
      whole(
        logpush()
          .live.list(scope)
          .map(([session, job]) => sessionResponse(session, job, request)),
      ),
  }),
  rows.post(PATH, {
    summary: 'Open a live session: for an hour, or until nobody has listened for five minutes',
    body: LiveInput,
    result: LiveResult,
    handle({ logpush }, { scope, body, request, requestId }) {
      const session = logpush().live.open(scope, body, requestId)
      if (!session) throw new ApiError('tooManySessions')
      return sessionResponse(session, body, request)
    },
  }),
])

const sessionResponse = (
  { id }: LiveSession,
  job: Static<typeof LiveInput>,
  request: IncomingMessage,
): Static<typeof LiveResult> => ({ ...job, destination_conf: socketAddress(request) + sessionPath(id), session_id: id })
