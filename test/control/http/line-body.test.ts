import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { bodyLines } from '../../../control/http/line-body.js'
import { EventLoopYield } from '../../../src/core/schedule/event-loop-yield.js'

const socket = { destroyed: false }
const slices = new EventLoopYield()
const pause = () => slices.yieldToEventLoop()

t.test('other work continues while the lines of a body that has arrived are read', async (t) => {
  const piece = Buffer.from(`${JSON.stringify({ a: 1 })}\n`.repeat(8000))
  const request = Object.assign(Readable.from([piece, piece, piece]), {
    headers: {},
    socket,
  }) as unknown as IncomingMessage
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  let lines = 0
  for await (const { bytes } of bodyLines(request, { pause })) {
    lines++
    // Work on a line.
    JSON.parse(String(bytes))
    for (const began = performance.now(); performance.now() - began < 0.005;);
  }
  isOver = true
  t.equal(lines, 24_000)
  t.ok(turns > 10, `${turns} turns`)
})

t.test('a body has at most its bytes after decompression, and a line its maximum', async (t) => {
  const read = async (pieces: Buffer[], maxBytes: number) => {
    const request = Object.assign(Readable.from(pieces), { headers: {}, socket }) as unknown as IncomingMessage
    const found: [line: number, length: number | undefined][] = []
    for await (const { line, bytes } of bodyLines(request, { pause, maxBytes })) found.push([line, bytes?.length])
    return found
  }
  const small = gzipSync(Buffer.alloc(1_000_000, `${'a'.repeat(9999)}\n`))
  t.equal((await read([small], 1_000_000)).length, 100)
  await t.rejects(read([small], 999_999), { message: /^the body is larger than 999999 bytes/ })
  const part = Buffer.alloc(2 ** 19, 'a')
  const one = Buffer.from('\nb')
  t.strictSame(await read([part, part, one], 1e9), [
    [1, 2 ** 20],
    [2, 1],
  ])
  t.strictSame(await read([part, part, part, one], 1e9), [
    [1, undefined],
    [2, 1],
  ])
})
