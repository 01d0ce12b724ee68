import { Readable } from 'node:stream'
import { createGzip, gzipSync } from 'node:zlib'
import t from 'tap'
import { account, zone } from '../../../src/core/scope.js'
import { ACCOUNT, OTHER_ZONE, ZONE } from '../client.js'
import { logpushClient, type LogpushClient } from './helper.js'

const PATH = `/zones/${ZONE}/edged/records/http_requests`
const NDJSON = { 'content-type': 'application/x-ndjson' }
const line = (id: number | string) => `{"RayID":"${id}","EdgeResponseStatus":200}`

/** A client whose spool of http_requests has a reader, so that records are kept. */
async function reading(t: Parameters<typeof logpushClient>[0], options = {}): Promise<LogpushClient> {
  const made = await logpushClient(t, options)
  const spool = await made.spools.open('http_requests', zone(ZONE))
  await spool.cursor('test')
  return made
}

/** Bodies that hold the same two records. */
const FORMS: [what: string, body: string | Uint8Array, headers: Record<string, string>][] = [
  ['lines', `${line(1)}\n${line(2)}\n`, NDJSON],
  ['lines without an end', `${line(1)}\n${line(2)}`, NDJSON],
  ['lines with carriage returns', `${line(1)}\r\n${line(2)}\r\n`, NDJSON],
  ['blank lines between', `\n \n${line(1)}\n\t\n\n${line(2)}\n\n`, NDJSON],
  ['a byte order mark', `\ufeff${line(1)}\n${line(2)}`, NDJSON],
  ['an array', `[${line(1)},${line(2)}]`, { 'content-type': 'application/json' }],
  ['an array over lines', `\n\n  [\n${line(1)},\n ${line(2)}\n]\n`, { 'content-type': 'application/json' }],
  ['an array by its content', `[${line(1)},${line(2)}]`, NDJSON],
  ['packed lines, as declared', gzipSync(`${line(1)}\n${line(2)}`), { ...NDJSON, 'content-encoding': 'gzip' }],
  ['packed lines, by their content', gzipSync(`${line(1)}\n${line(2)}`), NDJSON],
  ['packed in two members', Buffer.concat([gzipSync(`${line(1)}\n`), gzipSync(line(2))]), NDJSON],
  ['a packed array', gzipSync(`[${line(1)},${line(2)}]`), { 'content-encoding': 'x-gzip' }],
  ['no content type', `${line(1)}\n${line(2)}`, { 'content-type': '' }],
]

t.test('records come in as lines or as an array, packed or not', async (t) => {
  const { send, kept } = await reading(t)
  for (const [what, body, headers] of FORMS) {
    const before = (await kept('http_requests', zone(ZONE))).length
    const { status, body: response } = await send(PATH, body, headers)
    t.equal(status, 202, what)
    t.strictSame(response, { success: true, errors: [], messages: [], result: { accepted: 2, rejected: [] } }, what)
    const records = (await kept('http_requests', zone(ZONE))).slice(before)
    t.same(
      records.map((text) => JSON.parse(text)),
      [JSON.parse(line(1)), JSON.parse(line(2))],
      what,
    )
  }
})

t.test('records of a dataset that no job takes are reported in the messages', async (t) => {
  const { send } = await logpushClient(t)
  const { status, body } = await send(PATH, line(1), NDJSON)
  t.equal(status, 202)
  t.match(body, {
    success: true,
    messages: [{ code: 20101, message: /^no enabled job takes http_requests of this zone; .* not stored$/ }],
    result: { accepted: 1 },
  })
})

t.test('numbers keep every digit, and members without a field are dropped', async (t) => {
  const { send, kept } = await reading(t)
  const record =
    '{"EdgeStartTimestamp":1506702504433000200,"ClientASN":18446744073709551615,"BotScore":1e21,' +
    '"ClientCity":"caf\\u00e9 \\"x\\"","Cookies":{"b":0.10,"a":[1.0]},"Nope":1,"RayID":null}'
  await send(PATH, record)
  await send(PATH, `[${record}]`)
  const [asLine, inArray] = await kept('http_requests', zone(ZONE))
  t.match(asLine, '"EdgeStartTimestamp":1506702504433000200')
  t.match(asLine, '"ClientASN":18446744073709551615')
  t.match(asLine, '"BotScore":1e21')
  t.match(asLine, '{"b":0.10,"a":[1.0]}')
  t.notMatch(asLine, /Nope/)
  t.match(inArray, '18446744073709551615')
  t.same(JSON.parse(inArray ?? ''), JSON.parse(asLine ?? ''))
})

