import { createServer, type Server } from 'node:net'
import t from 'tap'
import { openEgress, testEgress } from '../helpers/egress.js'
import { CA_FILE } from '../helpers/tls.js'
import { until } from '../helpers/web.js'
import { receiver, Workbench } from './workbench.js'

t.test('receivers that hang, trickle, flood, reset or lie delay no others', async (t) => {
  const healthy = await Promise.all(Array.from({ length: 50 }, () => receiver(t)))
  const hangs = await receiver(t, () => undefined)
  const trickles = await receiver(t, (_, response) => {
    response.writeHead(200)
    const timer = setInterval(() => response.write('x'), 20)
    response.once('close', () => clearInterval(timer))
  })
  let flooded = 0
  const floods = await receiver(t, (_, response) => {
    response.writeHead(200, { 'content-length': 2 ** 30 })
    const block = Buffer.alloc(65_536)
    const more = () => {
      while (!response.destroyed && response.write(block)) flooded += block.length
      if (!response.destroyed) response.once('drain', more)
    }
    more()
  })
  const resets = await receiver(t, (_, response) => void response.socket?.destroy())
  const redirects = await receiver(t, (_, response) => {
    response.writeHead(302, { location: 'https://127.0.0.1:1/' }).end()
  })
  const plain: Server = createServer(
    (socket) => void socket.on('error', () => undefined).end('HTTP/1.1 200 OK\r\n\r\n'),
  )
  await new Promise<void>((resolve) => plain.listen(0, '127.0.0.1', resolve))
  t.teardown(() => plain.close())

  const bad = [hangs, trickles, floods, resets, redirects]
  const egress = await openEgress([...healthy, ...bad].map(({ server }) => server).concat(plain as never))
  const bench = new Workbench(t, egress, { options: { in_flight: 24 } })
  const ids: string[] = []
  for (const each of bad) {
    const id = await bench.webhook(each.url())
    ids.push(...Array.from({ length: 20 }, () => id))
  }
  const { port } = plain.address() as { port: number }
  const noTls = await bench.webhook(`https://receiver.test:${port}/`)
  const badName = await bench.webhook(`https://127.0.0.1:${hangs.port}/`)
  const jobs = await bench.send(...ids, noTls, badName)
  const well: string[] = []
  for (const each of healthy) well.push(...(await bench.send(...Array(2).fill(await bench.webhook(each.url())))))
  await until(() => well.every((id) => bench.state(id)?.status === 'completed'))

  const [hung = '', trickled = '', flood = '', reset = '', redirected = ''] = [0, 20, 40, 60, 80].map((at) => jobs[at])
  t.equal(bench.state(hung)?.attempts, undefined, 'the others did not wait for it')
  for (const socket of hangs.sockets) socket.destroy()
  for (const id of [hung, trickled, flood, reset, redirected, ...jobs.slice(-2)])
    await until(() => (bench.state(id)?.attempts ?? 0) >= 1)
  const tried = (id: string) => bench.state(id)?.tries[0]
  t.match(tried(hung), { status_code: 0, error: 'connection reset' })
  t.match(tried(trickled), { status_code: 200, error: null }, 'what its head says counts')
  t.match(tried(flood), { status_code: 200 })
  t.equal(tried(flood)?.response.length, 1024)
  t.ok(flooded < 50_000_000, 'and it cannot send on')
  t.match(tried(reset), { status_code: 0, error: 'connection reset' })
  t.match(tried(redirected), { status_code: 302, error: 'redirects are not followed' })
  t.match(tried(jobs.at(-2) ?? ''), { status_code: 0, error: /TLS|no connection|reset/ })
})

t.test('an attempt to a receiver that never responds times out', async (t) => {
  const to = await receiver(t, () => undefined)
  const bench = new Workbench(t, await openEgress([to.server]), { options: { timeout: 100 } })
  const [job = ''] = await bench.send(await bench.webhook(to.url()))
  await until(() => bench.state(job)?.attempts === 1)
  t.match(bench.state(job)?.tries, [{ status_code: 0, error: 'timed out' }])
})

t.test('an untrusted certificate and a name that now resolves to a private address get nothing', async (t) => {
  const to = await receiver(t)
  const strange = await testEgress({
    allow_cidrs: [`127.0.0.1/32:${to.port}`],
    resolver_overrides: { 'receiver.test': ['127.0.0.1'] },
  })
  const unknown = new Workbench(t, strange)
  const [untrusted = ''] = await unknown.send(await unknown.webhook(to.url()))
  await until(() => unknown.state(untrusted)?.attempts === 1)
  t.match(unknown.state(untrusted)?.tries, [{ status_code: 0, error: 'TLS' }])

  const guarded = await testEgress({ ca_file: CA_FILE, resolver_overrides: { 'receiver.test': ['127.0.0.1'] } })
  const moved = new Workbench(t, guarded)
  const [inside = ''] = await moved.send(await moved.webhook(to.url()))
  await until(() => moved.state(inside)?.attempts === 1)
  t.match(moved.state(inside)?.tries, [{ status_code: 0, error: 'not public' }])
  t.equal(to.received.length, 0)
})

t.test('a response without end is read up to a limit', async (t) => {
  // More than sockets buffer, and little enough to be read within the time limit of a body.
  const MAX_WRITTEN = 16 * 2 ** 20
  const chunk = Buffer.alloc(2 ** 16, 'x')
  let written = 0
  const to = await receiver(t, (_, response) => {
    const write = (): void => {
      while (!response.destroyed && written < MAX_WRITTEN) {
        written += chunk.length
        if (!response.write(chunk)) return void response.once('drain', write)
      }
      response.end()
    }
    write()
  })
  const bench = new Workbench(t, await openEgress([to.server]))
  const [job = ''] = await bench.send(await bench.webhook(to.url()))
  await until(() => bench.state(job)?.status === 'completed')
  t.ok(written < MAX_WRITTEN, 'the connection was closed before')
})
