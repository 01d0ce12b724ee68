import type { Socket } from 'node:net'
import type { Agent } from '../../agents/identity.js'
import type { RawHeaders } from '../../http/headers.js'
import type { ConnectionEnds } from '../../http/proxy-protocol.js'
import type { SecureConnection } from '../../tls/terminator.js'
import type { BodyReader, ClientStream, Responding } from './client-stream.js'
import type { HttpParseError } from './framing.js'
import type { Asked, MessageWriter } from './message-writer.js'

/** A response to a request of edged itself. */
export interface InternalResponse {
  /** 0 if the response broke off before its head. */
  readonly status: number
  readonly headers: RawHeaders
  readonly body: Buffer
  /** The body has its end. If not, it broke off or is longer than the limit. */
  readonly isWhole: boolean
}

/** Receives the response to a request that edged makes on behalf of a client, as the client's connection would. */
export class InternalClient implements ClientStream {
  readonly isInternal = true
  readonly hasBody = false
  readonly receivedBytes = 0
  readonly reusable = true
  readonly unsentBytes = 0
  readonly writer: InternalWriter
  /** The agent that sent the request of the client. A signature of that request verifies it. */
  readonly agent: Agent | undefined
  responding: Responding | undefined
  body: BodyReader | undefined
  readonly #of: ClientStream
  readonly #done: (response: InternalResponse) => void
  #isOver = false

  /** `client` is the connection of the client. `done` is called once. */
  constructor(
    client: ClientStream,
    {
      agent,
      maxBytes,
      done,
    }: { agent: Agent | undefined; maxBytes: number; done: (response: InternalResponse) => void },
  ) {
    this.#of = client
    this.agent = agent
    this.#done = done
    this.writer = new InternalWriter(maxBytes, () => {
      // A real response is delivered in a later turn too.
      setImmediate(() => {
        if (this.responding) this.responding.delivered(false)
        else this.next()
      })
    })
  }

  get socket(): Socket {
    return this.#of.socket
  }

  get ends(): ConnectionEnds {
    return this.#of.ends
  }

  get secure(): SecureConnection | undefined {
    return this.#of.secure
  }

  get port(): number | undefined {
    return this.#of.port
  }

  get address(): string {
    return this.#of.address
  }

  get takenBytes(): number {
    return this.writer.bytes
  }

  /** Ends the request, because its result is no longer wanted. */
  leave(): void {
    this.#isOver = true
    this.responding?.left()
  }

  next(): void {
    this.#finish(this.writer.isWhole)
  }

  end(): void {
    this.#finish(this.writer.isWhole)
  }

  cut(): void {
    this.#finish(false)
  }

  reject({ status }: HttpParseError): number {
    this.#finish(true, status)
    return 0
  }

  finish(): void {}
  interim(): void {}
  onDrain(): void {}
  pauseBody(): void {}
  resumeBody(): void {}

  #finish(isWhole: boolean, status = this.writer.status): void {
    if (this.#isOver) return
    this.#isOver = true
    const { headers, body } = this.writer
    this.#done({ status, headers, body, isWhole })
  }
}

/** Keeps the beginning of a response. */
class InternalWriter implements MessageWriter {
  begun = false
  ended = false
  bytes = 0
  bare = false
  status = 0
  headers: RawHeaders = []
  readonly #maxBytes: number
  readonly #written: () => void
  readonly #chunks: Buffer[] = []
  #kept = 0

  constructor(maxBytes: number, written: () => void) {
    this.#maxBytes = maxBytes
    this.#written = written
  }

  get body(): Buffer {
    return Buffer.concat(this.#chunks)
  }

  get isWhole(): boolean {
    return this.ended && this.#kept === this.bytes
  }

  head({ method }: Asked, status: number, fields: RawHeaders): void {
    this.begun = true
    this.status = status
    this.headers = fields
    this.bare = method === 'HEAD' || status === 204 || status === 205 || status === 304
  }

  fits(): boolean {
    return true
  }

  data(chunk: Buffer): boolean {
    if (this.bare) return true
    this.bytes += chunk.length
    const kept = chunk.subarray(0, this.#maxBytes - this.#kept)
    if (kept.length > 0) this.#chunks.push(Buffer.from(kept))
    this.#kept += kept.length
    return true
  }

  end(): boolean {
    this.ended = true
    this.#written()
    return true
  }

  reset(): void {}
}
