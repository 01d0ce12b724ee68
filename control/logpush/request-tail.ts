import { Type } from 'typebox'
import { InvalidInput, messageOf } from '../../src/core/errors.js'
import type { Log } from '../../src/core/log.js'
import { strict } from '../../src/core/schema.js'
import { compileJob } from '../../pipelines/logpush/settings/compiled-job.js'
import { endpoint, type Endpoint } from '../http/endpoint.js'
import { ApiError } from '../http/errors.js'
import { ACCESS } from '../http/permissions.js'
import { socketAddress } from '../http/websocket-url.js'
import { requestItem, type RequestsDeps } from '../resources/request-item.js'
import type { RequestReader } from '../../src/core/model/requests/request-reader.js'
import type { StreamSource } from '../../src/core/machine-streams.js'
import { recordsIn, type LiveElsewhere, type LiveSource } from './live-session.js'
import { sessionPath } from './live-sessions.js'
import type { LogpushDeps } from './services.js'

/** The last requests of a zone as they come. A text message has requests, a line each, as in the list of requests. */
export const requestTail = ({ logpush, requests }: LogpushDeps & RequestsDeps): Endpoint[] => [
  endpoint({
    method: 'post',
    path: '/edged/requests/tail',
    scopes: ['zone'],
    permissions: ACCESS.logpush.read,
    summary: 'Open a live session on the requests of a zone: for an hour, or until nobody listens',
    body: Type.Object(
      {
        filter: Type.Optional(
          Type.String({ maxLength: 16_384, description: 'An expression of the rules language, as in the list.' }),
        ),
      },
      strict,
    ),
    bodyOptional: true,
    result: Type.Object({
      url: Type.String({ description: 'WebSocket URL; anyone who has it can listen.' }),
      session_id: Type.String(),
    }),
    handle({ scope, body: { filter }, request, requestId }) {
      const session = logpush().live.tail(scope, requestSource(requests(), scope.id, filter), requestId)
      if (!session) throw new ApiError('tooManySessions')
      return { url: socketAddress(request) + sessionPath(session.id), session_id: session.id }
    },
  }),
]

/** Sends the requests of this machine to sessions of other machines, which have checked who may see them. */
export const requestTailSource =
  (requests: RequestReader, log: Log): StreamSource =>
  async ({ scope, input }, sender, signal) => {
    const { requests: { filter } = {} } = input as LiveElsewhere
    const read = async (): Promise<void> => {
      for await (const text of linesOf(requests.follow(scope.id, filter, signal))) sender.send(text, recordsIn(text))
    }
    void read().catch((error: unknown) => {
      if (signal.aborted) return
      log.error({ event: 'request_stream_failed', scope: scope.id, error: messageOf(error) })
      sender.end()
    })
    await Promise.resolve()
  }

async function* linesOf(read: ReturnType<RequestReader['follow']>): AsyncGenerator<Buffer> {
  for await (const records of read)
    yield Buffer.from(records.map((record) => `${JSON.stringify(requestItem(record))}\n`).join(''))
}

/** Returns the source of a session. Throws InvalidInput for a filter that does not fit. */
function requestSource(requests: RequestReader, zone: string, filter: string | undefined): LiveSource {
  const follow = (signal: AbortSignal) => {
    try {
      return requests.follow(zone, filter, signal)
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error
      throw new InvalidInput(error.issues.map(({ message }) => ({ pointer: '/filter', message })))
    }
  }
  follow(AbortSignal.abort())
  return {
    elsewhere: { requests: filter === undefined ? {} : { filter } },
    stream: 'request_tail',
    // Its lines are written here.
    compile: (seed) => compileJob({ dataset: 'http_requests' }, seed),
    lines: (_job, signal) => linesOf(follow(signal)),
  }
}
