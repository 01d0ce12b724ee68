import { connect, type TLSSocket } from 'node:tls'
import { once } from 'node:events'

/** Frame types (RFC 9113, 6). */
export const [DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION] =
  [0, 1, 2, 3, 4, 5, 6, 7, 8, 9] as const
export const [END_STREAM, END_HEADERS, ACK, PADDED] = [1, 4, 1, 8] as const

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')

/** One frame (RFC 9113, 4.1). `length` overrides the length of the payload. */
export function frame(
  type: number,
  flags: number,
  stream: number,
  payload: Buffer = Buffer.alloc(0),
  length = payload.length,
): Buffer {
  const head = Buffer.alloc(9)
  head.writeUIntBE(length, 0, 3)
  head[3] = type
  head[4] = flags
  head.writeUInt32BE(stream, 5)
  return Buffer.concat([head, payload])
}

/** A field section of literal fields without Huffman code (RFC 7541, 6.2.2). */
export const fields = (...pairs: [name: string, value: string][]): Buffer =>
  Buffer.concat(pairs.flatMap(([name, value]) => [Buffer.from([0]), literal(name), literal(value)]))

function literal(text: string): Buffer {
  const bytes = Buffer.from(text, 'latin1')
  if (bytes.length < 127) return Buffer.concat([Buffer.from([bytes.length]), bytes])
  const size = [127]
  let rest = bytes.length - 127
  for (; rest >= 128; rest = Math.floor(rest / 128)) size.push((rest % 128) + 128)
  return Buffer.concat([Buffer.from([...size, rest]), bytes])
}

export const SETTINGS_FRAME = frame(SETTINGS, 0, 0)

/** The pseudo fields of `GET /` and more fields. */
export const getFields = (...more: [string, string][]): Buffer =>
  fields([':method', 'GET'], [':scheme', 'https'], [':path', '/'], [':authority', 'example.test'], ...more)

export const uint32 = (value: number): Buffer => {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value >>> 0)
  return bytes
}

/** A received frame. */
export interface Frame {
  readonly type: number
  readonly flags: number
  readonly stream: number
  readonly payload: Buffer
}

/** A raw connection: collects the frames that arrive. */
export class RawHttp2 {
  readonly socket: TLSSocket
  readonly frames: Frame[] = []
  closed = false
  #bytes: Buffer = Buffer.alloc(0)
  #changed: (() => void)[] = []

  private constructor(socket: TLSSocket) {
    this.socket = socket
    socket.on('data', (chunk: Buffer) => this.#read(chunk))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.closed = true
      this.#wake()
    })
  }

  static async open(port: number, ca: Buffer, session?: Buffer): Promise<RawHttp2> {
    const socket = connect({
      port,
      host: '127.0.0.1',
      ca,
      servername: 'localhost',
      ALPNProtocols: ['h2'],
      ...(session && { session }),
    })
    await once(socket, 'secureConnect')
    return new RawHttp2(socket)
  }

  write(...parts: Buffer[]): void {
    if (this.socket.writable) this.socket.write(Buffer.concat(parts))
  }

  /** Resolves with the first frame for which the predicate holds; undefined if the connection ends before. */
  async find(predicate: (frame: Frame) => boolean): Promise<Frame | undefined> {
    for (;;) {
      const found = this.frames.find(predicate)
      if (found || this.closed) return found
      await new Promise<void>((resolve) => this.#changed.push(resolve))
    }
  }

  /** The outcome of a stream: its status, its reset, or the end of the connection. */
  async outcome(stream: number): Promise<'response' | 'reset' | 'goaway' | 'closed'> {
    const end = await this.find(
      ({ type, stream: of }) => (of === stream && (type === HEADERS || type === RST_STREAM)) || type === GOAWAY,
    )
    if (!end) return 'closed'
    return end.type === HEADERS ? 'response' : end.type === RST_STREAM ? 'reset' : 'goaway'
  }

  #read(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk])
    while (this.#bytes.length >= 9) {
      const length = this.#bytes.readUIntBE(0, 3)
      if (this.#bytes.length < 9 + length) break
      const [type, flags] = [this.#bytes[3]!, this.#bytes[4]!]
      const stream = this.#bytes.readUInt32BE(5) & 0x7fffffff
      this.frames.push({ type, flags, stream, payload: this.#bytes.subarray(9, 9 + length) })
      this.#bytes = this.#bytes.subarray(9 + length)
    }
    this.#wake()
  }

  #wake(): void {
    const changed = this.#changed
    this.#changed = []
    for (const resolve of changed) resolve()
  }
}
