import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { appendFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { until } from '../helpers/web.js'
import { CLI, unbuilt } from './daemon.js'

const BATCH = 1000
const options = { skip: unbuilt, timeout: 600_000 }

const records = (from: number, count: number): string[] =>
  Array.from(
    { length: count },
    (_, at) => `{"RayID":"r${from + at}","EdgeStartTimestamp":${1506702504433000200n + BigInt(from + at)}}`,
  )
const line = (at: number): string => `{"RayID":"r${at}","EdgeStartTimestamp":${1506702504433000200n + BigInt(at)}}\n`
const batch = (index: number): string => Array.from({ length: BATCH }, (_, at) => line(index * BATCH + at)).join('')

/** `edged run` in a process of its own. */
function start(t: Test, file: string, more: readonly string[] = []) {
  const child = spawn(process.execPath, [CLI, 'run', file, ...more], { env: { PATH: process.env['PATH'] } })
  t.teardown(() => child.kill('SIGKILL'))
  let out = ''
  let reported = ''
  child.stdout.on('data', (text: Buffer) => (out += text.toString()))
  child.stderr.on('data', (text: Buffer) => (reported += text.toString()))
  const ended = once(child, 'close').then(([code]) => code as number | null)
  return {
    child,
    ended,
    reported: () => reported,
    summary: () => JSON.parse(out.trim().split('\n').at(-1) ?? '') as Record<string, number>,
  }
}

/** Takes batches; `status` is asked about each, undefined is never answered. */
async function receiver(t: Test, status: (index: number) => number | undefined | Promise<number | undefined>) {
  const bodies: Buffer[] = []
  const server = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk as Buffer)
      bodies.push(Buffer.concat(chunks))
      const result = await status(bodies.length - 1)
      if (result !== undefined) response.writeHead(result).end()
    })().catch(() => {})
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return { bodies, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/in` }
}

function pipeline(folder: string, to: string, more = '', source = "{ file: ['in-*'] }"): string {
  const file = join(folder, 'p.yaml')
  writeFileSync(
    file,
    `source: ${source}
dataset: http_requests
output_options: { field_names: [RayID, EdgeStartTimestamp] }
max_upload_records: ${BATCH}
destination_conf: ${to}
${more}`,
  )
  return file
}

t.test('a run that is killed again and again goes on with the same batches and loses nothing', options, async (t) => {
  const BATCHES = 12
  const folder = testFolder(t, {
    'in-1.ndjson': records(0, 3500).join('\n'),
    'in-2.ndjson.gz': gzipSync(`${records(3500, 4250).join('\n')}\n`),
    'in-3.json': `[${records(7750, 4250).join(',\n')}]`,
  })
  let child: ChildProcess | undefined
  // By the requests that came so far: killed while one waits for its answer, and right behind an answer.
  const killsBefore = new Set([0, 4, 5, 11])
  const killsBehind = new Set([2, 8, 14])
  const { bodies, url } = await receiver(t, (index) => {
    if (killsBefore.has(index)) {
      child?.kill('SIGKILL')
      return undefined
    }
    if (killsBehind.has(index)) setImmediate(() => child?.kill('SIGKILL'))
    return 200
  })
  const file = pipeline(folder, url)
  let last = start(t, file)
  child = last.child
  let kills = 0
  for (let code = await last.ended; code !== 0; code = await last.ended) {
    if (code !== null) throw new Error(`ended with ${code}: ${last.reported()}`)
    kills += 1
    last = start(t, file, ['--resume'])
    child = last.child
  }
  t.equal(kills, killsBefore.size + killsBehind.size)

  const seen = new Map<string, Buffer>()
  for (const body of bodies) {
    const text = gunzipSync(body).toString()
    const first = seen.get(text)
    if (first) t.ok(first.equals(body), 'what comes again comes byte for byte')
    seen.set(text, body)
  }
  t.equal(seen.size, BATCHES)
  t.ok(bodies.length > BATCHES, 'some came twice')
  t.ok(
    [...seen.keys()].every((text, index) => text === batch(index)),
    'all records, in order',
  )
  const before = bodies.length
  const again = start(t, file, ['--resume'])
  t.equal(await again.ended, 0, again.reported())
  t.equal(bodies.length, before, 'a finished run sends nothing again')
  t.match(again.reported(), /^edged: .*: --resume found no new records, so nothing was sent$/m)
})

t.test(
  'a damaged file is delivered up to the damage, also by runs that are killed, and the next files whole',
  options,
  async (t) => {
    const cut = gzipSync(`${records(2000, 2500).join('\n')}\n`).subarray(0, -8)
    const folder = testFolder(t, {
      'in-1.ndjson': records(0, 2000).join('\n'),
      'in-2.ndjson.gz': cut,
      'in-3.ndjson.gz': Buffer.from([0x1f, 0x8b, 8]),
      'in-4.ndjson': records(4500, 1500).join('\n'),
    })
    let child: ChildProcess | undefined
    const kills = new Set([2, 3, 5, 6])
    const { bodies, url } = await receiver(t, (index) => {
      if (!kills.has(index)) return 200
      child?.kill('SIGKILL')
      return undefined
    })
    const file = pipeline(folder, url, 'in_flight: 1\non_invalid: skip\n')
    let last = start(t, file)
    child = last.child
    for (let code = await last.ended; code === null; code = await last.ended) {
      last = start(t, file, ['--resume'])
      child = last.child
    }
    t.equal(await last.ended, 5)
    const seen = new Map(bodies.map((body) => [gunzipSync(body).toString(), body]))
    t.same(
      [...seen.keys()],
      Array.from({ length: 6 }, (_, index) => batch(index)),
      'all records, in order',
    )
    t.ok(
      bodies.every((body) => seen.get(gunzipSync(body).toString())?.equals(body)),
      'repeated batches have the same bytes',
    )
    t.match(last.summary(), { rejected: 2, damaged: 2, dropped: 0 })
    t.match(last.reported(), /in-3\.ndjson\.gz is damaged behind line 0, byte 0 of its text: unexpected end of file; /)
    t.match(last.reported(), /: 2 damaged inputs were read up to the damage; see the messages above/)
  },
)

t.test('a followed file goes on behind a crash and a stop, through a rotation, without a gap', options, async (t) => {
  const folder = testFolder(t)
  const log = join(folder, 'access.ndjson')
  const { bodies, url } = await receiver(t, () => 200)
  const file = pipeline(folder, url, '', '{ file: access.ndjson, follow: true }')
  const append = (from: number, to: number) => appendFileSync(log, `${records(from, to - from).join('\n')}\n`)
  /** What has arrived; a batch that came again comes once. */
  const arrived = () => [...new Set(bodies.map((body) => gunzipSync(body).toString()))]

  append(0, 2500)
  const killed = start(t, file)
  await until(() => arrived().length === 2)
  killed.child.kill('SIGKILL')
  await killed.ended
  // Nobody follows it while it grows, is rotated, and grows again.
  append(2500, 3200)
  renameSync(log, `${log}.1`)
  append(3200, 3700)

  const stopped = start(t, file, ['--resume'])
  await until(() => arrived().length === 3)
  const refused = start(t, file, ['--resume'])
  t.equal(await refused.ended, 5)
  t.match(refused.reported(), /is in use by another run \(process \d+\); use --state for a second run/)
  t.notMatch(refused.reported(), /continues/)
  append(3700, 4100)
  await until(() => arrived().length === 4)
  stopped.child.kill('SIGTERM')
  t.equal(await stopped.ended, 0, stopped.reported())
  t.equal(
    arrived()[4],
    records(4000, 100)
      .map((text) => `${text}\n`)
      .join(''),
    'a stop sends what is there',
  )

  append(4100, 5200)
  const last = start(t, file, ['--resume'])
  await until(() => arrived().length === 6)
  last.child.kill('SIGTERM')
  t.equal(await last.ended, 0, last.reported())
  t.equal(
    arrived().join(''),
    records(0, 5200)
      .map((text) => `${text}\n`)
      .join(''),
  )
})

t.test('an interrupt stops a run at a batch, and says how to go on', options, async (t) => {
  const folder = testFolder(t, { 'in-1.ndjson': records(0, 3000).join('\n') })
  let open = false
  const { bodies, url } = await receiver(t, (index) => (open || index === 0 ? 200 : undefined))
  const file = pipeline(folder, url, 'in_flight: 1\n')
  const first = start(t, file)
  await until(() => bodies.length === 2)
  first.child.kill('SIGINT')
  t.equal(await first.ended, 5)
  t.ok((first.summary()['seconds'] ?? Infinity) < 60, 'a receiver that keeps silent is not waited for to the end')
  t.match(first.summary(), { delivered: BATCH, batches: 1 })
  t.match(first.reported(), /stopped; undelivered records are kept; --resume continues/)
  open = true
  const second = start(t, file, ['--resume'])
  t.equal(await second.ended, 0, second.reported())
  t.match(second.summary(), { delivered: 2 * BATCH, dropped: 0 })
  t.ok(bodies[1]?.equals(bodies[2]!), 'the batch under way comes again, byte for byte')
  t.equal(gunzipSync(bodies[3]!).toString(), batch(2))
})

t.test('a destination that fails for retry_for ends the run, whenever it would be asked again', options, async (t) => {
  for (const [what, status] of [
    ['refuses', 403],
    ['fails', 503],
  ] as const) {
    const folder = testFolder(t, { 'in-1.ndjson': records(0, 1000).join('\n') })
    const { url } = await receiver(t, () => status)
    // A refusal is tried again after a minute at the earliest: the run ends before.
    const { ended, reported, summary } = start(t, pipeline(folder, url, 'retry_for: 2s'))
    t.equal(await ended, 5, what)
    t.match(reported(), new RegExp(`responded with ${status}; undelivered records are kept`))
    t.match(summary(), { read: 1000, delivered: 0 })
    t.ok((summary()['seconds'] ?? Infinity) < 30, `${what}: before it would be asked again`)
  }
})
