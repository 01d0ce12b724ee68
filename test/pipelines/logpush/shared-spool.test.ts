import { join } from 'node:path'
import { jetstream, jetstreamManager } from '@nats-io/jetstream'
import t, { type Test } from 'tap'
import { CursorLost, SpoolUnavailable, type Spool } from '../../../pipelines/logpush/spool/types.js'
import { natsTarget } from '../../../pipelines/logpush/spool/nats/target.js'
import { systemClock } from '../../../src/core/clock.js'
import { zone } from '../../../src/core/scope.js'
import { testFolder } from '../../helpers/folder.js'
import { natsClient, natsCluster, natsServer, NO_NATS } from '../../helpers/nats.js'
import { until } from '../../helpers/web.js'
import { machine, sharedStore } from './shared-spool-helper.js'

const ZONE = zone('9f1839b6152d298aca64c4e906b6d074')
const never = new AbortController().signal

async function server(t: Test) {
  const started = await natsServer(join(testFolder(t), 'nats'))
  t.teardown(async () => await started.kill())
  return started
}

async function opened(t: Test, options: Parameters<typeof machine>[0]) {
  const spools = await machine(options)
  t.teardown(async () => await spools.close())
  return spools
}

async function append(spool: Spool, ...rays: string[]): Promise<void> {
  const writer = spool.writer()
  for (const RayID of rays) writer.add(Buffer.from(JSON.stringify({ RayID })))
  await writer.commit()
}

async function rays(spool: Spool, from: number): Promise<string[]> {
  const found: string[] = []
  for (let at = from; ;) {
    const frame = await spool.frame(at)
    if (frame === undefined) return found
    for (let n = Math.max(0, at - frame.first); n < frame.count; n++)
      found.push((JSON.parse(Buffer.from(frame.line(n)).toString()) as { RayID: string }).RayID)
    at = frame.first + frame.count
  }
}

t.test('URLs of shared spools', async (t) => {
  t.match(natsTarget('nats://u:p%40@h1:4223,h2?stream=logs&replicas=3'), {
    servers: ['h1:4223', 'h2:4222'],
    stream: 'logs',
    replicas: 3,
    user: 'u',
    password: 'p@',
    where: 'NATS at h1:4223, h2:4222',
  })
  const WRONG: [url: string, message: RegExp][] = [
    ['nats://', /not valid: use nats:/],
    ['nats://h:port', /not valid: use nats:/],
    ['nats://u:secret@h?strem=a', /unknown option strem; use stream, replicas, ca_file/],
    ['nats://h?stream=a.b', /stream .* not valid/],
    ['nats://h?replicas=0', /use a number from 1 to 5/],
    ['nats://h?ca_file=/a', /begins with tls/],
  ]
  for (const [url, message] of WRONG) {
    t.throws(() => natsTarget(url), message)
    try {
      natsTarget(url)
    } catch (error) {
      t.notMatch(String(error), /secret/)
    }
  }
})

t.test('machines read the same records at the same positions', { skip: NO_NATS }, async (t) => {
  const nats = await server(t)
  const store = await sharedStore(t)
  const [one, two] = await Promise.all(
    ['one', 'two'].map(async (name) => await opened(t, { server: nats, store, name })),
  )
  t.equal(one!.id, two!.id)
  const [a, b] = [await one!.open('http_requests', ZONE), await two!.open('http_requests', ZONE)]
  const { next } = (await a.cursor('job')).state
  await append(a, 'a1', 'a2')
  await append(b, 'b1')
  await append(a, 'a3')
  const wanted = ['a1', 'a2', 'b1', 'a3']
  for (const spool of [a, b]) {
    await until(async () => (await rays(spool, next)).length === wanted.length)
    t.strictSame(await rays(spool, next), wanted)
  }
  const middle = (await a.frame(next))!.first + 1
  t.strictSame(await rays(b, middle), wanted.slice(1))
})

t.test(
  'a message that was not announced is found after an announced one of another spool',
  { skip: NO_NATS },
  async (t) => {
    const nats = await server(t)
    const spools = await opened(t, { server: nats, store: await sharedStore(t) })
    const [spool, other] = [await spools.open('http_requests', ZONE), await spools.open('firewall_events', ZONE)]
    const { next } = (await spool.cursor('job')).state
    await other.cursor('job')
    await append(spool, 'first')
    const client = await natsClient(t, nats)
    const { subject, data } = (await (await jetstreamManager(client)).streams.getMessage('edged', { seq: 1 }))!
    t.strictSame(await rays(spool, next), ['first'])
    await jetstream(client).publish(subject, data)
    await append(other, 'of another spool')
    await until(async () => (await rays(spool, next)).length === 2)
  },
)

t.test('a reader that begins at the end hides no older records from others', { skip: NO_NATS }, async (t) => {
  const nats = await server(t)
  const store = await sharedStore(t)
  const first = await (await opened(t, { server: nats, store })).open('http_requests', ZONE)
  const { next } = (await first.cursor('job')).state
  await append(first, 'a')
  await append(first, 'b')
  const second = await (await opened(t, { server: nats, store, name: 'two' })).open('http_requests', ZONE)
  const { state } = await second.cursor('new')
  t.equal(await second.frame(state.next), undefined)
  t.strictSame(await rays(second, next), ['a', 'b'])
  await t.rejects(second.waitFor(state.next, AbortSignal.abort(new Error('still waiting'))), /still waiting/)
})

