import { Readable } from 'node:stream'
import type { Log } from '../../../src/core/log.js'
import { BlobLost } from '../../../src/core/blobs.js'
import { InvalidInput, isDiskFull, machineFault } from '../../../src/core/errors.js'
import { StoreUnavailable, VersionConflict } from '../../../src/core/store.js'
import { afterRest, discardRest, isRestShort } from '../../../pipelines/sources/intake/unread-body.js'
import { ApiError, ApiErrors, ERRORS, type ErrorKind } from '../errors.js'
import { InvalidQuery } from '../query.js'
import type { ApiMiddleware } from '../context.js'
import { isTerminal, setJson } from './json-response.js'
import { notOffered } from './not-offered.js'

const MAX_ERRORS = 100
const MAX_POINTER_LENGTH = 2048

/** Converts every error to a response, and a request without a response to "no route". */
export function envelope(log: Log): ApiMiddleware {
  return async (ctx, next) => {
    try {
      await next()
      if (ctx.status === 404 && ctx.body === undefined) throw unroutable(ctx.path)
    } catch (error) {
      // A client that leaves during its body does not make this an error of the daemon.
      const isLost = !ctx.req.complete && error === ctx.req.errored
      const errors = isLost ? [new ApiError('badBody')] : toApiErrors(error, ctx.state.endpoint?.refusal)
      const [first] = errors
      if (first?.kind === 'internal') log.error({ event: 'internal_error', id: ctx.state.requestId, err: error })
      if (first?.kind === 'lostBlob') log.error({ event: 'blob_lost', id: ctx.state.requestId, error: first.message })
      ctx.status = first?.status ?? 500
      ctx.set({ ...first?.detail.headers })
      if (isRestShort(ctx.req)) {
        if (!ctx.req.complete) discardRest(ctx.req, ctx.res)
        setJson(ctx, failure(errors))
      } else respondAndClose(ctx, failure(errors))
    }
  }
}

/** Matches a path below an account or a zone, or with a segment that looks like an id. */
const HAS_ID = /^\/(?:accounts|zones)\/[^/]|\/(?=[^/]*\d)[0-9a-f-]{8,}(?:\/|$)/i
const INVALID_ID = ', perhaps your object identifier is invalid?'
const NO_ENDPOINT = ': no endpoint has this path; GET /client/v4/openapi.json lists them'

/** Sends all of a response at once, and ends it with its connection when the client has stopped sending. */
function respondAndClose(ctx: Parameters<ApiMiddleware>[0], body: object): void {
  const bytes = Buffer.from(`${JSON.stringify(body)}${isTerminal(ctx) ? '\n' : ''}`)
  const sent = new Readable({ read: () => undefined })
  sent.push(bytes)
  afterRest(ctx.req, () => sent.push(null))
  ctx.set('connection', 'close')
  ctx.type = 'json'
  ctx.body = sent
  ctx.length = bytes.length
}

/** 7003 followed by 7000, as the public API responds to an unknown path. */
export function unroutable(path: string): ApiError {
  const shown = path.replace(/^\/client\/v4/, '')
  return new ApiError('unroutable', undefined, {
    message: notOffered(path) ?? `Could not route to ${shown}${HAS_ID.test(shown) ? INVALID_ID : NO_ENDPOINT}`,
    followedBy: ['noRoute'],
  })
}

/** The envelope of a failed request. */
export const failure = (errors: readonly ApiError[]) => ({
  success: false,
  errors: errors.slice(0, MAX_ERRORS).flatMap(({ code, message, pointer, detail }) => [
    {
      code,
      message,
      ...(pointer === undefined ? {} : { source: { pointer: pointer.slice(0, MAX_POINTER_LENGTH) } }),
      ...(detail.chain && { error_chain: detail.chain.map(row) }),
      ...(detail.meta && { meta: detail.meta }),
    },
    ...(detail.followedBy ?? []).map(row),
  ]),
  messages: [],
  result: null,
  ...errors[0]?.detail.top,
})

const row = (kind: ErrorKind) => ({ code: ERRORS[kind][0], message: ERRORS[kind][2] })

function toApiErrors(error: unknown, refusal: ErrorKind = 'invalid'): ApiError[] {
  if (error instanceof ApiError) return [error]
  if (error instanceof ApiErrors) return [...error.errors]
  if (error instanceof InvalidInput) {
    const kind = error instanceof InvalidQuery ? 'badQuery' : refusal
    return error.issues.map(({ pointer, message }) => new ApiError(kind, pointer, message))
  }
  if (error instanceof VersionConflict) return [new ApiError('conflict')]
  if (error instanceof BlobLost) return [new ApiError('lostBlob', undefined, { message: error.message, cause: error })]
  if (isDiskFull(error)) return [new ApiError('full', undefined, { cause: error })]
  const reason = error instanceof StoreUnavailable ? error.message : machineFault(error)
  if (reason !== undefined)
    return [
      new ApiError('unavailable', undefined, {
        message: `the store does not accept changes now; nothing was changed: ${reason}`,
        headers: { 'retry-after': '5' },
        cause: error,
      }),
    ]
  return [new ApiError('internal', undefined, { cause: error })]
}
