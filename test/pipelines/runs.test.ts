import { appendFileSync, existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { brotliCompressSync, deflateSync, gunzipSync, gzipSync } from 'node:zlib'
import { Redis } from 'ioredis'
import t from 'tap'
import { readConfig } from '../../src/config/load.js'
import { readPipelines } from '../../src/config/pipeline-file.js'
import { PipelineMonitor } from '../../pipelines/logpush/monitor.js'
import { DATASETS } from '../../pipelines/records/index.js'
import { systemClock } from '../../src/core/clock.js'
import { silentLog as log } from '../../src/core/log.js'
import { startPipelines } from '../../src/daemon/pipelines/pipelines.js'
import { destinationChecks } from '../../src/daemon/pipelines/destinations.js'
import { runPipeline } from '../../src/daemon/pipelines/run.js'
import { arrayLines } from '../../pipelines/sources/lines/array-lines.js'
import { streamBytes } from '../../pipelines/sources/lines/byte-source.js'
import { FollowTrail } from '../../pipelines/sources/files/follow-trail.js'
import { LineBlocks, MAX_LINE_BYTES as MOST, type LineBlock } from '../../pipelines/sources/lines/line-blocks.js'
import { redisStreamInput } from '../../pipelines/sources/streams/redis-stream.js'
import { RunStats } from '../../pipelines/sources/intake/run-stats.js'
import { testFolder } from '../helpers/folder.js'
import { MovedClock } from '../helpers/moved-clock.js'
import { NO_REDIS, redisServer } from '../helpers/redis.js'

/** A day that no test runs to the end of. */
const clock = { ...systemClock, now: () => Date.parse('2026-11-21T12:00:00Z') + performance.now() }
const checks = destinationChecks({ clock, log })

async function* pieces(text: string, size: number) {
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

const textsOf = ({ bytes, count, starts, ends }: LineBlock): string[] =>
  Array.from({ length: count }, (_, at) =>
    ends[at]! < 0 ? 'LONG' : Buffer.from(bytes.subarray(starts[at], ends[at])).toString(),
  )

t.test('lines are the same however an input is cut', async (t) => {
  const x = (count: number) => 'x'.repeat(count)
  const inputs = [
    '',
    'a',
    '\n\n',
    'a\nb\n\nc',
    `${x(MOST)}\n${x(MOST + 1)}\nb\n${x(3 * MOST)}\nc`,
    'a\n'.repeat(20_000),
  ]
  for (const [index, text] of inputs.entries()) {
    const expected = text.split('\n').map((line) => (line.length > MOST ? 'LONG' : line))
    if (expected.at(-1) === '') expected.pop()
    for (const size of [65_536, 777_777, 3 * MOST]) {
      const blocks = new LineBlocks(streamBytes(pieces(text, size)))
      const found: string[] = []
      for (let block = await blocks.next(); block; block = await blocks.next()) found.push(...textsOf(block))
      const rest = blocks.rest()
      if (rest) found.push(...textsOf(rest))
      t.ok(found.join('\n') === expected.join('\n') && found.length === expected.length, `input ${index} by ${size}`)
    }
  }
})

t.test('an array becomes lines, and an error has its position', async (t) => {
  const ARRAYS: [input: string, lines: string, message?: RegExp][] = [
    ['[]', ''],
    [' [{"a":1795266000123456789,"b":[1,{}],"c":1e21} , 3]', '{"a":1795266000123456789,"b":[1,{}],"c":1e21}\n3\n'],
    ['{"a":1}', '', /at its beginning/],
    ['[{"a":1}', '{"a":1}\n', /ends midway behind element 1/],
    ['['.repeat(80), '', /cannot be read/],
    [`[{"a":"${'x'.repeat(90)}"},{}]`, `{"a":"${'x'.repeat(75)}`],
  ]
  for (const [input, lines, message] of ARRAYS) {
    for (const size of [1, 1000]) {
      let found = ''
      const read = async () => {
        for await (const chunk of arrayLines(pieces(input, size), 80)) found += Buffer.from(chunk).toString()
      }
      if (message) await t.rejects(read(), { message })
      else await read()
      if (size === 1 && !message) t.ok(found.startsWith(lines), input.slice(0, 40))
    }
  }
})

const RECORDS = Array.from({ length: 3000 }, (_, n) =>
  n % 1000 === 500
    ? 'broken'
    : JSON.stringify({ RayID: `r${n}`, EdgeResponseStatus: 200 + (n % 2) * 300, ClientIP: `a"${n}` }),
)
const EXPECTED = RECORDS.filter((line) => line.includes(':500,'))
  .map((line) => JSON.parse(line) as { RayID: string; ClientIP: string })
  .map(({ RayID, ClientIP }) => `"${RayID}","${ClientIP.replace('"', '""')}",500\n`)
  .join('')

const ran = (folder: string, source: string, destination: string, more = '', state = join(folder, 'state')) => {
  const text = `source: ${source}
dataset: http_requests
filter: { where: { key: EdgeResponseStatus, operator: geq, value: 500 } }
output_options: { output_type: csv, field_names: [RayID, ClientIP, EdgeResponseStatus] }
destination_conf: ${destination}
${more}`
  const [pipeline] = readPipelines(text, join(folder, 'p.yaml'), checks, {})
  const messages: string[] = []
  const stats = new RunStats((place, message) => messages.push(`${place}: ${message}`))
  const stop = new AbortController()
  let tell: (message: string) => void = () => {}
  const listening = new Promise<string>((resolve) => {
    tell = (message) => resolve(message.split(' ').at(-1)!)
  })
  const run = async ({ resume = false } = {}) => {
    // Waits of the product do not keep a process alive by themselves.
    const alive = setInterval(() => {}, 2 ** 30)
    try {
      return await runPipeline(pipeline!, { state, resume, stats, tell, size() {}, stop: stop.signal, clock, log })
    } finally {
      clearInterval(alive)
    }
  }
  return { run, stats, messages, stop: () => stop.abort(), listening }
}

const sorted = (text: string): string => text.split('\n').sort().join('\n')

const written = (folder: string): string =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))
    .sort()
    .map((path) => readFileSync(path))
    .map((bytes) => (bytes[0] === 0x1f ? gunzipSync(bytes) : bytes).toString())
    .join('')

