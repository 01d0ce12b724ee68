import type { Duplex } from 'node:stream'

const MASK = 0x80
/** A mask of zeros does not change the payload. */
const NO_MASK = [0, 0, 0, 0]
const FIRST_TWO = 2

/** Adds a mask of zeros to frames (RFC 6455, 5.2) that arrive without one. Chunks may end anywhere in a frame. */
export class Masking {
  /** Bytes of an incomplete frame head. */
  #head: number[] = []
  /** Payload bytes of the current frame that have not arrived. */
  #left = 0

  take(chunk: Buffer): Buffer {
    const pieces: Buffer[] = []
    for (let at = 0; at < chunk.length;) {
      if (this.#left > 0) {
        const payload = chunk.subarray(at, at + this.#left)
        pieces.push(payload)
        this.#left -= payload.length
        at += payload.length
        continue
      }
      this.#head.push(chunk[at]!)
      at += 1
      if (this.#head.length < headLength(this.#head)) continue
      pieces.push(Buffer.from(masked(this.#head)))
      this.#left = payloadLength(this.#head)
      this.#head = []
    }
    return Buffer.concat(pieces)
  }
}

/** Number of bytes with the length of the payload, if it is not in the second byte of the head. */
const longLength = (second: number): number => [2, 8][(second & ~MASK) - 126] ?? 0

function headLength([, second]: readonly number[]): number {
  if (second === undefined) return FIRST_TWO
  return FIRST_TWO + longLength(second) + (second & MASK ? NO_MASK.length : 0)
}

function payloadLength([, second = 0, ...rest]: readonly number[]): number {
  const long = longLength(second)
  return long === 0 ? second & ~MASK : rest.slice(0, long).reduce((length, byte) => length * 256 + byte, 0)
}

function masked([first = 0, second = 0, ...rest]: readonly number[]): number[] {
  return second & MASK ? [first, second, ...rest] : [first, second | MASK, ...rest, ...NO_MASK]
}

/**
 * Lets a client send frames without a mask over a connection that `ws` has just taken over: wrangler does so, though RFC 6455
 * (5.1) forbids it, and `ws` would hang up.
 */
export function takeUnmasked(socket: Duplex): void {
  const listeners = socket.listeners('data') as ((chunk: Buffer) => void)[]
  const masking = new Masking()
  for (const listener of listeners) socket.off('data', listener)
  socket.on('data', (chunk: Buffer) => {
    const frames = masking.take(chunk)
    for (const listener of listeners) listener.call(socket, frames)
  })
}
