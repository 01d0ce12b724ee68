import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { gunzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { testFolder } from '../helpers/folder.js'
import { until } from '../helpers/web.js'
import { configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'

/** More of them: `EDGED_KILLS=50 npx tap --timeout=1200 test/e2e/logpush-crash.test.ts`. */
const KILLS = Number(process.env['EDGED_KILLS'] ?? 4)
const WRITERS = 4
const PER_POST = 100
/** The least that a job can have. */
const PER_BATCH = 1000

/** A batch as it reached the receiver, whether the daemon lived to know or not. */
interface Arrival {
  readonly name: string
  readonly text: string
}

interface Receiver {
  readonly url: string
  readonly arrivals: Arrival[]
  /** What it answers, and how long it waits at most before that. */
  mode: { status: number; waitMs: number }
  /** Answers to batches wait for this. */
  held: Promise<void>
  /** Batches that have come and are not answered. */
  waiting: number
}

async function receiver(t: Test): Promise<Receiver> {
  const arrivals: Arrival[] = []
  const take = async (request: IncomingMessage, response: ServerResponse) => {
    try {
      const body = await buffer(request)
      const { status, waitMs } = made.mode
      const name = String(request.headers['idempotency-key'])
      const isTest = request.headers['content-disposition'] !== undefined
      if (status === 200 && !isTest) arrivals.push({ name, text: gunzipSync(body).toString() })
      made.waiting++
      await wait(Math.random() * waitMs)
      if (!isTest) await made.held
      made.waiting--
      response.writeHead(isTest ? 200 : status).end()
    } catch {
      // The sender was killed: half a body is no arrival.
      response.destroy()
    }
  }
  const server = createServer((request, response) => void take(request, response))
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}/in`
  const made: Receiver = { url, arrivals, mode: { status: 200, waitMs: 150 }, held: Promise.resolve(), waiting: 0 }
  return made
}

const configFor = ({ url }: Receiver, logpush: object = {}): object =>
  configuration('http://127.0.0.1:9', {
    egress: { allow_cidrs: [`127.0.0.1/32:${new URL(url).port}`] },
    logpush: { destinations: { allow_plain_http: true }, ...logpush },
    control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
  })

const call = async (daemon: Daemon, path: string, body: string, type = 'application/json') =>
  await fetch(`${daemon.control}/zones/${ZONE}${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': type },
    body,
  })

const ingest = async (daemon: Daemon, ids: readonly string[], filler = '') =>
  await call(
    daemon,
    '/edged/records/http_requests',
    ids.map((RayID) => JSON.stringify({ RayID, ClientRequestURI: filler })).join('\n'),
    'application/x-ndjson',
  )

async function makeJob(t: Test, daemon: Daemon, { url }: Receiver, more: object = {}): Promise<void> {
  const job = {
    ...more,
    destination_conf: url,
    enabled: true,
    max_upload_records: PER_BATCH,
    output_options: { field_names: ['RayID'], record_template: '{{.RayID}}', record_prefix: '', record_suffix: '\n' },
  }
  const response = await call(daemon, '/logpush/jobs', JSON.stringify(job))
  t.equal(response.status, 200, await response.text())
}

const idsOf = ({ text }: Arrival): string[] => text.match(/[\w-]+/g) ?? []
const numbered = (writer: string, from: number, count: number) =>
  Array.from({ length: count }, (_, i) => `${writer}-${from + i}`)

/** Posts records until the daemon is gone; adds those that were acknowledged. */
async function write(daemon: Daemon, writer: string, acknowledged: Set<string>): Promise<void> {
  try {
    for (let post = 0; ; post += PER_POST) {
      const ids = numbered(writer, post, PER_POST)
      const response = await ingest(daemon, ids)
      if (response.status !== 202) throw new Error(`ingest answered ${response.status}: ${await response.text()}`)
      await response.arrayBuffer()
      for (const id of ids) acknowledged.add(id)
      await wait(20)
    }
  } catch (error) {
    if (!(error instanceof TypeError)) throw error
    // The daemon is gone, as it was to be.
  }
}

t.test(
  'kill -9 during ingest and uploads: nothing acknowledged is lost, and what comes twice is a whole batch as it was',
  { skip: unbuilt, timeout: 600_000 + KILLS * 30_000 },
  async (t) => {
    const folder = testFolder(t)
    const into = await receiver(t)
    const config = configFor(into)
    const acknowledged = new Set<string>()
    let midway = 0
    for (let kill = 0; kill < KILLS; kill++) {
      const daemon = await startDaemon(t, config, folder)
      if (kill === 0) await makeJob(t, daemon, into)
      const names = Array.from({ length: WRITERS }, (_, writer) => `k${kill}w${writer}`)
      const writing = names.map((name) => write(daemon, name, acknowledged))
      const before = into.arrivals.length
      await until(() => into.arrivals.length > before)
      if (kill % 2 === 0) await wait(Math.random() * 500)
      // Every other time an upload is under way for certain: it has arrived, and the daemon never learns of it.
      let release = (): void => {}
      if (kill % 2 === 1) into.held = new Promise((resolve) => (release = resolve))
      if (kill % 2 === 1) await until(() => into.waiting > 0)
      if (into.waiting > 0) midway++
      daemon.signal('SIGKILL')
      await Promise.all([...writing, daemon.ended])
      release()
    }
    const daemon = await startDaemon(t, config, folder)
    // What is behind the last acknowledged record pushes all of them on.
    for (let at = 0; at < PER_BATCH; at += PER_POST) await ingest(daemon, numbered('last', at, PER_POST))
    const missing = () => {
      const there = new Set(into.arrivals.flatMap(idsOf))
      return [...acknowledged].filter((id) => !there.has(id))
    }
    const repeats = () => into.arrivals.length - new Set(into.arrivals.map(({ name }) => name)).size
    const settled = () => missing().length === 0 && repeats() >= Math.floor(KILLS / 2)
    for (let tries = 0; tries < 400 && !settled(); tries++) await wait(300)
    t.strictSame(missing().slice(0, 10), [], `${acknowledged.size} acknowledged records have arrived`)
    t.ok(acknowledged.size > KILLS * PER_POST)

    const texts = new Map<string, string>()
    const owners = new Map<string, string>()
    for (const arrival of into.arrivals) {
      const { name, text } = arrival
      if ((texts.get(name) ?? text) !== text) t.fail('a batch that comes again is the same', { name })
      texts.set(name, text)
      for (const id of idsOf(arrival)) {
        if ((owners.get(id) ?? name) !== name)
          t.fail('no record is in two batches', { id, name, other: owners.get(id) })
        owners.set(id, name)
      }
    }
    t.ok(texts.size >= KILLS, `${into.arrivals.length} arrivals of ${texts.size} batches`)
    t.ok(midway >= Math.floor(KILLS / 2), `${midway} of ${KILLS} kills while an upload was under way`)
    t.ok(repeats() >= Math.floor(KILLS / 2), 'what the daemon never learnt of came again')
  },
)

t.test(
  'what waited for a destination that was down arrives in order with one batch in flight',
  { skip: unbuilt, timeout: 600_000 },
  async (t) => {
    const into = await receiver(t)
    const daemon = await startDaemon(t, configFor(into))
    await makeJob(t, daemon, into, { edged_in_flight: 1 })
    into.mode = { status: 503, waitMs: 0 }
    const all = numbered('down', 0, 20 * PER_BATCH)
    for (let at = 0; at < all.length; at += PER_BATCH) {
      const response = await ingest(daemon, all.slice(at, at + PER_BATCH))
      t.equal(response.status, 202)
    }
    into.mode = { status: 200, waitMs: 10 }
    await until(() => into.arrivals.length >= 20)
    t.strictSame(into.arrivals.flatMap(idsOf), all)
  },
)

t.test(
  'a full spool asks to come again, and takes records once they are delivered',
  { skip: unbuilt, timeout: 600_000 },
  async (t) => {
    const into = await receiver(t)
    const daemon = await startDaemon(t, configFor(into, { retention_bytes: '4MB' }))
    await makeJob(t, daemon, into)
    into.mode = { status: 503, waitMs: 0 }
    let refused: Response | undefined
    let sent = 0
    for (; sent < 100 && refused === undefined; sent++) {
      const response = await ingest(daemon, numbered(`p${sent}`, 0, PER_POST), 'x'.repeat(1000))
      if (response.status !== 202) refused = response
    }
    t.equal(refused?.status, 429)
    t.equal(refused?.headers.get('retry-after'), '5')
    into.mode = { status: 200, waitMs: 0 }
    await until(async () => (await ingest(daemon, ['again'], 'x'.repeat(1000))).status === 202)
  },
)

t.test(
  'a reload tells which settings of log push wait for a restart, and uses the others',
  { skip: unbuilt },
  async (t) => {
    const into = await receiver(t)
    const daemon = await startDaemon(t, configFor(into))
    const next = {
      jobs_per_scope: 0,
      retention_bytes: '1GB',
      uploads: { in_flight: 2, disable_after: '1h' },
      dead_letter: into.url,
    }
    await daemon.reload(configFor(into, next))
    const reported = daemon.lines.filter((line) => line.includes('restart_needed'))
    t.strictSame(
      reported.map((line) => (JSON.parse(line) as { section: string }).section),
      ['logpush.retention_bytes', 'logpush.dead_letter', 'logpush.uploads.in_flight'],
    )
    const response = await call(daemon, '/logpush/jobs', JSON.stringify({ destination_conf: into.url }))
    t.equal(response.status, 403, await response.text())
  },
)
