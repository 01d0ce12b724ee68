import { generateKeyPairSync } from 'node:crypto'
import { t, type Test } from 'tap'
import { openSink } from '../../sinks/index.js'
import { RecordsRefused, SinkError, type Sink } from '../../src/core/sink.js'
import { openEgress } from '../helpers/egress.js'
import { httpReceiver, type Received, type ReceiverResponse } from '../helpers/http-receiver.js'
import { batchOf, never, sinkDeps } from '../helpers/sink-deps.js'

/** A destination that judges each record, and what it is asked. */
interface Judge {
  readonly sink: Sink
  /** Requests with records, in order. */
  readonly asked: Received[]
  reply: ReceiverResponse
}

/** When the batches of the tests begin. */
const BEGAN = new Date('2026-11-21T12:00:00Z')

const json = (body: unknown, status = 200): ReceiverResponse => ({ status, body: JSON.stringify(body) })

async function elastic(t: Test): Promise<Judge> {
  const asked: Received[] = []
  const receiver = await httpReceiver(t, {
    response(request) {
      asked.push(request)
      return judge.reply
    },
  })
  const deps = sinkDeps({ egress: await openEgress([receiver.server]) })
  const judge = { sink: openSink(`elasticsearch://${receiver.host}/i`, deps), asked, reply: json({ errors: false }) }
  t.teardown(() => judge.sink.close())
  return judge
}

async function bigQuery(t: Test): Promise<Judge & { tokens: number }> {
  const asked: Received[] = []
  const receiver = await httpReceiver(t, {
    response(request) {
      if (request.target === '/token') return json({ access_token: `t${++judge.tokens}`, expires_in: 3600 })
      asked.push(request)
      return judge.reply
    },
  })
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const account = {
    client_email: 'a@b.test',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    token_uri: `https://${receiver.host}/token`,
  }
  const conf = `bq://projects/p/datasets/d/tables/t?endpoint=${receiver.host}&credentials=url:`
  const deps = sinkDeps({ egress: await openEgress([receiver.server]) })
  const sink = openSink(conf + encodeURIComponent(JSON.stringify(account)), deps)
  t.teardown(() => sink.close())
  const judge = { sink, asked, reply: json({}), tokens: 0 }
  return judge
}

/** What an attempt at `lines` records ends with. */
async function attempt({ sink }: Judge, lines: number): Promise<unknown> {
  const text = Array.from({ length: lines }, (_, at) => `{"at":${at}}\n`).join('')
  return await sink.write(batchOf(text, 'identity', { name: 'n' }), never).then(
    () => 'written',
    (error: unknown) => error,
  )
}

const item = (status: number, type?: string) => ({ create: { status, ...(type !== undefined && { error: { type } }) } })
const bulk = (...items: object[]) => json({ errors: true, items })
const fault = (index: number, reason: string) => ({ index, errors: [{ reason, message: 'a secret' }] })
const insert = (...insertErrors: object[]) => json({ insertErrors })
const denied = (reason: string) => json({ error: { errors: [{ reason }] } }, 403)

type Case = [what: string, lines: number, reply: ReceiverResponse, want: 'written' | object]

const BULK: Case[] = [
  ['all are taken', 1, json({ errors: false, items: [item(201)] }), 'written'],
  ['they are there already', 1, bulk(item(409, 'version_conflict_engine_exception')), 'written'],
  [
    'some have no room now',
    3,
    bulk(item(201), item(400, 'mapper_parsing_exception'), item(429, 'es_rejected_execution')),
    { failure: 'transient', message: /rejected 2 of 3 records: es_rejected_execution$/ },
  ],
  [
    'some do not fit',
    2,
    bulk(item(201), item(400, 'mapper_parsing_exception')),
    { failure: 'refused', taken: 1, lines: ['{"at":1}'], message: /1 of 2 records: mapper_parsing_exception$/ },
  ],
  ['none fits', 1, bulk(item(400, '<script>')), { failure: 'refused', taken: 0, message: /1 of 1 records$/ }],
  [
    'there is no such index',
    2,
    bulk(item(404, 'index_not_found_exception'), item(404, 'index_not_found_exception')),
    { failure: 'refused', lines: undefined, message: /2 of 2 records: index_not_found_exception$/ },
  ],
  ['it says nothing of the items', 1, bulk({}), { failure: 'transient' }],
  ['it says something of others', 1, bulk(item(201), item(400)), { failure: 'transient', message: /not one of the/ }],
  ['no bulk answer', 1, json({ ok: true }), { failure: 'transient', message: /not one of the bulk API/ }],
  ['null', 1, json(null), { failure: 'transient', message: /not one of the bulk API/ }],
]