t.test('files of every form come out as a slow reader would write them', async (t) => {
  const ndjson = `${RECORDS.join('\n')}\n`
  const array = `[${RECORDS.filter((line) => line !== 'broken').join(',\n')}]`
  const FORMS: [name: string, content: string | Buffer, rejected: number][] = [
    ['a.ndjson', ndjson, 3],
    ['a.gz', gzipSync(ndjson), 3],
    ['a.json', array, 0],
    ['a.json.gz', gzipSync(array), 0],
  ]
  for (const [name, content, rejected] of FORMS) {
    const folder = testFolder(t, { [name]: content })
    const { run, stats, messages } = ran(
      folder,
      `{ file: '*' }`,
      'file:out/{DATE}?gzip=true',
      'max_upload_records: 1000',
    )
    t.same(await run(), { end: 'done' }, name)
    t.strictSame(readdirSync(join(folder, 'out')), ['20261121'])
    // Batches of one second have names in no order.
    t.equal(sorted(written(join(folder, 'out'))), sorted(EXPECTED), name)
    const kept = EXPECTED.split('\n').length - 1
    t.match(stats, { read: 3000 - 3 + rejected, rejected, kept, delivered: kept, dropped: 0, batches: 2 }, name)
    t.equal(messages.length, rejected)
    if (rejected > 0) t.match(messages[0], `${name}:501: a record is a JSON object`)
    t.strictSame(readdirSync(join(folder, 'state', 'p')), ['cursor.json'], 'only the place in the input is left')
  }
})

