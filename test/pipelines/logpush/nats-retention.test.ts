/** Which messages of the shared spool are deleted, and which records are counted as lost. The servers are simulated. */
import t from 'tap'
import { StreamRetention, type RetentionDeps } from '../../../pipelines/logpush/spool/nats/retention.js'
import { positionOfMessage } from '../../../pipelines/logpush/spool/nats/frame.js'
import type { Position } from '../../../pipelines/logpush/spool/types.js'
import { silentLog } from '../../../src/core/log.js'
import { HandClock } from '../../helpers/hand-clock.js'

const SUBJECT = 'edged.a'
const RECORDS = 10
const ROUND_MS = 10_000

/** A stream with a message a second, of 10 records each. */
class Stream {
  id = 'first'
  messages: number[]
  readonly calls: string[] = []
  /** The next deletion is made, and its response is lost. */
  isUnheard = false

  constructor(count: number) {
    this.messages = Array.from({ length: count }, (_, index) => index + 1)
  }

  link(): RetentionDeps['link'] {
    const streams = {
      info: async () =>
        await Promise.resolve({
          state: { subjects: { [SUBJECT]: this.messages.length }, last_seq: this.messages.at(-1) },
        }),
      purge: async (_: string, { seq }: { seq: number }) => {
        this.calls.push(`purge ${seq}`)
        const before = this.messages.length
        this.messages = this.messages.filter((sequence) => sequence >= seq)
        const heard = !this.isUnheard
        this.isUnheard = false
        return heard
          ? await Promise.resolve({ purged: before - this.messages.length })
          : await Promise.reject(new Error('no response'))
      },
    }
    const link = { target: { stream: 'edged' }, ready: { jsm: { streams } } }
    Object.defineProperty(link.ready, 'id', { get: () => this.id })
    return link as unknown as RetentionDeps['link']
  }
}

function retention(stream: Stream, more: Partial<RetentionDeps> = {}) {
  const lost: string[] = []
  const reader = {
    oldest: async (from: number) => {
      const sequence = stream.messages.find((message) => message >= from)
      const message = { sequence, acceptedAt: 1000 * (sequence ?? 0), count: RECORDS }
      return await Promise.resolve(sequence === undefined ? undefined : { subject: SUBJECT, message })
    },
  }
  const of = new StreamRetention({
    link: stream.link(),
    reader: reader as unknown as RetentionDeps['reader'],
    leases: { tryHold: async () => await Promise.resolve(true) } as unknown as RetentionDeps['leases'],
    store: { caughtUp: async () => {} } as unknown as RetentionDeps['store'],
    clock: new HandClock(),
    log: silentLog,
    ageMs: undefined,
    least: () => 0,
    losses: () => ({ add: (reason: string, records: number) => void lost.push(`${reason} ${records}`) }) as never,
    ...more,
  })
  return { of, lost }
}

t.test('two machines that drop the same messages count their records once', async (t) => {
  const stream = new Stream(2)
  const [a, b] = [retention(stream), retention(stream)]
  await Promise.all([a.of.dropOldest('limit'), b.of.dropOldest('limit')])
  t.strictSame([...a.lost, ...b.lost], ['limit 10', 'limit 10'])
  t.equal(await a.of.dropOldest('limit'), false)
})

t.test('records that the readers have delivered are not counted', async (t) => {
  const { of, lost } = retention(new Stream(3), { least: () => positionOfMessage(2) + 4 })
  await of.dropOldest('limit')
  t.strictSame(lost, ['limit 6', 'limit 10'])
})

t.test('a deletion whose response is lost is completed, and counted once', async (t) => {
  const stream = new Stream(20)
  const { of, lost } = retention(stream)
  stream.isUnheard = true
  await t.rejects(of.dropOldest('limit'))
  t.strictSame(lost, [])
  await of.dropOldest('limit')
  t.equal(lost.length, 20)
  await of.close()
  t.equal(lost.length, 20)
})

t.test('a deletion whose response is lost does not touch a stream that took its place', async (t) => {
  const stream = new Stream(4)
  const { of, lost } = retention(stream)
  stream.isUnheard = true
  await t.rejects(of.dropOldest('limit'))
  Object.assign(stream, { id: 'second', messages: [1, 2] })
  await of.close()
  t.strictSame(stream.messages, [1, 2])
  t.strictSame(lost, [])
})

t.test('messages that are not old enough stay', async (t) => {
  const stream = new Stream(5)
  const { of, lost } = retention(stream)
  t.equal(await of.dropOldest('age', 3000), true)
  t.strictSame(stream.messages, [3, 4, 5])
  t.strictSame(lost, ['age 10', 'age 10'])
  t.equal(await of.dropOldest('age', 3000), false)
})

t.test('a message that no cursor needs stays for a round, because a cursor may begin with it', async (t) => {
  const stream = new Stream(3)
  const { of, lost } = retention(stream, { least: () => undefined })
  await of.trim()
  t.strictSame(stream.messages, [1, 2, 3])
  stream.messages.push(4)
  await of.trim()
  t.strictSame(stream.messages, [4])
  t.strictSame(lost, [])
})

t.test('a cursor that another machine has confirmed is known before messages are deleted', async (t) => {
  const stream = new Stream(3)
  let needed: Position = positionOfMessage(3)
  const caughtUp = async () => {
    needed = positionOfMessage(2)
    await Promise.resolve()
  }
  await retention(stream, { least: () => needed, store: { caughtUp } as unknown as RetentionDeps['store'] }).of.trim()
  t.strictSame(stream.messages, [2, 3])
})

t.test('only the machine with the lease deletes messages in rounds', async (t) => {
  for (const isHeld of [false, true]) {
    const stream = new Stream(3)
    const clock = new HandClock()
    const leases = { tryHold: async () => await Promise.resolve(isHeld) } as unknown as RetentionDeps['leases']
    const { of } = retention(stream, { clock, leases, least: () => positionOfMessage(3) })
    of.start()
    for (let round = 0; round < 3; round++) await clock.advance(ROUND_MS)
    await of.close()
    t.strictSame(stream.messages, isHeld ? [3] : [1, 2, 3])
  }
})
