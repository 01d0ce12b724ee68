import type { ServerHttp2Session } from 'node:http2'

/** The error of `node:http2` for a frame that is not accepted, with the number that nghttp2 gives it. */
const NOT_ACCEPTED = 'ERR_HTTP2_ERROR'
/** Errors below this number end the work of nghttp2. */
const FATAL = -900

/**
 * Leaves the decision about frames that are not accepted to nghttp2, which ends the stream or the connection with the
 * correct code (RFC 9113, 5.4). `node:http2` would destroy the session while nghttp2 still processes the frame, send
 * INTERNAL_ERROR, and do so also for acknowledgements of no PING frame, which are harmless.
 *
 * `happened` is called after each such frame. `isClean`: nothing was written since, so that the connection goes on.
 * `written` returns the bytes that were written on the connection.
 */
export function watchFrameErrors(
  session: ServerHttp2Session,
  written: () => number,
  happened: (isClean: boolean) => void,
): void {
  const destroy = session.destroy.bind(session)
  session.destroy = (error?: Error, code?: number): void => {
    if (!isFrameError(error)) return destroy(error, code)
    const before = written()
    setImmediate(() => {
      if (!session.destroyed) happened(written() === before)
    })
  }
}

function isFrameError(error: Error | undefined): boolean {
  const { code, errno } = (error ?? {}) as NodeJS.ErrnoException
  return code === NOT_ACCEPTED && errno !== undefined && errno > FATAL
}
