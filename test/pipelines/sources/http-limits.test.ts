import { once } from 'node:events'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { intakeRecords } from '../../../pipelines/sources/intake/record-intake.js'
import { testFolder } from '../../helpers/folder.js'
import { lines, recordOf, sourceRun } from './source-helper.js'

/** A listener that runs, and a function that sends a body to it. */
async function listener(t: Test) {
  const folder = testFolder(t)
  const { run, stats, listening, stop } = sourceRun(folder, { http: '127.0.0.1:0' })
  const running = run()
  const url = await listening
  const post = async (body: Buffer, coding?: string) => {
    const headers: Record<string, string> = coding === undefined ? {} : { 'content-encoding': coding }
    const response = await fetch(url, { method: 'POST', body: new Uint8Array(body), headers })
    return { status: response.status, body: (await response.json()) as { error: string } }
  }
  const end = async () => {
    stop()
    t.match(await running, { end: 'done' })
  }
  return { folder, stats, url, post, end }
}

t.test('a request beyond a limit ends there, and says what is stored', async (t) => {
  const { folder, post, end } = await listener(t)
  const blank = (count: number) => Buffer.alloc(count, '\n')
  const one = (id: string) => Buffer.from(`${recordOf(id)}\n`)
  const SIZE = 64 * 1024 * 1024
  const spaces = Buffer.alloc(SIZE, `${' '.repeat(999)}\n`)
  const lined = gzipSync(Buffer.concat([one('a'), blank(999_999), one('no')]))
  t.match(await post(lined, 'gzip'), {
    status: 413,
    body: { error: /^the body has more than 1000000 lines; .*; records up to line 1000000 were stored$/, accepted: 1 },
  })
  t.match(await post(gzipSync(Buffer.concat([one('b'), Buffer.from('x\n'.repeat(10_001)), one('no')]))), {
    status: 400,
    body: { error: /^more than 10000 lines are invalid; .*; records up to line \d+ were stored$/, accepted: 1 },
  })
  t.match(await post(gzipSync(Buffer.concat([one('c'), spaces]))), {
    status: 413,
    body: { error: /^the body is larger than 67108864 bytes; /, accepted: 1 },
  })
  t.match(await post(Buffer.concat([one('d'), spaces])), { status: 413, body: { accepted: 1 } })
  await end()
  t.strictSame(lines(folder), ['"a",200', '"b",200', '"c",200', '"d",200'])
})

t.test('each content coding of a body is limited', async (t) => {
  const { post, end } = await listener(t)
  // Members without any text: 66 MiB after the first decompression, nothing after the second.
  const member = gzipSync('')
  const inner = Buffer.alloc(66 * 1024 * 1024, member)
  const body = gzipSync(inner.subarray(0, inner.length - (inner.length % member.length)))
  t.match(await post(body, 'gzip, gzip'), { status: 413, body: { error: /larger than 67108864 bytes/ } })
  await end()
})

t.test('reading ends when the sender has disconnected', async (t) => {
  const { stats, url, end } = await listener(t)
  const body = gzipSync('{}\n'.repeat(900_000))
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  await once(socket, 'connect')
  socket.write(`POST / HTTP/1.1\r\nhost: a\r\ncontent-length: ${body.length}\r\n\r\n`)
  socket.end(body)
  socket.destroySoon()
  await once(socket, 'close')
  await end()
  t.ok(stats.read < 900_000, `${stats.read} records`)
})

t.test('few records are read between two pauses', async (t) => {
  const perPause = [0]
  const writer = { count: 0, size: 0, add: () => void perPause.push(perPause.pop()! + 1) }
  const input = (async function* () {
    yield Buffer.from('{}\n'.repeat(20_000))
  })()
  await intakeRecords(input, writer, {
    reject: () => {},
    commit: async () => {},
    taken: { read: 0 },
    pause: async () => void perPause.push(0),
  })
  t.ok(Math.max(...perPause) <= 64, `${Math.max(...perPause)} records`)
})
