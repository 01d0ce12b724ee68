import { once } from 'node:events'
import { PassThrough } from 'node:stream'
import t, { type Test } from 'tap'
import { silentLog } from '../../../src/core/log.js'
import type { StreamReceiver, StreamSender } from '../../../src/core/machine-streams.js'
import { WORKER_MACHINES } from '../../../src/core/model/worker-data.js'
import { account, DAEMON } from '../../../src/core/scope.js'
import type { Store } from '../../../src/core/store.js'
import { dial } from '../../../src/daemon/machines/link.js'
import { MachineStreams } from '../../../src/daemon/machines/streams.js'
import { FrameReader, FrameSender } from '../../../src/daemon/machines/frames.js'
import { WorkerHomeServer } from '../../../src/daemon/machines/home-server.js'
import { openMemory } from '../../../src/store/memory.js'
import { HandClock } from '../../helpers/hand-clock.js'
import { until } from '../../helpers/web.js'

const SCOPE = account('023e105f4ecef8ad9ca31a8372d0c353')
const KEY = Buffer.alloc(32, 7)
const REQUEST = { type: 'worker_tail', scope: SCOPE, input: { script: 'app' } } as const

const memory = (): Store =>
  openMemory({ folder: '', log: silentLog, clock: new HandClock(), retention: { entries: 10 } })

const announce = async (store: Store, id: string, address: string | undefined): Promise<void> =>
  void (await store.batch([
    { kind: WORKER_MACHINES, scope: DAEMON, id, value: address === undefined ? undefined : { beat: 1, address } },
  ]))

/** A machine that others follow, and what it sends. */
async function sending(t: Test, store: Store, self: string) {
  const config = { machines: { listen: '127.0.0.1:0', advertise: null }, store: 'redis://127.0.0.1:1/0' }
  const server = await WorkerHomeServer.open(config, { keys: [KEY], self, clock: new HandClock(), log: silentLog })
  t.teardown(() => server.close())
  server.serve({ accept: async () => undefined, caughtUp: async () => new Map() })
  const senders = new Map<StreamSender, unknown>()
  server.sources.set('worker_tail', async ({ scope, input }, sender, signal) => {
    if ((input as { script: string }).script === 'refused') throw new Error('not here')
    senders.set(sender, { scope, input })
    signal.addEventListener('abort', () => senders.delete(sender))
  })
  await announce(store, self, server.address)
  return { server, senders, send: (text: string) => [...senders.keys()].forEach((sender) => sender.send(text, 1)) }
}

/** What machine `one` follows. */
function following(t: Test, store: Store) {
  const clock = new HandClock()
  const streams = new MachineStreams({ store, self: 'one', keys: [KEY], clock, log: silentLog })
  t.teardown(() => streams.close())
  const texts: string[] = []
  const states: string[] = []
  const receiver: StreamReceiver = {
    text: (text) => void texts.push(text.toString()),
    missed: (records) => void texts.push(`missed ${records}`),
    machine: (name, state) => void states.push(`${name} ${state}`),
  }
  /** Time passes until the condition holds. */
  const later = async (condition: () => boolean) =>
    await until(async () => {
      await clock.advance(1000)
      return condition()
    })
  return { streams, receiver, texts, states, later }
}

t.test('each other machine sends, also one that starts later, and none after the end', async (t) => {
  const store = memory()
  await announce(store, 'one', '127.0.0.1:1')
  const two = await sending(t, store, 'two')
  const { streams, receiver, texts, states } = following(t, store)
  const followed = streams.follow(REQUEST, receiver)
  await followed.ready
  t.same([...two.senders.values()], [{ scope: SCOPE, input: { script: 'app' } }])
  const three = await sending(t, store, 'three')
  await until(() => three.senders.size === 1)
  two.send('from two')
  three.send('from three')
  await until(() => texts.length === 2)
  t.same(texts.toSorted(), ['from three', 'from two'])
  followed.close()
  await until(() => two.senders.size === 0 && three.senders.size === 0)
  t.same(states, [])
})

t.test('a machine that does not respond is reported once, and followed again when it is back', async (t) => {
  const store = memory()
  await announce(store, 'two', '127.0.0.1:1')
  const { streams, receiver, texts, states, later } = following(t, store)
  const followed = streams.follow(REQUEST, receiver)
  await followed.ready
  t.same(states, ['two away'])
  let two = await sending(t, store, 'two')
  await later(() => states.length === 2)
  t.same(states, ['two away', 'two back'])
  two.send('a')
  await until(() => texts.length === 1)
  two.server.close()
  await until(() => states.length === 3)
  two = await sending(t, store, 'two')
  await later(() => two.senders.size === 1)
  await announce(store, 'two', undefined)
  two.server.close()
  two = await sending(t, store, 'two')
  await later(() => two.senders.size === 1)
  t.same(states, ['two away', 'two back', 'two away', 'two back'], 'a machine that stops is not away')
})

t.test('a machine that refuses is away, and others are not affected', async (t) => {
  const store = memory()
  await sending(t, store, 'two')
  const { streams, receiver, states } = following(t, store)
  await streams.follow({ ...REQUEST, input: { script: 'refused' } }, receiver).ready
  t.same(states, ['two away'])
  await streams.follow({ ...REQUEST, type: 'log_records' }, receiver).ready
  t.same(states, ['two away', 'two away'])
})

t.test('what a slow machine does not read is dropped, counted and reported', async (t) => {
  const store = memory()
  const two = await sending(t, store, 'two')
  const socket = await dial(two.server.address, [KEY])
  socket.write(`${JSON.stringify({ to: 'two', account: SCOPE.id, call: { stream: REQUEST } })}\n`)
  t.equal(String((await once(socket, 'data'))[0]), '{}\n')
  socket.pause()
  const text = 'x'.repeat(100_000)
  for (let n = 0; n < 1000; n++) two.send(text)
  let texts = 0
  let missed = 0
  const frames = new FrameReader({ text: () => void (texts += 1), missed: (count) => void (missed += count) })
  socket.on('data', (chunk: Buffer) => frames.read(chunk)).resume()
  await until(() => texts + missed === 1000)
  t.ok(missed > 500, `${missed} were dropped`)
  socket.destroy()
})

t.test('frames are read however they arrive, and other bytes are rejected', async (t) => {
  const stream = new PassThrough({ highWaterMark: 2 ** 20 })
  const sender = new FrameSender(stream)
  sender.send('early', 1)
  sender.open()
  const sent = ['', 'a', 'ä'.repeat(70_000), '{}']
  for (const text of sent) sender.send(text, 1)
  const bytes = stream.read() as Buffer
  for (const step of [1, 4, 5, 6, 65_536, bytes.length]) {
    const texts: string[] = []
    const frames = new FrameReader({ text: (text) => void texts.push(text.toString()), missed: () => t.fail() })
    for (let at = 0; at < bytes.length; at += step) frames.read(bytes.subarray(at, at + step))
    t.same(texts, sent, `${step} bytes`)
  }
  const frames = new FrameReader({ text: () => t.fail(), missed: () => t.fail() })
  t.throws(() => frames.read(Buffer.from('HTTP/1.1 400')), /no frame/)
  t.throws(
    () => new FrameReader({ text: () => t.fail(), missed: () => t.fail() }).read(Buffer.from([0, 255, 0, 0, 0])),
    /no frame/,
  )
})
