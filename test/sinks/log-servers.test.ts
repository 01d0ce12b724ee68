import t, { type Test } from 'tap'
import { openSink } from '../../sinks/index.js'
import { RecordsRefused } from '../../src/core/sink.js'
import { openEgress } from '../helpers/egress.js'
import { dataStream } from '../helpers/elasticsearch-server.js'
import { httpReceiver, type Received, type ReceiverResponse } from '../helpers/http-receiver.js'
import { lokiServer } from '../helpers/loki-server.js'
import { batchOf, never, sinkDeps } from '../helpers/sink-deps.js'

const BEGAN = new Date('2026-11-21T12:00:00Z')
const at = (time: string): number => Date.parse(`2026-11-21T${time}Z`)
const ns = (time: string, more = '000'): string => `${at(time)}${more}000`

/** A destination at a server; returns what sends lines as one batch. */
async function destination(
  t: Test,
  server: { response(request: Received): ReceiverResponse },
  conf: (host: string) => string,
) {
  let requests = 0
  const receiver = await httpReceiver(t, {
    response: (request) => {
      requests++
      return server.response(request)
    },
  })
  const sink = openSink(conf(receiver.host), sinkDeps({ egress: await openEgress([receiver.server]) }))
  t.teardown(() => sink.close())
  const write = async (lines: readonly string[]) =>
    await sink.write(batchOf(`${lines.join('\n')}\n`, 'identity', { name: 'n', from: BEGAN }), never)
  const refused = async (lines: readonly string[]): Promise<RecordsRefused> => {
    const error: unknown = await write(lines).catch((error: unknown) => error)
    if (error instanceof RecordsRefused) return error
    throw new Error('no records were refused', { cause: error })
  }
  return { sink, write, refused, requests: () => requests }
}

const line = (time: string, more: object = {}): string => JSON.stringify({ time: `2026-11-21T${time}Z`, ...more })

t.test('Loki stores lines with their own times and structured metadata', async (t) => {
  const server = lokiServer()
  const { sink, write } = await destination(
    t,
    server,
    (host) => `loki://${host}?labels=job:edge,env:prod&metadata=RayID,n,o,no`,
  )
  await sink.check?.(never)
  t.equal(server.lines().length, 1)
  server.streams.clear()
  const lines = [
    `{"EdgeStartTimestamp":${ns('11:59:58', '123')},"RayID":"a","n":7,"o":{"p":[true]}}`,
    line('11:59:59.5', { RayID: 'ü"\\\u2028' }),
    'text',
  ]
  await write(lines)
  await write(lines)
  t.strictSame([...server.streams.keys()], ['{job="edge", env="prod"}'])
  const stored = [...server.streams.values()].flatMap((stream) => [...stream.values()])
  t.strictSame(stored, [
    { ns: BigInt(ns('11:59:58', '123')), line: lines[0], metadata: { RayID: 'a', n: '7', o: '{"p":[true]}' } },
    { ns: BigInt(ns('11:59:59.500')), line: lines[1], metadata: { RayID: 'ü"\\\u2028' } },
    { ns: BigInt(ns('12:00:00')) + 2n, line: 'text', metadata: {} },
  ])
})

t.test(
  'lines that Loki rejects for their time or length are refused one by one, and the others stored once',
  async (t) => {
    const limits = { oldest: at('10:00:00'), newest: at('12:10:00'), lineBytes: 100, behindMs: 3_600_000 }
    const server = lokiServer(limits)
    const { write, refused, requests } = await destination(t, server, (host) => `loki://${host}`)
    const good = [line('12:00:00', { n: 1 }), 'text', line('12:01:00'), 'more text']
    const bad = [line('09:00:00'), line('12:11:00'), 'x'.repeat(101), line('09:59:59.999')]
    const error = await refused([good[0]!, bad[0]!, good[1]!, bad[1]!, bad[2]!, good[2]!, bad[3]!, good[3]!])
    t.match(error, {
      lines: bad,
      taken: good.length,
      message: /^receiver\.test:\d+ rejected 4 of 8 lines for their time or length$/,
    })
    t.same(server.lines(), good)
    t.equal(requests(), 2, 'what Loki stored in the first request is recognized in the second')

    // Behind the newest line of the stream: the limit is in the middle of a second.
    await write([line('12:05:00.700')])
    const late = [line('11:05:00.699'), line('10:30:00')]
    t.match(await refused([line('11:05:01'), ...late]), { lines: late, taken: 1 })
    t.match(await refused([bad[0]!]), { lines: [bad[0]], taken: 0 })
  },
)

t.test('errors of Loki about a whole request refuse no line', async (t) => {
  for (const [status, body, failure] of [
    [400, 'error at least one label pair is required per stream', 'refused'],
    [400, "stream '{}' has structured metadata too large: '70000' bytes, limit: '65536' bytes", 'refused'],
    [429, 'Ingestion rate limit exceeded for user fake', 'transient'],
    [500, 'entry too far behind, oldest acceptable timestamp is: 2027-01-01T00:00:00Z', 'transient'],
  ] as const) {
    const { write, requests } = await destination(t, { response: () => ({ status, body }) }, (host) => `loki://${host}`)
    const whole = { failure, lines: undefined, message: `responded with ${status}` }
    await t.rejects(write(['a', 'b']), whole)
    t.equal(requests(), 1)
  }
})

t.test('a data stream of Elasticsearch takes each document once, with its time', async (t) => {
  const server = dataStream('logs-edge-prod', ({ status }) =>
    status === 'x' ? [400, 'document_parsing_exception'] : undefined,
  )
  const { sink, write, refused } = await destination(t, server, (host) => `elasticsearch://${host}/logs-edge-prod`)
  await sink.check?.(never)
  t.equal(server.documents.size, 1)
  server.documents.clear()
  const lines = [
    `{"EdgeStartTimestamp":${ns('11:59:58', '123')},"RayID":"a"}`,
    line('11:59:59.5'),
    '{"n":1}',
    'text',
    '{}',
  ]
  await write(lines)
  await write(lines)
  t.same(
    [...server.documents.values()].map((document) => document['@timestamp']),
    ['2026-11-21T11:59:58.000123000Z', '2026-11-21T11:59:59.500000000Z', ...Array.from({ length: 3 }, (_, at) => (at === 1 ? '2026-11-21T12:00:00.000Z' : '2026-11-21T12:00:00.000000000Z'))], // prettier-ignore
  )
  server.documents.clear()
  t.match(await refused(['{"status":1}', '{"status":"x"}', '{"status":2}']), { lines: ['{"status":"x"}'], taken: 2 })
  t.equal(server.documents.size, 2)
})

t.test('documents that a data stream cannot take for the moment are sent again without the others', async (t) => {
  let busy = true
  const server = dataStream('logs-edge-prod', ({ n }) =>
    busy && n === 2 ? [429, 'es_rejected_execution_exception'] : undefined,
  )
  const { write } = await destination(t, server, (host) => `elasticsearch://${host}/logs-edge-prod`)
  const lines = ['{"n":1}', '{"n":2}', '{"n":3}']
  await t.rejects(write(lines), {
    failure: 'transient',
    message: /rejected 1 of 3 records: es_rejected_execution_exception/,
  })
  busy = false
  await write(lines)
  t.same(
    [...server.documents.values()].map(({ n }) => Number(n)).sort((a, b) => a - b),
    [1, 2, 3],
  )
})
