/**
 * Frames of a stream between machines: a byte of type and four of a number, big-endian. After the number of a text come as many
 * bytes.
 */
import type { Writable } from 'node:stream'
import type { StreamReceiver, StreamSender } from '../../core/machine-streams.js'

const HEAD_BYTES = 5
const TEXT = 0
const MISSED = 1
const MAX_TEXT_BYTES = 64 * 2 ** 20
const MAX_WAITING_BYTES = 2 ** 20
const MAX_COUNT = 2 ** 32 - 1

/** Writes frames. The number of dropped records is sent as soon as there is capacity again. */
export class FrameSender implements StreamSender {
  readonly #to: Writable
  #missed = 0
  #isOpen = false

  constructor(to: Writable) {
    this.#to = to
    to.on('drain', () => this.#sendMissed())
  }

  /** Sends from now on; what came before is dropped. */
  open(): void {
    this.#isOpen = true
  }

  send(text: string | Uint8Array, records: number): void {
    if (!this.#isOpen || !this.#to.writable) return
    const bytes = typeof text === 'string' ? Buffer.from(text) : text
    if (this.#to.writableLength >= MAX_WAITING_BYTES || bytes.length > MAX_TEXT_BYTES) {
      this.#missed += records
      return
    }
    this.#sendMissed()
    this.#to.cork()
    this.#to.write(head(TEXT, bytes.length))
    this.#to.write(bytes)
    this.#to.uncork()
  }

  end(): void {
    this.#to.destroy()
  }

  #sendMissed(): void {
    if (this.#missed === 0 || !this.#to.writable) return
    this.#to.write(head(MISSED, Math.min(this.#missed, MAX_COUNT)))
    this.#missed = 0
  }
}

function head(type: number, number: number): Buffer {
  const bytes = Buffer.alloc(HEAD_BYTES)
  bytes.writeUInt8(type)
  bytes.writeUInt32BE(number, 1)
  return bytes
}

/** Reads frames. */
export class FrameReader {
  readonly #receiver: Pick<StreamReceiver, 'text' | 'missed'>
  #chunks: Buffer[] = []
  #size = 0
  /** Bytes of the frame that is not complete. */
  #needed = HEAD_BYTES

  constructor(receiver: Pick<StreamReceiver, 'text' | 'missed'>) {
    this.#receiver = receiver
  }

  /** Throws if the bytes are not frames. */
  read(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    if (this.#size < this.#needed) return
    let rest = this.#chunks.length === 1 ? chunk : Buffer.concat(this.#chunks)
    this.#needed = HEAD_BYTES
    while (rest.length >= HEAD_BYTES) {
      const type = rest.readUInt8()
      const number = rest.readUInt32BE(1)
      if (type > MISSED || (type === TEXT && number > MAX_TEXT_BYTES))
        throw new Error('the other machine sent no frame')
      const end = HEAD_BYTES + (type === TEXT ? number : 0)
      if (rest.length < end) {
        this.#needed = end
        break
      }
      if (type === TEXT) this.#receiver.text(rest.subarray(HEAD_BYTES, end))
      else this.#receiver.missed(number)
      rest = rest.subarray(end)
    }
    this.#chunks = rest.length === 0 ? [] : [rest]
    this.#size = rest.length
  }
}
