import t from 'tap'
import { LARGE_READS, TurnQueue } from '../../../../src/core/schedule/turn-queue.js'
import { Body } from '../../../../src/edge/cache/entries/body.js'
import { Delivery } from '../../../../src/edge/cache/delivery/delivery.js'
import type { BodySink } from '../../../../src/edge/cache/entries/types.js'

const MEMORY = { take: () => true, give: () => undefined }
const BLOCK = 65_536

/** Returns a body of this many blocks, complete or not. */
function body(blocks: number, complete = true): Body {
  const made = new Body(MEMORY, blocks === 0 ? undefined : blocks * BLOCK)
  for (let block = 0; block < blocks; block++) made.append(Buffer.alloc(BLOCK, block))
  if (complete) made.seal()
  return made
}

/** Sends a body to a sink that accepts everything. Counts its bytes in `perTurn`. */
function send(from: Body, turns: TurnQueue, perTurn: number[]) {
  const received: Buffer[] = []
  const state = { ended: false, failed: false, drained: (): void => undefined }
  const sink: BodySink = {
    data(chunk) {
      received.push(chunk)
      perTurn.push((perTurn.pop() ?? 0) + chunk.length)
      return true
    },
    end: () => void (state.ended = true),
    fail: () => void (state.failed = true),
    onDrain: (drained) => void (state.drained = drained),
  }
  const nothing = () => undefined
  const delivery = new Delivery(from, sink, { pieces: undefined, done: nothing, progressed: nothing, turns })
  delivery.start()
  return { delivery, state, received }
}

/** Pushes a zero to `perTurn` in each turn of the event loop until `isOver`. */
async function follow(perTurn: number[], isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await new Promise(setImmediate)
    perTurn.push(0)
  }
}

t.test('many stored bodies that are sent together share the turns of the event loop, in order', async (t) => {
  const perTurn = [0]
  const turns = new TurnQueue(LARGE_READS)
  const stored = body(8)
  const all = Array.from({ length: 20 }, () => send(stored, turns, perTurn))
  await follow(perTurn, () => all.every(({ state }) => state.ended))
  t.equal(
    perTurn.reduce((sum, bytes) => sum + bytes, 0),
    20 * 8 * BLOCK,
  )
  t.ok(Math.max(...perTurn) <= 33 * BLOCK, `at most 2 MB in a turn, not ${Math.max(...perTurn)}`)
  for (const { received } of all)
    t.strictSame(
      received.map(([first]) => first),
      [0, 1, 2, 3, 4, 5, 6, 7],
    )
})

t.test(
  'a body whose delivery waits for its turn goes on there only, and a cancelled one sends nothing more',
  async (t) => {
    const perTurn = [0]
    const turns = new TurnQueue(LARGE_READS)
    const stored = body(20)
    const one = send(stored, turns, perTurn)
    const other = send(stored, turns, perTurn)
    const before = [one.received.length, other.received.length]
    one.state.drained()
    other.state.drained()
    t.strictSame([one.received.length, other.received.length], before, 'a drained sink does not skip the turn')
    other.delivery.cancel()
    await follow(perTurn, () => one.state.ended)
    t.equal(one.received.length, 20)
    t.equal(other.received.length, before[1])
    t.notOk(other.state.ended)
  },
)

t.test('what arrives of a body that many wait for is sent in several turns', async (t) => {
  const perTurn = [0]
  const turns = new TurnQueue(LARGE_READS)
  const growing = body(0, false)
  const all = Array.from({ length: 40 }, () => send(growing, turns, perTurn))
  for (let block = 0; block < 4; block++) {
    growing.append(Buffer.alloc(BLOCK, block))
    await follow(perTurn, () => growing.caughtUp)
  }
  growing.seal()
  growing.end()
  t.ok(all.every(({ state, received }) => state.ended && received.length === 4))
  t.ok(Math.max(...perTurn) <= 33 * BLOCK, `at most 2 MB in a turn, not ${Math.max(...perTurn)}`)
})

t.test('small bodies, and growing ones with one receiver, are sent at once', async (t) => {
  const turns = new TurnQueue(LARGE_READS)
  while (turns.spend(1));
  const small = new Body(MEMORY, 1000)
  small.append(Buffer.alloc(1000))
  small.seal()
  t.equal(send(small, turns, []).state.ended, true)
  t.equal(send(body(3, false), turns, []).received.length, 3)
})
