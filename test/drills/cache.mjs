// The disk tier of the cache under kill -9 and on a full disk: no response may have a wrong byte.
import { execFileSync, fork, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { table } from '../bench/measure.mjs'

const CLI = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))
const HOST = 'drill.test'
const CONCURRENCY = 32
const KILLS = 4
const COUNT_MS = 1000
/** Bytes of the small disk, and of the cache that believes in more. */
const SMALL_DISK = '8m'
const LARGE_LIMIT = '1GB'

/** --objects N (10,000), --full-objects N (2,000). */
export async function drill(option) {
  const objects = option('objects', 10_000)
  const folder = mkdtempSync(join(tmpdir(), 'edged-drill-'))
  const origin = fork(new URL('./cache-origin.mjs', import.meta.url))
  const [{ port }] = await once(origin, 'message')
  try {
    const rows = [await killed({ folder: join(folder, 'kill'), port, objects })]
    const small = join(folder, 'small')
    if (mounted(small)) {
      try {
        rows.push(await full({ folder: join(folder, 'full'), small, port, objects: option('full-objects', 2000) }))
      } finally {
        execFileSync('umount', ['--lazy', small])
      }
    } else console.log('full disk: skipped, a small tmpfs cannot be mounted here')
    table(rows.map(({ failures: _failures, ...row }) => row))
    return rows.flatMap(({ failures }) => failures)
  } finally {
    origin.disconnect()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The body of a path, as the origin has it. */
export function bodyOf(path) {
  const seed = createHash('sha256').update(path).digest('hex')
  return seed.repeat(1 + (parseInt(seed.slice(0, 4), 16) % 600))
}

async function killed({ folder, port, objects }) {
  mkdirSync(folder)
  const config = configuration(port, { folder: './files', bytes: LARGE_LIMIT })
  const paths = Array.from({ length: objects }, (_, i) => `/object/${i}`)
  const part = Math.ceil(objects / KILLS)
  for (let n = 0; n < KILLS; n++) {
    const daemon = await start(folder, config)
    // Nothing is written before the files have been counted.
    await wait(COUNT_MS)
    const mine = paths.slice(n * part, (n + 1) * part)
    let done = 0
    // While half of them are being fetched and written.
    const count = () => ++done === Math.floor(mine.length / 2) && daemon.child.kill('SIGKILL')
    await each(mine, async (path) => await get(daemon.port, path).then(count, count))
    await daemon.ended
  }
  const daemon = await start(folder, config)
  const { wrong, hits, failed } = await compared(daemon.port, paths)
  daemon.child.kill('SIGTERM')
  await daemon.ended
  const failures = [
    ...(wrong > 0 ? [`kill -9: ${wrong} responses with wrong bytes`] : []),
    ...(failed > 0 ? [`kill -9: ${failed} requests failed after the restart`] : []),
    ...(hits === 0 ? ['kill -9: no response survived'] : []),
  ]
  return { drill: `kill -9, ${KILLS} times`, objects, wrong, failed, 'from disk': hits, failures }
}

async function full({ folder, small, port, objects }) {
  mkdirSync(folder)
  const daemon = await start(folder, configuration(port, { folder: small, bytes: LARGE_LIMIT }))
  const paths = Array.from({ length: objects }, (_, i) => `/full/${i}`)
  const first = await compared(daemon.port, paths)
  const again = await compared(daemon.port, paths)
  const isReported = daemon.text().includes('"event":"cache_disk_full"')
  daemon.child.kill('SIGKILL')
  await daemon.ended
  const next = await start(folder, configuration(port, { folder: small, bytes: LARGE_LIMIT }))
  const after = await compared(next.port, paths)
  next.child.kill('SIGTERM')
  await next.ended
  const rounds = [first, again, after]
  const sum = (member) => rounds.reduce((total, round) => total + round[member], 0)
  const failures = [
    ...(sum('wrong') > 0 ? [`full disk: ${sum('wrong')} responses with wrong bytes`] : []),
    ...(sum('failed') > 0 ? [`full disk: ${sum('failed')} requests failed`] : []),
    ...(isReported ? [] : ['full disk: the log has no cache_disk_full']),
  ]
  const row = { drill: `full disk of ${SMALL_DISK}, then kill -9`, objects, wrong: sum('wrong'), failed: sum('failed') }
  return { ...row, 'from disk': after.hits, failures }
}

/** Whether a small file system is there now. */
function mounted(folder) {
  mkdirSync(folder)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${SMALL_DISK}`, 'tmpfs', folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}

async function compared(port, paths) {
  const counts = { wrong: 0, hits: 0, failed: 0 }
  await each(paths, async (path) => {
    const got = await get(port, path).catch(() => undefined)
    if (!got || got.status !== 200) counts.failed++
    else if (got.body !== bodyOf(path)) counts.wrong++
    else if (got.cache === 'HIT') counts.hits++
  })
  return counts
}

async function each(paths, visit) {
  let next = 0
  const worker = async () => {
    while (next < paths.length) await visit(paths[next++])
  }
  await Promise.all(Array.from({ length: CONCURRENCY }, worker))
}

const agent = new Agent({ keepAlive: true, maxSockets: CONCURRENCY })

async function get(port, path) {
  return await new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path, agent, headers: { host: HOST } }, (response) => {
      let body = ''
      response.setEncoding('latin1').on('data', (text) => (body += text))
      response.on('end', () =>
        resolve({ status: response.statusCode, cache: response.headers['cf-cache-status'], body }),
      )
      response.on('error', reject)
    })
    asked.on('error', reject).end()
  })
}

async function start(folder, config) {
  writeFileSync(`${folder}/edged.yaml`, config)
  const child = spawn(process.execPath, [CLI, 'serve', '-c', `${folder}/edged.yaml`], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  process.on('exit', () => child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  let text = ''
  const ready = new Promise((resolve, reject) => {
    child.stdout.on('data', (chunk) => {
      text += chunk
      const line = text.split('\n').find((one) => one.includes('"event":"ready"') && one.endsWith('}'))
      if (line) resolve(Number(new URL(JSON.parse(line).proxy).port))
    })
    void ended.then(() => reject(new Error(`the daemon did not start: ${text}`)))
  })
  return { child, ended, port: await ready, text: () => text }
}

const configuration = (origin, disk) => `data: ./data
proxy: { listen: "127.0.0.1:0" }
control: { listen: "127.0.0.1:0" }
admin: { listen: "127.0.0.1:0" }
accounts: [{ id: 023e105f4ecef8ad9ca31a8372d0c353, name: Drills }]
cache: ${JSON.stringify({ memory: '1MB', disk })}
zones:
  - { id: ${'a'.repeat(32)}, account: 023e105f4ecef8ad9ca31a8372d0c353, name: ${HOST}, origin: "http://127.0.0.1:${origin}", cache: everything }
`