t.test('a run that could not deliver goes on with the same batch', async (t) => {
  const folder = testFolder(t, { 'a.ndjson': `${RECORDS.join('\n')}\n` })
  const bodies: string[] = []
  let good = 1
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      bodies.push(gunzipSync(Buffer.concat(chunks)).toString())
      response.writeHead(good-- > 0 ? 200 : 503).end()
    })()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const to = `http://127.0.0.1:${port}/in`
  const more = 'max_upload_records: 1000\nretry_for: 0s'
  const first = ran(folder, '{ file: a.ndjson }', to, more)
  t.match(await first.run(), { end: 'gave_up', message: /503/ })
  good = Infinity
  const second = ran(folder, '{ file: a.ndjson }', to, more)
  t.same(await second.run({ resume: true }), { end: 'done' })
  t.equal(bodies.length, 3)
  t.equal(bodies[1], bodies[2], 'the batch that failed comes again, byte for byte')
  t.equal(`${bodies[0]}${bodies[2]}`, EXPECTED)
  t.equal(first.stats.delivered + second.stats.delivered, EXPECTED.split('\n').length - 1)
})

t.test('the last batch is tried again as well, until it has arrived', async (t) => {
  const folder = testFolder(t, { 'a.ndjson': `${RECORDS.join('\n')}\n` })
  let responses = 0
  let arrived = ''
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      const good = ++responses === 3
      if (good) arrived = gunzipSync(Buffer.concat(chunks)).toString()
      response.writeHead(good ? 200 : 503).end()
    })()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const { run } = ran(folder, '{ file: a.ndjson }', `http://127.0.0.1:${port}/in`)
  t.same(await run(), { end: 'done' })
  t.equal(responses, 3)
  t.equal(arrived, EXPECTED)
})

t.test('a run without input says what is missing, and leaves nothing behind', async (t) => {
  const folder = testFolder(t, { 'a.ndjson': '{}\n' })
  const MISSING: [source: string, message: RegExp][] = [
    ['{ file: b.ndjson }', /^no such file: .*b\.ndjson$/],
    ['{ file: [a.ndjson, b.ndjson] }', /^no such file: .*b\.ndjson$/],
    ["{ file: ['*.gz', 'c*'] }", /^no such file: .*\*\.gz or .*c\*$/],
    [
      "{ redis_stream: 'redis://127.0.0.1:1', key: logs }",
      /^the stream logs of 127\.0\.0\.1:1 cannot be read: .*REFUSED/,
    ],
  ]
  for (const [source, message] of MISSING) await t.rejects(ran(folder, source, 'file:out').run(), { message }, source)
  t.notOk(existsSync(join(folder, 'state')))
  t.same(await ran(folder, "{ file: ['*.ndjson', '*.gz'] }", 'file:out').run(), { end: 'done' }, 'one glob is enough')
})

t.test('a followed file is read through its rotation', async (t) => {
  const folder = testFolder(t, { log: 'a\nb' })
  const path = join(folder, 'log')
  const from = { file: 0, offset: 0, line: 1 }
  const trail = await FollowTrail.open({
    patterns: [path],
    isText: false,
    clock,
    from,
    missing() {},
    lost() {},
    progress() {},
  })
  t.teardown(() => trail.close())
  const found: string[] = []
  const until = async (count: number) => {
    while (found.length < count) {
      const block = await trail.next()
      if (!block) await setTimeout(20)
      if (block) found.push(...textsOf(block).map((text, at) => `${block.line + at}:${text}`))
    }
  }
  await until(1)
  appendFileSync(path, 'b\nc\n')
  await until(3)
  renameSync(path, join(folder, 'log.1'))
  appendFileSync(join(folder, 'log.1'), 'late\n')
  writeFileSync(path, 'new\n')
  await until(5)
  t.same(found, ['1:a', '2:bb', '3:c', '4:late', '1:new'])
})

t.test(
  'a file to follow that is not there yet is waited for, and nothing half written stays beside its place',
  async (t) => {
    const folder = testFolder(t, { state: { p: { 'cursor.json.0123456789ab.tmp': '{"id' } } })
    const { run, stop, listening: waiting } = ran(folder, '{ file: new.ndjson, follow: true }', 'file:out')
    const running = run()
    await waiting
    writeFileSync(join(folder, 'new.ndjson'), `${RECORDS.join('\n')}\n`)
    stop()
    t.same(await running, { end: 'done' })
    t.equal(written(join(folder, 'out')), EXPECTED)
    t.strictSame(
      readdirSync(join(folder, 'state', 'p')).filter((name) => name.startsWith('cursor')),
      ['cursor.json'],
    )
  },
)