t.test('one machine reads for a cursor, and saves of the one before are rejected', { skip: NO_NATS }, async (t) => {
  const nats = await server(t)
  const store = await sharedStore(t)
  const first = await opened(t, { server: nats, store, name: 'one' })
  const second = await machine({ server: nats, store, name: 'two' })
  let isLost = false
  const one = await (await first.open('http_requests', ZONE)).cursor('job')
  const two = await (await second.open('http_requests', ZONE)).cursor('job')
  await two.take!(() => (isLost = true), never)
  t.equal(one.isTakenElsewhere, true)
  t.equal(two.isTakenElsewhere, false)
  await two.save({ next: 1000 })
  const taking = one.take!(() => {}, never)
  await second.close()
  await taking
  t.strictSame(one.state, { next: 1000 })
  await one.save({ next: 2000 })
  t.equal(isLost || one.isTakenElsewhere === false, true)
  await t.rejects(two.save({ next: 1500 }), CursorLost)
  t.strictSame(one.state, { next: 2000 })
  const stop = new AbortController()
  const third = await opened(t, { server: nats, store, name: 'three' })
  const waiting = (await (await third.open('http_requests', ZONE)).cursor('job')).take!(() => {}, stop.signal)
  stop.abort(new Error('enough'))
  await t.rejects(waiting, /enough/)
})

const REFUSED: [what: string, description: string, message: RegExp][] = [
  ['made by something else', 'orders', /was not made by edged; name another one with \?stream=/],
  ['of a newer version', 'edged log spool, format 2, id 0123456789abcdef', /has format 2 of a newer version of edged/],
  ['of another installation', 'edged log spool, format 1, id 0123456789abcdef', /records of another installation/],
]
for (const [what, description, message] of REFUSED) {
  t.test(`a stream ${what} is not used`, { skip: NO_NATS }, async (t) => {
    const nats = await server(t)
    const client = await natsClient(t, nats)
    const jsm = await jetstreamManager(client)
    await jsm.streams.add({ name: 'edged', subjects: ['edged.>'], description, max_bytes: 200_000_000 })
    await jsm.jetstream().publish('edged.a.b', 'records')
    const spools = await opened(t, { server: nats, store: await sharedStore(t) })
    t.match(spools.unavailable, message)
    const spool = await spools.open('http_requests', ZONE)
    await t.rejects(append(spool, 'a'), SpoolUnavailable)
    t.equal((await jsm.streams.info('edged')).state.messages, 1)
  })
}

t.test('after the stream is deleted, cursors begin with the new one', { skip: NO_NATS }, async (t) => {
  const nats = await server(t)
  const client = await natsClient(t, nats)
  const store = await sharedStore(t)
  const before = await machine({ server: nats, store })
  const spool = await before.open('http_requests', ZONE)
  await spool.cursor('job')
  await append(spool, 'lost')
  await before.close()
  await (await jetstreamManager(client)).streams.delete('edged')
  const after = await opened(t, { server: nats, store })
  t.equal(after.unavailable, undefined)
  const again = await after.open('http_requests', ZONE)
  await append(again, 'new')
  t.strictSame(await rays(again, (await again.cursor('job')).state.next), ['new'])
})

t.test('messages that all readers have passed are deleted, and others stay', { skip: NO_NATS }, async (t) => {
  const nats = await server(t)
  const store = await sharedStore(t)
  const spools = await opened(t, { server: nats, store, limits: { bytes: 3_000_000 } })
  const spool = await spools.open('http_requests', ZONE)
  const [slow, fast] = [await spool.cursor('slow'), await spool.cursor('fast')]
  const large = (n: number) => `${n}-${'x'.repeat(100_000)}`
  for (let n = 0; n < 20; n++) await append(spool, large(n))
  await fast.save({ next: spool.end })
  const tenth = (await spool.before(spool.end))!.first
  await slow.save({ next: tenth })
  // The trim comes with the first append that finds no room.
  for (let n = 20; n < 40; n++) await append(spool, large(n))
  t.strictSame(
    (await rays(spool, slow.state.next)).map((ray) => Number.parseInt(ray, 10)),
    Array.from({ length: 21 }, (_, n) => 19 + n),
  )
})

t.test(
  'with three servers, nothing confirmed is lost when the leader is killed',
  { skip: NO_NATS, timeout: 180_000 },
  async (t) => {
    const cluster = await natsCluster(testFolder(t), 3)
    t.teardown(async () => await Promise.all(cluster.map(async (each) => await each.kill())))
    const url = `nats://${cluster.map((each) => each.url.slice('nats://'.length)).join(',')}?replicas=3`
    const spools = await opened(t, { server: { url }, store: await sharedStore(t) })
    await until(() => spools.unavailable === undefined)
    const spool = await spools.open('http_requests', ZONE)
    const { next } = (await spool.cursor('job')).state
    const confirmed: string[] = []
    const send = async (ray: string) =>
      await append(spool, ray).then(
        () => void confirmed.push(ray),
        async (error: unknown) => {
          t.type(error, SpoolUnavailable)
          // A loop of immediate rejections leaves no turn in which the connection could return.
          await systemClock.sleep(20)
        },
      )
    for (let n = 0; n < 50; n++) await send(`r${n}`)
    const client = await natsClient(t, cluster[0]!)
    const { cluster: placed } = await (await jetstreamManager(client)).streams.info('edged')
    const leader = Number(/\d+$/.exec(placed?.leader ?? '')?.[0])
    await client.close()
    await cluster[leader]!.kill()
    for (let n = 50; confirmed.length < 100; n++) await send(`r${n}`)
    const found = new Set(await rays(spool, next))
    t.strictSame(
      confirmed.filter((ray) => !found.has(ray)),
      [],
    )
  },
)
