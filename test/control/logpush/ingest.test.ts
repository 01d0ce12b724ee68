import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { ingest } from '../../../control/logpush/ingest.js'
import { bodyLines, linesInto } from '../../../control/http/line-body.js'
import { DATASETS } from '../../../pipelines/records/index.js'
import type { Spool } from '../../../pipelines/logpush/spool/types.js'
import { zone } from '../../../src/core/scope.js'
import { ZONE } from '../client.js'
import { logpushClient } from './helper.js'

const requestOf = (...pieces: Buffer[]) => {
  const socket = { destroyed: false }
  const request = Object.assign(Readable.from(pieces), { headers: {}, socket }) as unknown as IncomingMessage
  return { request, socket }
}
const noPause = async () => {}
const blankLines = (count: number, more = '') => gzipSync(Buffer.concat([Buffer.alloc(count, '\n'), Buffer.from(more)]))

t.test('few records of a request are read between two pauses', async (t) => {
  const BODIES = [
    ['{}\n'.repeat(100_000), '{}'],
    [`[${'{},'.repeat(100_000)}`, '{}]'],
  ]
  for (const body of BODIES) {
    const perPause = [0]
    const writer = { count: 0, size: 0, add: () => void perPause.push(perPause.pop()! + 1) }
    const spool = { cursors: [], writer: () => writer } as unknown as Spool
    const { request } = requestOf(...body.map((text) => Buffer.from(text)))
    const pause = async () => void perPause.push(0)
    await ingest(request, spool, DATASETS.get('http_requests')!, { pause })
    t.equal(
      perPause.reduce((sum, count) => sum + count),
      100_001,
    )
    t.ok(Math.max(...perPause) <= 64, `${Math.max(...perPause)} records`)
  }
})

t.test('a line that is longer than a piece is read whole', async (t) => {
  const lines = ['a'.repeat(50_000), 'b', 'c'.repeat(20_000)]
  const read: string[] = []
  const { request } = requestOf(Buffer.from(lines.join('\n')))
  for await (const { bytes } of bodyLines(request, { pause: noPause })) read.push(String(bytes))
  t.same(read, lines)
})

t.test('long text without a line is read in short steps too', async (t) => {
  const { request } = requestOf(Buffer.from(`[[${'1,'.repeat(500_000)}1]]`))
  let pauses = 0
  const taker = { line: () => {}, tooLong: () => {} }
  const steps = linesInto(request, taker, { pause: async () => void pauses++ })
  for await (const _ended of steps);
  t.ok(pauses > 400, `${pauses} pauses`)
})

t.test('reading ends when the sender has disconnected', async (t) => {
  const BODIES = [
    gzipSync('{}\n'.repeat(100_000)),
    gzipSync(`[${'{},'.repeat(100_000)}{}]`),
    Buffer.from('x\n'.repeat(100_000)),
  ]
  for (const body of BODIES) {
    const { request, socket } = requestOf(body)
    let lines = 0
    let pauses = 0
    const pause = async () => {
      pauses++
      socket.destroyed = pauses >= 5
    }
    const taker = { line: () => void lines++, tooLong: () => {} }
    const read = async () => {
      for await (const _ended of linesInto(request, taker, { pause }));
    }
    await t.rejects(read(), { name: 'SenderGone' })
    t.ok(lines <= 5 * 64, `${lines} lines`)
  }
})

t.test('one-byte chunks of white space are read in linear time', async (t) => {
  const looks = t.capture(Uint8Array.prototype, 'find', Uint8Array.prototype.find)
  const space = Buffer.from(' ')
  const chunks = Array.from({ length: 16_000 }, () => space)
  const { request } = requestOf(...chunks, Buffer.from('[{}]'))
  const read: string[] = []
  for await (const { bytes } of bodyLines(request, { pause: noPause })) read.push(String(bytes))
  t.same(read, ['{}'])
  const looked = looks().reduce((sum, { receiver }) => sum + (receiver as Uint8Array).length, 0)
  t.ok(looked < 50_000, `${looked} bytes`)
})

const PATH = `/zones/${ZONE}/edged/records/http_requests`
const SIZE = 64 * 1024 * 1024

/** Bodies beyond a limit, and what of them is stored. */
const BEYOND: [what: string, body: Uint8Array, error: object, accepted: number][] = [
  [
    'more than a million lines',
    blankLines(999_990, '{}\n'.repeat(11)),
    { code: 10413, message: /^the body has more than 1000000 lines; .*; records up to line 1000000 were stored$/ },
    10,
  ],
  [
    'members of blank lines',
    Buffer.concat([gzipSync('{}\n'), ...Array.from({ length: 3 }, () => blankLines(400_000))]),
    { code: 10413, message: /more than 1000000 lines/ },
    1,
  ],
  [
    'an array with more than 10,000 invalid elements',
    gzipSync(`[${'1,'.repeat(10_002)}{}]`),
    { code: 20303, message: /more than 10000 lines are invalid/ },
    0,
  ],
  [
    'more than 64 MiB after decompression',
    gzipSync(Buffer.concat([Buffer.from('{}\n'), Buffer.alloc(SIZE, `${' '.repeat(999)}\n`)])),
    { code: 10413, message: /^the body is larger than 67108864 bytes; .*; records up to line \d+ were stored$/ },
    1,
  ],
  [
    'more than 64 MiB',
    Buffer.concat([Buffer.from('{}\n'), Buffer.alloc(SIZE, `${' '.repeat(999)}\n`)]),
    { code: 10413, message: /^the body is larger than 67108864 bytes/ },
    1,
  ],
  [
    'more than 10,000 invalid lines',
    gzipSync(`{}\n{}\n${'x\n'.repeat(10_001)}{}\n`),
    { code: 20303, message: /^more than 10000 lines are invalid; .*; records up to line 10003 were stored$/ },
    2,
  ],
]

t.test('a request beyond a limit ends there, and says what is stored', async (t) => {
  const { send, spools, kept } = await logpushClient(t)
  await (await spools.open('http_requests', zone(ZONE))).cursor('test')
  let stored = 0
  for (const [what, body, error, accepted] of BEYOND) {
    const { status, body: response } = await send(PATH, body)
    t.equal(status, (error as { code: number }).code === 10413 ? 413 : 400, what)
    t.match(response.errors[0], { ...error, meta: { accepted } }, what)
    stored += accepted
    t.equal((await kept('http_requests', zone(ZONE))).length, stored, what)
  }
})

t.test('a request at a limit is accepted', async (t) => {
  const { send } = await logpushClient(t)
  t.match(await send(PATH, blankLines(999_999, '{}')), { status: 202, body: { result: { accepted: 1 } } })
  const invalid = await send(PATH, 'x\n'.repeat(10_000))
  t.match(invalid, { status: 202, body: { result: { accepted: 0, more_rejected: 9900 } } })
})

t.test('without a job the error of a limit does not say that records are stored', async (t) => {
  const { send } = await logpushClient(t)
  const { body } = await send(PATH, blankLines(999_999, '{}\n{}'))
  t.match(body.errors[0], { code: 10413 })
  t.notMatch(body.errors[0].message, /were stored/)
})