t.test('a folder is a destination in each form that a URL of a file can have', async (t) => {
  for (const name of ['plain', 'a b % # {x} é']) {
    const folder = join(testFolder(t, { [name]: { 'a.ndjson': `${RECORDS.join('\n')}\n` } }), name)
    const url = pathToFileURL(folder).pathname
    for (const [at, to] of ['file:0', `file:${url}/1`, `file://${url}/2`, `FILE:///${url.slice(1)}/3`].entries()) {
      t.same(await ran(folder, '{ file: a.ndjson }', to, 'on_invalid: skip').run(), { end: 'done' }, to)
      t.equal(written(join(folder, String(at))), EXPECTED)
    }
  }
})

t.test('a pipeline of the daemon that cannot go on begins again', async (t) => {
  const folder = testFolder(t)
  const text = `pipelines: [{ source: { file: a.ndjson }, dataset: http_requests, destination_conf: 'file:out' }]`
  const config = { ...readConfig('{}', join(folder, 'f.yaml'), {}), data: folder }
  const pipelines = readPipelines(text, join(folder, 'f.yaml'), checks, {})
  const moved = new MovedClock('2026-11-21T12:00:00Z')
  let failures = 0
  const failing = { ...log, error: () => void failures++ } as unknown as typeof log
  const running = startPipelines(
    { ...config, pipelines },
    { clock: moved, log: failing, monitor: new PipelineMonitor([]) },
  )
  await moved.until(() => failures > 1)
  writeFileSync(join(folder, 'a.ndjson'), '{"RayID":"a"}\n')
  await moved.until(() => existsSync(join(folder, 'out')) && written(join(folder, 'out')) !== '', { step: 1000 })
  t.match(written(join(folder, 'out')), /"RayID":"a"/)
  await running.close()
})

t.test('a listener takes records, and stops with all of them delivered', async (t) => {
  const folder = testFolder(t)
  const more = 'on_invalid: skip'
  const { run, stats, stop, listening } = ran(
    folder,
    "{ http: '127.0.0.1:0', token: a-token-of-sixteen }",
    'file:out',
    more,
  )
  const running = run()
  const url = await listening
  const post = async (
    body: string | Uint8Array<ArrayBuffer>,
    token = 'a-token-of-sixteen',
    more: Readonly<Record<string, string>> = {},
  ) => {
    const response = await fetch(url, { method: 'POST', body, headers: { authorization: `Bearer ${token}`, ...more } })
    return { status: response.status, ...((await response.json()) as object) }
  }
  t.match(await post('{}', 'another-one-of-sixteen'), { status: 401 })
  t.match(await post('[{"RayID":"a","EdgeResponseStatus":500}'), { status: 400 })
  t.same(await post('{"RayID":"b","EdgeResponseStatus":502}\nno\n'), {
    status: 202,
    accepted: 1,
    rejected: [{ line: 2, message: 'a record is a JSON object at byte 0' }],
  })
  t.match(await post(new Uint8Array(gzipSync('[{"RayID":"c","EdgeResponseStatus":503}]'))), {
    status: 202,
    accepted: 1,
  })
  for (const [coding, body] of [
    ['deflate', deflateSync('{"RayID":"d","EdgeResponseStatus":504}')],
    ['br', brotliCompressSync('{"RayID":"e","EdgeResponseStatus":505}')],
  ] as const)
    t.match(await post(new Uint8Array(body), undefined, { 'content-encoding': coding }), { status: 202, accepted: 1 })
  t.match(await post('{}', undefined, { 'content-encoding': 'gzip' }), { status: 400 }, 'it is not gzip')
  const unknown = await fetch(url, {
    method: 'POST',
    body: '{}',
    headers: { authorization: 'Bearer a-token-of-sixteen', 'content-encoding': 'compress' },
  })
  t.equal(unknown.status, 415)
  t.match(unknown.headers.get('accept-encoding'), /^gzip, deflate, br/)
  const many = await Promise.all(
    Array.from({ length: 200 }, async (_, n) => await post(`{"RayID":"m${n}","EdgeResponseStatus":200}`)),
  )
  t.ok(
    many.every(({ status }) => status === 202),
    'small requests wait for their turn',
  )
  t.equal((await fetch(url)).status, 405)
  stop()
  t.same(await running, { end: 'done' })
  t.match(written(join(folder, 'out')), /"b",,502\n"c",,503\n"d",,504\n"e",,505\n$/)
  t.equal(stats.rejected, 1)
})

