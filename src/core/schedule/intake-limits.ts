/** Limits of one request with records or findings. A few kilobytes of gzip can contain millions of lines. */
import type { Pause } from './event-loop-yield.js'

/** Maximum bytes of a body after decompression. */
export const MAX_BODY_BYTES = 64 * 1024 * 1024
/** Maximum lines of a body, blank ones included, or elements of an array. */
export const MAX_LINES = 1_000_000
/** Maximum invalid lines of a body. */
const MAX_INVALID = 10_000
/** Lines to read between two pauses. An invalid line takes up to 10 microseconds. */
export const STEP_LINES = 64

/** A body exceeds a limit. Lines before that have been read. */
export class IntakeLimit extends Error {
  override readonly name = 'IntakeLimit'
  readonly limit: 'size' | 'invalid'

  constructor(message: string, limit: 'size' | 'invalid' = 'size') {
    super(message)
    this.limit = limit
  }
}

/** The sender has disconnected, so nobody reads the response. */
export class SenderGone extends Error {
  override readonly name = 'SenderGone'

  constructor() {
    super('the sender has disconnected')
  }
}

/** The connection of a request. */
interface Sender {
  readonly socket: { readonly destroyed: boolean }
}

/** Returns a pause that ends the work if the sender of a request has disconnected. Throws {@link SenderGone}. */
export function whileConnected({ socket }: Sender, pause: Pause): Pause {
  return async () => {
    await pause()
    if (socket.destroyed) throw new SenderGone()
  }
}

/** Throws {@link IntakeLimit} if an unfinished body already has `lines` lines. */
export function assertLines(lines: number, max = MAX_LINES): void {
  if (lines >= max) throw new IntakeLimit(`the body has more than ${max} lines; send the rest in further requests`)
}

/** Throws {@link IntakeLimit} if a body has too many invalid lines. */
export function assertInvalid(count: number): void {
  if (count > MAX_INVALID)
    throw new IntakeLimit(
      `more than ${MAX_INVALID} lines are invalid; correct them, and send the rest again`,
      'invalid',
    )
}

/** Returns the message of a request with an error, and up to which line its valid records were stored, if any were. */
export const withStored = (message: string, through: number, things = 'records'): string =>
  through === 0 ? message : `${message}; ${things} up to line ${through} were stored`

/** Passes on the chunks of a body up to a size. Rejects with {@link IntakeLimit} after them. */
export async function* metered(body: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const chunk of body) {
    const rest = maxBytes - size
    size += chunk.length
    if (size <= maxBytes) yield chunk
    else {
      if (rest > 0) yield chunk.subarray(0, rest)
      throw new IntakeLimit(`the body is larger than ${maxBytes} bytes; send fewer records in a request`)
    }
  }
}
