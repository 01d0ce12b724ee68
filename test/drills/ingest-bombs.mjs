// Requests whose records cost much more than their bytes. For each: the CPU of one request, and what another account saw
// while eight senders sent it.
import { once, setMaxListeners } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { ACCOUNT, drillFolder, startDaemon, TOKEN, ZONE } from './daemon.mjs'

const OTHER_ACCOUNT = 'b'.repeat(32)
const OTHER_ZONE = 'c'.repeat(32)
const SENDERS = 8
const SECONDS = 5
const IDLE_SECONDS = 2
/** A sender leaves after this time. */
const PATIENCE_MS = 15_000
/** CPU of a daemon that does nothing, in a tenth of a second. */
const QUIET_SECONDS = 0.02
const TICKS_PER_SECOND = 100
/** Limits: what a request may cost, and how much longer the middle request of another account may take. */
const MAX_CPU_SECONDS = 8
const MAX_SLOWER_MS = 25

const LINES = 33_000_000
const bytes = (count, text) => gzipSync(Buffer.alloc(count * text.length, text))
const joined = (...parts) => gzipSync(Buffer.concat(parts.map((part) => Buffer.from(part))))
const members = (count, member) => Buffer.concat(Array.from({ length: count }, () => member))

const RECORDS = `/zones/${ZONE}/edged/records/http_requests`
const FINDINGS = `/accounts/${ACCOUNT}/edged/findings`
const PIPELINE = 'pipeline'

/** What is sent: a function, so that one body at a time is in memory. */
const BODIES = {
  '3 million lines "x"': () => bytes(3_000_000, 'x\n'),
  '33 million lines {}': () => bytes(LINES, '{}\n'),
  'an array of 33 million {}': () => joined('[', Buffer.alloc(LINES * 3, '{},'), '{}]'),
  'an array of an array of 50 million numbers': () => joined('[[', Buffer.alloc(100_000_000, '1,'), '1]]'),
  '100 members of a million blank lines': () => members(100, bytes(1_000_000, '\n')),
}
const TARGETS = { records: RECORDS, findings: FINDINGS, "a pipeline's http source": PIPELINE }

/** Returns the rows of all bombs, or of those whose title contains a text, and the titles of those that passed a limit. */
export async function ingestBombs(only) {
  const rows = []
  const failures = []
  for (const [target, path] of Object.entries(TARGETS)) {
    for (const [name, body] of Object.entries(BODIES)) {
      const title = `${target}, ${name}`
      if (!title.includes(only)) continue
      const { row, isOver } = await measure(path, body())
      rows.push({ target, bomb: name, ...row })
      if (isOver) failures.push(title)
      console.error(`${title}: ${JSON.stringify(row)}`)
    }
  }
  return { rows, failures }
}

async function measure(path, body) {
  const folder = drillFolder()
  const out = join(folder, 'out')
  mkdirSync(out)
  const port = await freePort()
  const daemon = await startDaemon(folder, 'http://127.0.0.1:1', {
    accounts: `, { id: ${OTHER_ACCOUNT}, name: Other }`,
    zones: `  - { id: ${OTHER_ZONE}, account: ${OTHER_ACCOUNT}, name: other.test, origin: "http://127.0.0.1:1" }`,
    more: `logpush: { destinations: { allow_file_under: [${out}] } }
pipelines:
  - { name: bombs, source: { http: '127.0.0.1:${port}' }, dataset: http_requests, destination_conf: 'file:${out}/pipeline', on_invalid: skip }`,
  })
  try {
    for (const zone of [ZONE, OTHER_ZONE]) await createJob(daemon, zone, `file://${out}/${zone}`)
    const bomb = { url: path === PIPELINE ? `http://127.0.0.1:${port}/` : daemon.control + path, body }
    const idle = await neighbour(daemon, IDLE_SECONDS)
    const { status, cpu } = await one(daemon, bomb)
    const ending = new AbortController()
    setMaxListeners(0, ending.signal)
    const sending = Promise.all(Array.from({ length: SENDERS }, () => repeat(bomb, ending.signal)))
    const loaded = await neighbour(daemon, SECONDS)
    ending.abort()
    await sending
    const row = {
      'wire KB': Math.round(body.length / 1024),
      status,
      'CPU s': cpu.toFixed(1),
      'idle p50/p99 ms': shown(idle),
      'other p50/p99 ms': shown(loaded),
      errors: loaded.errors,
    }
    const isOver = cpu > MAX_CPU_SECONDS || loaded.p50 > idle.p50 + MAX_SLOWER_MS || loaded.errors > 0
    return { row, isOver }
  } finally {
    daemon.child.kill('SIGKILL')
  }
}

const shown = ({ p50, p99 }) => `${p50.toFixed(0)}/${p99.toFixed(0)}`

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address()
  server.close()
  await once(server, 'close')
  return port
}

async function createJob(daemon, zone, destination) {
  const job = { destination_conf: destination, dataset: 'http_requests', enabled: true }
  const { status } = await send({
    url: `${daemon.control}/zones/${zone}/logpush/jobs`,
    body: Buffer.from(JSON.stringify(job)),
    type: 'application/json',
  })
  if (status !== 201 && status !== 200) throw new Error(`the job was not created: ${status}`)
}

/** Sends one bomb. Returns its status, and the CPU until the daemon is quiet again or the sender has left for long. */
async function one({ child }, bomb) {
  const before = cpuOf(child.pid)
  const { status } = await send({ ...bomb, timeout: PATIENCE_MS })
  const until = performance.now() + PATIENCE_MS
  for (let last = cpuOf(child.pid); performance.now() < until;) {
    await wait(100)
    const now = cpuOf(child.pid)
    if (now - last < QUIET_SECONDS) break
    last = now
  }
  return { status, cpu: cpuOf(child.pid) - before }
}

async function repeat(bomb, signal) {
  while (!signal.aborted) await send({ ...bomb, signal })
}

/** Sends ten records at a time for another account. */
async function neighbour(daemon, seconds) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const url = `${daemon.control}/zones/${OTHER_ZONE}/edged/records/http_requests`
  const body = Buffer.from('{"RayID":"a","EdgeResponseStatus":200}\n'.repeat(10))
  const times = []
  let errors = 0
  for (const until = performance.now() + seconds * 1000; performance.now() < until;) {
    const began = performance.now()
    const { status } = await send({ url, body, agent })
    times.push(performance.now() - began)
    if (status !== 202) errors++
    await wait(10)
  }
  agent.destroy()
  times.sort((a, b) => a - b)
  return { p50: times[Math.floor(times.length / 2)], p99: times[Math.floor(times.length * 0.99)], errors }
}

/** Sends a body, and resolves with the status of the response, or with what ended the request. */
async function send({ url, body, type = 'application/x-ndjson', agent = false, signal, timeout }) {
  const headers = { authorization: `Bearer ${TOKEN}`, 'content-type': type, 'content-length': body.length }
  return await new Promise((resolve) => {
    const sent = request(url, { method: 'POST', headers, agent, signal }, (response) => {
      response.resume().on('end', () => resolve({ status: response.statusCode }))
      response.on('error', ({ message }) => resolve({ status: message }))
    })
    const leaving = setTimeout(() => sent.destroy(new Error('left')), timeout ?? 2 ** 30)
    sent.on('error', ({ message }) => resolve({ status: message })).on('close', () => clearTimeout(leaving))
    sent.end(body)
  })
}

/** User and system CPU seconds of a process. */
function cpuOf(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'latin1').split(') ')[1].split(' ')
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}
