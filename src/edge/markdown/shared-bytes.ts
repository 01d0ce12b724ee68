import type { ResponseSink } from '../exchange/response.js'

/** Bytes of one piece of a page that waits, and the number of pieces whose memory is used again. */
const ROOM = 16_384
const MAX_ROOMS = 64
const rooms: Buffer[] = []

/** Returns memory for the piece of a page, undefined if the piece is too large. {@link giveRoom} takes it back. */
export const takeRoom = (bytes: number): Buffer | undefined =>
  bytes > ROOM ? undefined : (rooms.pop() ?? Buffer.allocUnsafeSlow(ROOM))

/** Nothing may refer to this memory any more. */
export function giveRoom(room: Buffer): void {
  if (rooms.length < MAX_ROOMS) rooms.push(room)
}

/** A character has at most three bytes of UTF-8 for each of its code units. */
const MAX_UNIT_BYTES = 3
const SHARED = Buffer.allocUnsafeSlow(98_304)

/** Returns text as UTF-8 for one call of the sink. All pages share the memory, if the sink copies what it retains. */
export function encodedFor({ copies }: Pick<ResponseSink, 'copies'>, text: string): Buffer {
  if (copies !== true || text.length * MAX_UNIT_BYTES > SHARED.length) return Buffer.from(text)
  return SHARED.subarray(0, SHARED.write(text))
}

/** Returns bytes that may change later, or a copy if the receiver retains them. */
export const copyFor = ({ copies }: { readonly copies?: boolean }, bytes: Buffer): Buffer =>
  copies === true ? bytes : Buffer.from(bytes)
