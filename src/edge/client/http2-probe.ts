import type { ServerHttp2Session } from 'node:http2'
import type { SecureConnection } from '../../tls/terminator.js'

/** Time without an answer after which the connection is read again. */
const READ_AGAIN_MS = 2000
/** Time for an answer if clients have no time limit. */
const DEFAULT_PATIENCE_MS = 60_000
/** Time for an answer after a frame that was not accepted. */
const SUSPECT_PATIENCE_MS = 2000

/**
 * Finds connections that nobody uses any more. After an error of the connection nghttp2 stops to read, and Node neither
 * ends the session nor notices that the client has left (CVE-2026-48937 is one case). So a connection on which nothing
 * arrives is asked once whether it is alive, after each time that something arrived.
 */
export class Http2Probe {
  readonly #session: ServerHttp2Session
  readonly #secure: SecureConnection
  /** Bytes received at the last check, and at the last answer. */
  #last = -1
  #answered = -1
  /** A question without an answer, since this time. */
  #askedAt: number | undefined
  /** A frame was not accepted, so nghttp2 has possibly stopped. */
  #isSuspect = false

  constructor(session: ServerHttp2Session, secure: SecureConnection) {
    this.#session = session
    this.#secure = secure
  }

  /** Returns whether the client does not answer. Must be called about once per second. `patience`: 0: no limit. */
  isLost(now: number, patience: number): boolean {
    if (this.#session.destroyed) return false
    const { bytesRead } = this.#secure.transport
    if (this.#askedAt !== undefined) {
      const waited = now - this.#askedAt
      const common = patience || DEFAULT_PATIENCE_MS
      if (waited > (this.#isSuspect ? Math.min(common, SUSPECT_PATIENCE_MS) : common)) return true
      if (waited > READ_AGAIN_MS) this.#readAgain()
      return false
    }
    const quiet = bytesRead === this.#last
    this.#last = bytesRead
    if (quiet && bytesRead !== this.#answered) this.#ask(now)
    return false
  }

  /** Asks now, and waits less. */
  suspect(now: number): void {
    this.#isSuspect = true
    if (this.#askedAt === undefined) this.#ask(now)
  }

  #ask(now: number): void {
    const asked = this.#session.ping((error) => {
      if (error) return
      this.#askedAt = undefined
      this.#isSuspect = false
      // The answer itself is not a reason to ask again.
      this.#answered = this.#last = this.#secure.transport.bytesRead
    })
    if (asked) this.#askedAt = now
  }

  /** The end of the client's data is noticed only while the system reads for the session. */
  #readAgain(): void {
    const { _handle: handle } = this.#secure.socket as unknown as { _handle: { readStart(): number } | null }
    handle?.readStart()
  }
}
