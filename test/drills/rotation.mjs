// Soak of `edged run` with a followed file: rotation every second under load, a receiver that fails now and then, kill -9
// every few seconds. Nothing may be lost; only batches that were in flight may arrive again, with the same name and bytes.
//
//   npm run drills -- rotation [--seconds 600] [--rate 5000] [--kill-every 15]
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { gunzipSync } from 'node:zlib'
import { table } from '../bench/measure.mjs'
import { drillFolder } from './daemon.mjs'

const CLI = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))
const IN_FLIGHT = 4
/** Of each ten seconds the receiver fails for this many. */
const DOWN_SECONDS = 3
const WRITES_PER_SECOND = 20
/** Number of rotated files that are kept. */
const MAX_ROTATED = 200
const DRAIN_MS = 120_000
const PAD = 'x'.repeat(200)

/** Returns what failed. */
export async function drill(option) {
  const seconds = option('seconds', 60)
  const rate = option('rate', 5000)
  const killEvery = option('kill-every', 15)
  const folder = drillFolder()
  const logs = join(folder, 'logs')
  mkdirSync(logs)
  const receiver = await startReceiver()
  const file = join(folder, 'soak.yaml')
  const document = {
    source: { file: { paths: ['logs/app.log'], follow: true } },
    dataset: 'any',
    output_options: { output_type: 'csv', field_names: ['n'] },
    max_upload_records: 1000,
    max_upload_interval_seconds: 30,
    in_flight: IN_FLIGHT,
    destination_conf: receiver.url,
  }
  writeFileSync(file, JSON.stringify(document))

  let run = startRun(file)
  let written = 0
  const write = (count) => {
    let text = ''
    for (let i = 0; i < count; i++) text += `{"n":${written + i},"pad":"${PAD}"}\n`
    appendFileSync(join(logs, 'app.log'), text)
    written += count
  }
  // What is rotated before the first run has begun is not a content of the file that it follows.
  write(document.max_upload_records)
  while (receiver.distinct === 0) await wait(50)
  let rotations = 0
  let kills = 0
  let lastKill = 0
  const began = performance.now()
  const elapsed = () => (performance.now() - began) / 1000
  while (elapsed() < seconds) {
    write(Math.ceil(rate / WRITES_PER_SECOND))
    receiver.isDown = elapsed() % 10 < DOWN_SECONDS
    if (elapsed() >= rotations + 1) {
      renameSync(join(logs, 'app.log'), join(logs, `app.log.${++rotations}`))
      appendFileSync(join(logs, 'app.log'), '')
      // A rotation keeps some files: what waits that long for its reader is lost by intent.
      if (rotations > MAX_ROTATED) rmSync(join(logs, `app.log.${rotations - MAX_ROTATED}`))
    }
    if (elapsed() - lastKill >= killEvery && seconds - elapsed() > 2) {
      lastKill = elapsed()
      kills++
      run.kill('SIGKILL')
      await run.ended
      run = startRun(file)
    }
    await wait(1000 / WRITES_PER_SECOND)
  }
  receiver.isDown = false
  const until = performance.now() + DRAIN_MS
  // The last records wait for their batch, which the end of the run completes.
  while (receiver.distinct < written - document.max_upload_records && performance.now() < until) await wait(200)
  run.kill('SIGTERM')
  const code = await run.ended
  receiver.close()

  const lost = written - receiver.distinct
  table([
    { what: 'seconds', value: seconds },
    { what: 'records written', value: written },
    { what: 'rotations', value: rotations },
    { what: 'kill -9', value: kills },
    { what: 'requests that failed', value: receiver.failures },
    { what: 'records lost', value: lost },
    { what: 'records in two batches', value: receiver.twice },
    { what: 'batches sent again, the same bytes', value: receiver.again },
    { what: 'batches sent again, other bytes', value: receiver.differing },
    { what: 'lines that are no record', value: receiver.strange },
  ])
  rmSync(folder, { recursive: true, force: true })
  const failures = []
  if (lost > 0) failures.push(`${lost} records are lost`)
  if (receiver.twice > 0) failures.push(`${receiver.twice} records arrived in two batches`)
  if (receiver.differing > 0) failures.push(`${receiver.differing} batches were sent again with other bytes`)
  if (receiver.strange > 0) failures.push(`${receiver.strange} lines are no record`)
  if (receiver.again > kills * IN_FLIGHT)
    failures.push(`${receiver.again} batches were sent again after ${kills} kills`)
  if (code !== 0) failures.push(`the run ended with ${code}: ${run.errors()}`)
  return failures
}

function startRun(file) {
  const child = spawn(process.execPath, [CLI, 'run', '--resume', file], { stdio: ['ignore', 'ignore', 'pipe'] })
  let errors = ''
  child.stderr.on('data', (text) => (errors = (errors + text).slice(-500)))
  const ended = once(child, 'exit').then(([code]) => code)
  return { kill: (signal) => child.kill(signal), ended, errors: () => errors }
}

async function startReceiver() {
  /** By number of the record. */
  let arrived = new Uint8Array(1 << 20)
  const batches = new Map()
  const counts = { distinct: 0, twice: 0, again: 0, differing: 0, failures: 0, strange: 0, isDown: false }
  const take = (body) => {
    for (const line of body.split('\n')) {
      if (line === '') continue
      const n = Number(line)
      if (!Number.isInteger(n) || n < 0) {
        counts.strange++
        continue
      }
      if (n >= arrived.length) {
        const larger = new Uint8Array(Math.max(arrived.length * 2, n + 1))
        larger.set(arrived)
        arrived = larger
      }
      if (arrived[n]++ === 0) counts.distinct++
      else if (arrived[n] === 2) counts.twice++
    }
  }
  const respond = async (request, response) => {
    try {
      const chunks = []
      for await (const chunk of request) chunks.push(chunk)
      if (counts.isDown) {
        counts.failures++
        return void response.writeHead(503).end()
      }
      const body = gunzipSync(Buffer.concat(chunks)).toString()
      const name = request.headers['idempotency-key']
      const digest = createHash('sha256').update(body).digest('base64')
      if (!batches.has(name)) take(body)
      else if (batches.get(name) === digest) counts.again++
      else counts.differing++
      batches.set(name, digest)
      response.writeHead(200).end()
    } catch {
      response.destroy()
    }
  }
  const server = createServer((request, response) => void respond(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return Object.assign(counts, {
    url: `http://127.0.0.1:${server.address().port}/`,
    close: () => server.close().closeAllConnections(),
  })
}