t.test('entries of a Redis stream are acknowledged once they are safe', { skip: NO_REDIS }, async (t) => {
  const folder = testFolder(t, { redis: {} })
  const server = await redisServer(join(folder, 'redis'))
  t.teardown(() => server.kill())
  const client = new Redis(server.url)
  t.teardown(() => client.disconnect())
  for (const [field, value] of [
    ['record', '{"RayID":"a","EdgeResponseStatus":500}'],
    ['other', 'x'],
    ['record', '{"RayID":"b","EdgeResponseStatus":501}'],
  ] as const)
    await client.xadd('requests', '*', field, value)
  const source = `{ redis_stream: '${server.url}', key: requests, consumer: one }`
  const { run, stats, messages, stop } = ran(folder, source, 'file:out', 'on_invalid: skip')
  const running = run()
  for (let tries = 0; tries < 1200; tries++) {
    const groups = (await client.xinfo('GROUPS', 'requests').catch(() => [])) as (string | number)[][]
    const group = groups[0] ?? []
    if (stats.read === 3 && group[group.indexOf('pending') + 1] === 0) break
    await setTimeout(50)
  }
  t.match(await client.xpending('requests', 'edged'), [0])
  stop()
  t.same(await running, { end: 'done' })
  t.equal(written(join(folder, 'out')), '"a",,500\n"b",,501\n')
  t.match(messages, [/^requests \d+-\d+: the entry has no record$/])
})

t.test('entries of a consumer that does not exist any more are taken over', { skip: NO_REDIS }, async (t) => {
  const folder = testFolder(t, { redis: {}, one: {}, two: {} })
  const server = await redisServer(join(folder, 'redis'))
  t.teardown(() => server.kill())
  const client = new Redis(server.url)
  t.teardown(() => client.disconnect())
  await client.xgroup('CREATE', 'requests', 'edged', '0', 'MKSTREAM')
  for (let n = 0; n < 150; n++) await client.xadd('requests', '*', 'record', `{"RayID":"r${n}"}`)
  // As after kill -9: read, and never acknowledged.
  await client.xreadgroup('GROUP', 'edged', 'gone', 'COUNT', 150, 'STREAMS', 'requests', '>')
  await client.xtrim('requests', 'MAXLEN', 148)
  const alive = setInterval(() => {}, 2 ** 30)
  t.teardown(() => clearInterval(alive))
  const stats = new RunStats(() => {})
  const dataset = DATASETS.get('http_requests')!
  const open = async (name: string) => {
    const deps = { dataset, folder: join(folder, name), spoolBytes: 1e8, stats, clock, log }
    const input = await redisStreamInput({ url: server.url, key: 'requests', idleMs: 10, tell() {} }, deps)
    t.teardown(async () => await input.close())
    return input
  }
  const inputs = await Promise.all(['one', 'two'].map(open))
  const pending = async () => ((await client.xpending('requests', 'edged')) as [number])[0]
  while ((await pending()) > 0) await setTimeout(20)
  // One input may have taken over all entries before the other one has read.
  const consumers = async () => ((await client.xinfo('CONSUMERS', 'requests', 'edged')) as string[][]).length
  while ((await consumers()) < 3) await setTimeout(20)
  t.equal(await consumers(), 3, 'two processes on one host have names of their own')
  t.ok(inputs.reduce((sum, { spool }) => sum + spool.end, 0) >= 148)
  t.match(stats, { rejected: 0, lost: 2 })
})