/** Records that are left out, each between two that are not. */
const REJECTED: [what: string, record: string, message: RegExp][] = [
  ['a text', '"a"', /a record is a JSON object/],
  ['a list', '[{"RayID":"a"}]', /a record is a JSON object/],
  ['null', 'null', /a record is a JSON object/],
  ['half an object', '{"RayID":"a"', /comma or the end/],
  ['two objects', '{"RayID":"a"} {"RayID":"b"}', /there is more text after the record/],
  ['a number for a string', '{"RayID":7}', /^RayID must be a string$/],
  ['a text for a number', '{"EdgeResponseStatus":"200"}', /^EdgeResponseStatus must be a number$/],
  ['a number for a boolean', '{"CacheReserveUsed":1}', /^CacheReserveUsed must be true or false$/],
  ['a text for an object', '{"Cookies":"a=b"}', /^Cookies must be an object$/],
  ['an object for a list', '{"BotTags":{}}', /^BotTags must be a list$/],
  ['a text that is no time', '{"EdgeStartTimestamp":"yesterday"}', /^EdgeStartTimestamp must be a time/],
  ['a truth value for a time', '{"EdgeStartTimestamp":true}', /^EdgeStartTimestamp must be a time/],
  ['65 levels', `{"Cookies":${'['.repeat(65)}${']'.repeat(65)}}`, /levels/],
  ['a long one', `{"RayID":"${'a'.repeat(1 << 20)}"}`, /at most 1048576 bytes/],
]

t.test('invalid records are left out and reported with their line', async (t) => {
  const { send, kept } = await reading(t)
  const lines = REJECTED.flatMap(([, record]) => [record, line('ok')])
  const { status, body } = await send(PATH, `${lines.join('\n')}\n`)
  t.equal(status, 202)
  t.equal(body.result.accepted, REJECTED.length)
  for (const [at, [what, , message]] of REJECTED.entries())
    t.match(body.result.rejected[at], { line: at * 2 + 1, message }, what)
  t.notOk('more_rejected' in body.result)
  t.equal((await kept('http_requests', zone(ZONE))).length, REJECTED.length)
})

t.test('a value that is null or a time that is empty fits every field', async (t) => {
  const { send } = await reading(t)
  const fitting =
    '{"RayID":null,"EdgeResponseStatus":null,"Cookies":null,"EdgeStartTimestamp":null,"EdgeEndTimestamp":""}'
  t.match((await send(PATH, fitting)).body.result, { accepted: 1, rejected: [] })
})

t.test('elements of an array are named by their index', async (t) => {
  const { send } = await reading(t)
  const long = `{"RayID":"${'a'.repeat(1 << 20)}"}`
  const { body } = await send(PATH, `[\n${line(1)},\n7,\n${line(2)},{"RayID":1},\n\n${long},${line(3)}]`)
  t.match(body.result, { accepted: 3, rejected: [{ line: 2 }, { line: 4 }, { line: 5, message: /at most/ }] })
})

t.test('a hundred invalid records are listed, the others counted', async (t) => {
  const { send } = await reading(t)
  const { body } = await send(PATH, 'x\n'.repeat(5000))
  t.equal(body.result.rejected.length, 100)
  t.equal(body.result.more_rejected, 4900)
  t.equal(body.result.accepted, 0)
})

/** Bodies that are refused as a whole. */
const REFUSED: [what: string, body: string | Uint8Array, headers: Record<string, string>, status: number][] = [
  ['another content encoding', 'a', { 'content-encoding': 'br' }, 415],
  ['two content encodings', 'a', { 'content-encoding': 'gzip, gzip' }, 415],
  ['no gzip, though declared', line(1), { 'content-encoding': 'gzip' }, 400],
  ['gzip that is cut short', gzipSync(line(1)).subarray(0, -6), {}, 400],
  ['gzip that is damaged', damaged(gzipSync(line(1).repeat(10))), {}, 400],
  ['an array without an end', `[${line(1)}`, {}, 400],
  ['an array that is no JSON', `[${line(1)} ${line(2)}]`, {}, 400],
  ['an array with something behind', `[${line(1)}] 7`, {}, 400],
  ['an array of endless depth', '['.repeat(100_000), {}, 400],
  [
    'an array that is not UTF-8',
    Buffer.concat([Buffer.from('[{"RayID":"'), Buffer.from([0xff]), Buffer.from('"}]')]),
    {},
    400,
  ],
]

function damaged(bytes: Buffer): Buffer {
  bytes[bytes.length - 12] = (bytes.at(-12) ?? 0) ^ 0xff
  return bytes
}