const INSERTS: Case[] = [
  ['all are taken', 1, json({}), 'written'],
  [
    'a row does not fit',
    2,
    insert(fault(1, 'invalid')),
    { failure: 'refused', taken: 1, lines: ['{"at":1}'], message: /rejected 1 of 2 rows: invalid$/ },
  ],
  [
    'the service is busy',
    1,
    insert(fault(0, 'backendError')),
    { failure: 'transient', message: /rows: backendError$/ },
  ],
  ['it says something of other rows', 1, insert(fault(1, 'invalid')), { failure: 'transient', message: /not one of/ }],
  [
    'it says the same of a row again and again',
    2,
    insert(fault(1, 'invalid'), fault(1, 'invalid'), fault(1, 'timeout')),
    { failure: 'transient', message: /not one of/ },
  ],
  ['no answer of the API', 1, { status: 200, body: '<html>' }, { failure: 'transient', message: /not one of Big/ }],
  ['the rate is exceeded', 1, denied('rateLimitExceeded'), { failure: 'transient', message: /responded with 403$/ }],
  ['access is denied', 1, denied('accessDenied'), { failure: 'refused', lines: undefined }],
  ['the token has gone', 1, { status: 401 }, { failure: 'refused', message: /responded with 401$/ }],
]

const JUDGES = [
  ['elasticsearch', elastic, BULK],
  ['bq', bigQuery, INSERTS],
] as const
for (const [name, open, cases] of JUDGES)
  for (const [what, lines, reply, want] of cases)
    t.test(`${name}: ${what}`, async (t) => {
      const judge = await open(t)
      judge.reply = reply
      const outcome = await attempt(judge, lines)
      t.match(outcome, want)
      if (want !== 'written') t.ok(outcome instanceof SinkError)
      t.notMatch(String(outcome), 'secret')
    })

/** An answer that takes the first of four records, has no room for the next two now, and never takes the last. */
const MIXED: Record<string, ReceiverResponse> = {
  elasticsearch: bulk(item(201), item(429), item(503), item(400)),
  bq: insert(fault(1, 'timeout'), fault(2, 'backendError'), fault(3, 'invalid')),
}
/** The records of a request, under the ids by which the destination tells them apart. */
const IDS: Record<string, RegExp> = { elasticsearch: /"_id":"(n-\d+)"/g, bq: /"insertId":"(n-\d+)"/g }

for (const [name, open] of JUDGES)
  t.test(`${name}: a temporary failure is retried, a permanent one is reported at the end`, async (t) => {
    const judge = await open(t)
    const ids = () => judge.asked.map(({ text }) => [...text.matchAll(IDS[name]!)].map(([, id]) => id))
    judge.reply = MIXED[name]!
    t.match(await attempt(judge, 4), { failure: 'transient', message: /3 of 4/ })
    judge.reply = { status: 503 }
    t.match(await attempt(judge, 4), { failure: 'transient', message: /responded with 503/ })
    judge.reply = name === 'bq' ? insert(fault(0, 'timeout')) : bulk(item(429), item(201))
    t.match(await attempt(judge, 4), { failure: 'transient', message: /1 of 2/ })
    judge.reply = name === 'bq' ? json({}) : json({ errors: false })
    const last = await attempt(judge, 4)
    t.ok(last instanceof RecordsRefused)
    t.match(last, { lines: ['{"at":3}'], taken: 3 })
    const four = ['n-0', 'n-1', 'n-2', 'n-3']
    t.strictSame(ids(), [four, ['n-1', 'n-2'], ['n-1', 'n-2'], ['n-1']])
    t.equal(await attempt(judge, 2), 'written', 'the next batch is sent as a whole')
    t.strictSame(ids().at(-1), ['n-0', 'n-1'])
  })

