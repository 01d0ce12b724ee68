import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import t from 'tap'
import { bodyLines } from '../../../control/http/line-body.js'

t.test('other work continues while the lines of a body that has arrived are read', async (t) => {
  const piece = Buffer.from(`${JSON.stringify({ a: 1 })}\n`.repeat(8000))
  const request = Object.assign(Readable.from([piece, piece, piece]), { headers: {} }) as unknown as IncomingMessage
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns++
    if (!isOver) setImmediate(count)
  }
  setImmediate(count)
  let lines = 0
  for await (const { bytes } of bodyLines(request, { bodyBytes: 1e9 })) {
    lines++
    // Work on a line.
    JSON.parse(String(bytes))
    for (const began = performance.now(); performance.now() - began < 0.005;);
  }
  isOver = true
  t.equal(lines, 24_000)
  t.ok(turns > 10, `${turns} turns`)
})
