import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import t, { type Test } from 'tap'
import { SyslogFrames } from '../../../pipelines/sources/listeners/syslog-frames.js'
import { testFolder } from '../../helpers/folder.js'
import { until } from '../../helpers/web.js'
import { sourceRun } from './source-helper.js'

/** Opens connections to a listener, and sends the same text on each. */
async function openMany(t: Test, port: number, count: number, text: string) {
  const sockets: Socket[] = []
  t.teardown(() => sockets.forEach((socket) => socket.destroy()))
  const received = new Map<Socket, string>()
  const closed = new Set<Socket>()
  for (let n = 0; n < count; n++) {
    const socket = connect(port, '127.0.0.1')
    sockets.push(socket)
    socket.on('error', () => {}).once('close', () => closed.add(socket))
    socket.on('data', (bytes) => received.set(socket, (received.get(socket) ?? '') + String(bytes)))
    await once(socket, 'connect')
    if (text !== '') socket.write(text)
  }
  return { sockets, received, closed }
}

t.test('requests beyond 16 that are read and 512 that wait get 429', async (t) => {
  const { run, listening, stop } = sourceRun(testFolder(t), { http: '127.0.0.1:0' })
  const running = run()
  const port = Number(new URL(await listening).port)
  const { sockets, received } = await openMany(t, port, 532, 'POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n{')
  await until(() => received.size >= 4)
  t.equal(received.size, 4)
  for (const text of received.values()) t.match(text, /^HTTP\/1\.1 429 [^]*\r\nretry-after: \d+\r\n/i)
  for (const socket of sockets) socket.destroy()
  stop()
  t.match(await running, { end: 'done' })
})

t.test('connections beyond 1,024 are closed by a syslog listener', async (t) => {
  const { run, listening, stop } = sourceRun(testFolder(t), { syslog: { listen: '127.0.0.1:0' } })
  const running = run()
  const port = Number(new URL(await listening).port)
  const { sockets, closed } = await openMany(t, port, 1026, '')
  await until(() => closed.size >= 2)
  t.equal(closed.size, 2)
  for (const socket of sockets) socket.destroy()
  stop()
  t.match(await running, { end: 'done' })
})

t.test('of a line that is too long no more is kept than the maximum', (t) => {
  const found: (string | undefined)[] = []
  const frames = new SyslogFrames(20, (bytes) => found.push(bytes && String(bytes)))
  frames.read(Buffer.from('<1>'.padEnd(22, 'x')))
  t.strictSame(found, [undefined], 'reported before it ends')
  frames.read(Buffer.from('more of it\n<2>b\n'))
  t.strictSame(found, [undefined, '<2>b'])
  t.end()
})