t.test('a token is used until it is refused, and a batch with an invalid line is refused', async (t) => {
  const judge = await bigQuery(t)
  t.equal(await attempt(judge, 1), 'written')
  judge.reply = { status: 401 }
  await attempt(judge, 1)
  t.equal(judge.tokens, 1)
  judge.reply = json({})
  t.equal(await attempt(judge, 1), 'written')
  t.equal(judge.tokens, 2)
  const csv = { failure: 'refused', lines: undefined, message: /^line 2 is not a JSON object/ }
  await t.rejects(judge.sink.write(batchOf('{}\n"a"\n', 'identity'), never), csv)
})

t.test('documents of data streams get their time, others stay as they are', async (t) => {
  const bodies: string[] = []
  const receiver = await httpReceiver(t, {
    response: ({ text }) => (bodies.push(text), json({ errors: false, items: [] })),
  })
  const deps = sinkDeps({ egress: await openEgress([receiver.server]) })
  const documents = async (index: string, lines: readonly string[]) => {
    const sink = openSink(`elasticsearch://${receiver.host}/${index}`, deps)
    await sink.write(batchOf(lines.map((line) => `${line}\n`).join(''), 'identity', { name: 'n', from: BEGAN }), never)
    await sink.close()
    return bodies.splice(0).flatMap((text) => text.split('\n').filter((_, at) => at % 2 === 1))
  }
  const lines = [
    '{"EdgeStartTimestamp":1795266000123456789,"n":1.50}',
    '{"@timestamp":"2026-01-01T00:00:00Z","time":5}',
    '{"ts":"2026-11-21T14:00:00.5+01:00"}',
    '{"ts":"yesterday"}',
    '{}',
    'text',
  ]
  t.strictSame(await documents('logs-edge-prod', lines), [
    '{"@timestamp":"2026-11-21T13:00:00.123456789Z","EdgeStartTimestamp":1795266000123456789,"n":1.50}',
    '{"@timestamp":"2026-01-01T00:00:00Z","time":5}',
    '{"@timestamp":"2026-11-21T13:00:00.500000000Z","ts":"2026-11-21T14:00:00.5+01:00"}',
    '{"@timestamp":"2026-11-21T12:00:00.000000000Z","ts":"yesterday"}',
    '{"@timestamp":"2026-11-21T12:00:00.000000000Z"}',
    '{"@timestamp":"2026-11-21T12:00:00.000Z","message":"text"}',
  ])
  t.strictSame(await documents('requests', lines.slice(0, 2)), lines.slice(0, 2))
  t.strictSame(await documents('requests?time=at', ['{"at":1795266000}']), [
    '{"@timestamp":"2026-11-21T13:00:00.000000000Z","at":1795266000}',
  ])
})

t.test('lines of Loki have the time of their record and its metadata', async (t) => {
  const bodies: string[] = []
  const receiver = await httpReceiver(t, { response: ({ text }) => (bodies.push(text), { status: 204 }) })
  const deps = sinkDeps({ egress: await openEgress([receiver.server]) })
  const values = async (query: string, lines: readonly string[]) => {
    const sink = openSink(`loki://${receiver.host}${query}`, deps)
    await sink.write(batchOf(lines.map((line) => `${line}\n`).join(''), 'identity', { name: 'n', from: BEGAN }), never)
    await sink.close()
    return (JSON.parse(bodies.splice(0).join('')) as { streams: [{ values: unknown[] }] }).streams[0].values
  }
  const lines = ['{"EdgeStartTimestamp":1795266000123456789,"RayID":"r","n":7}', '{"time":1795266000123}', 'text']
  const began = `${BEGAN.getTime()}000`
  t.strictSame(await values('', lines), [
    ['1795266000123456789', lines[0]],
    ['1795266000123000000', lines[1]],
    [`${began}002`, lines[2]],
  ])
  t.strictSame(await values('?time=batch&metadata=RayID,n,no', lines), [
    [`${began}000`, lines[0], { RayID: 'r', n: '7' }],
    [`${began}001`, lines[1]],
    [`${began}002`, lines[2]],
  ])
})