t.test('a body that cannot be read is refused, and the next request is served', async (t) => {
  const { send, kept } = await reading(t)
  for (const [what, body, headers, status] of REFUSED) {
    const response = await send(PATH, body, headers)
    t.match(
      response,
      { status, body: { success: false, result: null, errors: [{ code: status === 400 ? 20303 : 10415 }] } },
      what,
    )
  }
  t.same(await kept('http_requests', zone(ZONE)), [])
  t.match((await send(PATH, line(1))).body.result, { accepted: 1 })
})

t.test('nothing at all is no record', async (t) => {
  const { send } = await reading(t)
  for (const body of ['', '\n\n', '[]', ' [ ] ', gzipSync('')])
    t.match(await send(PATH, body), { status: 202, body: { result: { accepted: 0, rejected: [] } } })
})

t.test('a dataset that is not there, or not for this scope', async (t) => {
  const { send } = await reading(t)
  const missing = { status: 404, body: { errors: [{ code: 20302 }] } }
  t.match(await send(`/zones/${ZONE}/edged/records/nope`, line(1)), missing)
  t.match(await send(`/accounts/${ACCOUNT}/edged/records/http_requests`, line(1)), missing)
  t.match(await send(`/accounts/${ACCOUNT}/edged/records/gateway_dns`, '{"QueryName":"a"}'), {
    status: 202,
    body: { result: { accepted: 1 } },
  })
})

t.test('records go to their own scope', async (t) => {
  const { send, spools, kept } = await reading(t)
  const other = await spools.open('http_requests', zone(OTHER_ZONE))
  await other.cursor('test')
  await (await spools.open('gateway_dns', account(ACCOUNT))).cursor('test')
  await send(PATH, line(1))
  await send(`/zones/${OTHER_ZONE}/edged/records/http_requests`, `${line(2)}\n${line(3)}`)
  t.equal((await kept('http_requests', zone(ZONE))).length, 1)
  t.equal((await kept('http_requests', zone(OTHER_ZONE))).length, 2)
})

t.test('a spool without room refuses, and says what was taken', async (t) => {
  const { send, kept } = await reading(t, { spoolBytes: 3_000_000 })
  const many = `${line('a'.repeat(1000))}\n`.repeat(10_000)
  const response = await send(PATH, many)
  t.match(response, {
    status: 429,
    body: { errors: [{ code: 20304, message: /records up to line \d+ were stored$/ }] },
  })
  t.equal(response.headers.get('retry-after'), '5')
  const taken = Number(/line (\d+)/.exec(response.body.errors[0].message)?.[1])
  t.ok(taken > 100 && taken < 10_000)
  t.equal((await kept('http_requests', zone(ZONE))).length, taken)
  const small = await send(PATH, many.slice(0, 1_000_000))
  t.match(small, { status: 429 })
})

/** A stream of the same bytes again and again. */
function repeated(piece: Uint8Array, times: number): ReadableStream {
  let left = times
  return Readable.toWeb(
    Readable.from(
      (function* () {
        while (left-- > 0) yield piece
      })(),
      { objectMode: false },
    ),
  ) as ReadableStream
}

/** So many copies of a text, packed. */
async function packed(text: string, times: number): Promise<Uint8Array> {
  const pieces = Readable.from(
    (function* () {
      for (let left = times; left > 0; left -= 1024) yield text.repeat(1024)
    })(),
  )
  return Buffer.concat(await pieces.compose(createGzip({ level: 1 })).toArray())
}

t.test('memory stays bounded whatever is sent', async (t) => {
  const { send } = await logpushClient(t)
  const mib = Buffer.alloc(1 << 20, 'a')
  const bomb = await packed(`${line(1).padEnd(1023)}\n`, 60 * 1024)
  const sendAll = async (): Promise<number> => {
    const endless = await send(PATH, repeated(mib, 60))
    t.match(endless, { status: 202, body: { result: { accepted: 0, rejected: [{ line: 1, message: /at most/ }] } } })
    t.match((await send(PATH, bomb)).body.result, { accepted: 60 * 1024, rejected: [] })
    return process.memoryUsage.rss() / (1 << 20)
  }
  // The first times fill what is used again later: memory stops growing after about five rounds.
  let before = 0
  for (let times = 0; times < 4; times++) before = await sendAll()
  const after = Math.min(await sendAll(), await sendAll())
  t.ok(after - before < 40, `grew from ${Math.round(before)} to ${Math.round(after)} MiB`)
})
