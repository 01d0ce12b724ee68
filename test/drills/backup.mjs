// A backup of the built daemon under load, a restore in another folder, and a comparison: each database has whole
// transactions only, and all that was confirmed before the backup began.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { table } from '../bench/measure.mjs'
import { ACCOUNTS, startWorkersDaemon } from '../bench/workers-daemon.mjs'

const CLI = fileURLToPath(new URL('../../dist/src/cli.js', import.meta.url))
const OBJECTS = ['a', 'b', 'c', 'd']
const D1_WRITERS = 3
const MAX_MEBIBYTES = 700
const CHECK =
  'select (select count(*) from left) as left, (select count(*) from right) as right, (select max(n) from right) as last'
const TABLES =
  'create table if not exists left (n integer primary key, fill text); create table if not exists right (n integer primary key, fill text)'
const SCRIPT = `import { DurableObject } from 'cloudflare:workers'
const CHECK = ${JSON.stringify(CHECK)}
const fill = () => crypto.randomUUID().repeat(20)
export class Ledger extends DurableObject {
  constructor(ctx, env) { super(ctx, env); ctx.storage.sql.exec(${JSON.stringify(TABLES)}) }
  add() {
    const { sql } = this.ctx.storage
    return this.ctx.storage.transactionSync(() => {
      sql.exec('insert into left (fill) values (?)', fill())
      sql.exec('insert into right (fill) values (?)', fill())
      return sql.exec('select max(n) as n from right').one().n
    })
  }
  check() { return this.ctx.storage.sql.exec(CHECK).one() }
}
export default { async fetch(request, env) {
  const [, what, name] = new URL(request.url).pathname.split('/')
  if (what === 'object') return Response.json(await env.LEDGER.getByName(name).add())
  if (what === 'check') return Response.json(await env.LEDGER.getByName(name).check())
  if (what === 'rows') return Response.json((await env.DB.prepare(CHECK).all()).results[0])
  const insert = (table) => env.DB.prepare('insert into ' + table + ' (fill) values (?)').bind(fill())
  const [, , last] = await env.DB.batch([insert('left'), insert('right'), env.DB.prepare('select max(n) as n from right')])
  return Response.json(last.results[0].n)
} }`

const agent = new Agent({ keepAlive: true, maxSockets: 64 })

export async function drill(option) {
  const folder = mkdtempSync(join(tmpdir(), 'edged-drills-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  for (const name of ['one', 'two']) mkdirSync(join(folder, name))
  let daemon = await startWorkersDaemon(join(folder, 'one'))
  const paths = await filled(daemon, option('mebibytes', 32))
  const targets = targetsOf(daemon, paths)
  const load = new Load(targets)
  await wait(option('seconds', 5) * 1000)
  const quiet = load.take()

  const before = load.confirmed()
  const memory = watchMemory(daemon.child.pid)
  const file = join(folder, 'edged.tar')
  const began = performance.now()
  const written = await edged('backup', file, '-c', join(folder, 'one', 'edged.yaml'), '--admin', daemon.admin)
  const seconds = (performance.now() - began) / 1000
  const busy = load.take()
  const mebibytes = memory.stop()
  await load.stop()
  await daemon.stop()
  const failures = []
  if (written.code !== 0) return [`the backup failed: ${written.output}`]
  console.error(written.output.trim())
  if (load.failed > 0) failures.push(`${load.failed} writes failed`)
  if (busy.count === 0) failures.push('nothing was written during the backup')
  if (mebibytes > MAX_MEBIBYTES) failures.push(`the daemon took ${mebibytes} MiB`)

  daemon = await startWorkersDaemon(join(folder, 'two'))
  await daemon.stop()
  rmSync(join(folder, 'two', 'data'), { recursive: true })
  const restored = await edged('restore', file, '-c', join(folder, 'two', 'edged.yaml'))
  if (restored.code !== 0) return [...failures, `the restore failed: ${restored.output}`]
  console.error(restored.output.trim())
  daemon = await startWorkersDaemon(join(folder, 'two'))
  let kept = 0
  for (const { name, read } of targetsOf(daemon, paths)) {
    const found = await read()
    if (found.isTorn) failures.push(`${name} has a part of a transaction: ${JSON.stringify(found)}`)
    if (!(found.last >= before.get(name))) failures.push(`${name} has ${found.last} of ${before.get(name)} writes`)
    kept += found.last - before.get(name)
  }
  await daemon.stop()
  agent.destroy()
  table([
    { load: 'before', ...quiet.row },
    { load: 'during the backup', ...busy.row },
  ])
  const size = (statSync(file).size / 2 ** 20).toFixed(1)
  table([
    { 'archive MiB': size, s: seconds.toFixed(2), 'daemon MiB': mebibytes, 'writes made during it that it has': kept },
  ])
  return failures
}

/** Creates what is written to. */
async function filled(daemon, mebibytes) {
  const api = async (method, path, body) => {
    const headers = { 'content-type': 'application/json' }
    const init = { body: typeof body === 'string' ? body : JSON.stringify(body), headers }
    const { status, body: result } = await daemon.call(method, path, init)
    if (status >= 300) throw new Error(`${method} ${path}: ${status} ${JSON.stringify(result)}`)
    return result.result
  }
  const account = `/accounts/${ACCOUNTS[0]}`
  const { uuid } = await api('POST', `${account}/d1/database`, { name: 'ledger' })
  const rows = `with recursive c(n) as (select 1 union all select n + 1 from c where n < ${mebibytes * 100}) insert into other select hex(randomblob(5000)) from c`
  await api('POST', `${account}/d1/database/${uuid}/query`, { sql: `${TABLES}; create table other (fill text)` })
  await api('POST', `${account}/d1/database/${uuid}/query`, { sql: rows })
  const { id } = await api('POST', `${account}/storage/kv/namespaces`, { title: 'n' })
  const { status } = await daemon.upload('ledger', SCRIPT, {
    bindings: [
      { name: 'LEDGER', type: 'durable_object_namespace', class_name: 'Ledger' },
      { name: 'DB', type: 'd1', database_id: uuid },
    ],
    migrations: { new_tag: 'v1', new_sqlite_classes: ['Ledger'] },
  })
  if (status !== 200) throw new Error(`upload: ${status}`)
  await daemon.domain('ledger', 'ledger.bench.test')
  return {
    value: `${account}/storage/kv/namespaces/${id}/values/key`,
    rules: `/zones/${ACCOUNTS[0]}/rulesets/phases/http_request_firewall_custom/entrypoint`,
  }
}

/** What is written, with `write(n)`, and `read` of the last write. */
function targetsOf(daemon, { value, rules }) {
  const script = async (path) => {
    const { status, text } = await request(daemon.port, path)
    if (status !== 200) throw new Error(`${path}: ${status}`)
    return JSON.parse(text)
  }
  const ledger = async (path) => {
    const { left, right, last } = await script(path)
    return { left, right, last, isTorn: left !== last || right !== last }
  }
  const put = async (path, body) => {
    const { status } = await daemon.call('PUT', path, { body, headers: { 'content-type': 'application/json' } })
    if (status !== 200) throw new Error(`PUT ${path}: ${status}`)
  }
  const ruleOf = (n) => ({ description: `n${n}`, action: 'block', expression: 'http.request.uri.path eq "/no"' })
  return [
    ...OBJECTS.map((name) => ({
      name: `object ${name}`,
      write: async () => await script(`/object/${name}`),
      read: async () => await ledger(`/check/${name}`),
    })),
    {
      name: 'D1',
      writers: D1_WRITERS,
      write: async () => await script('/row'),
      read: async () => await ledger('/rows'),
    },
    {
      name: 'KV',
      write: async (n) => await put(value, JSON.stringify({ n, fill: 'x'.repeat(5000) })),
      read: async () => ({ last: (await daemon.call('GET', value)).body.n }),
    },
    {
      name: 'rules',
      write: async (n) => await put(rules, JSON.stringify({ rules: [ruleOf(n)] })),
      read: async () => ({ last: Number((await daemon.call('GET', rules)).body.result.rules[0].description.slice(1)) }),
    },
  ]
}

/** Writes to all targets, each writer after the response to its last write. */
class Load {
  failed = 0
  #confirmed
  #running
  #stopped = false
  #times = []
  #since = performance.now()

  constructor(targets) {
    this.#confirmed = new Map(targets.map(({ name }) => [name, 0]))
    this.#running = targets.flatMap(({ name, write, writers = 1 }) =>
      Array.from({ length: writers }, async () => await this.#write(name, write)),
    )
  }

  async #write(name, write) {
    while (!this.#stopped) {
      const began = performance.now()
      try {
        await write(this.#confirmed.get(name) + 1)
        this.#confirmed.set(name, this.#confirmed.get(name) + 1)
      } catch (error) {
        this.failed++
        console.error(String(error))
        await wait(50)
      }
      this.#times.push(performance.now() - began)
    }
  }

  /** How many writes of each target were confirmed. */
  confirmed() {
    return new Map(this.#confirmed)
  }

  /** Returns the writes since the last call. */
  take() {
    const times = this.#times.splice(0).sort((a, b) => a - b)
    const seconds = (performance.now() - this.#since) / 1000
    this.#since = performance.now()
    const at = (share) => (times[Math.floor(times.length * share)] ?? 0).toFixed(1)
    return {
      count: times.length,
      row: {
        'writes/s': Math.round(times.length / seconds),
        'p50 ms': at(0.5),
        'p99 ms': at(0.99),
        'max ms': at(0.99999),
      },
    }
  }

  async stop() {
    this.#stopped = true
    await Promise.all(this.#running)
  }
}

/** Notes the largest resident memory of a process. */
function watchMemory(pid) {
  let most = 0
  const look = () => {
    const [, kibibytes = '0'] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1')) ?? []
    most = Math.max(most, Math.round(Number(kibibytes) / 1024))
  }
  const timer = setInterval(look, 50)
  return {
    stop() {
      clearInterval(timer)
      look()
      return most
    },
  }
}

async function edged(...args) {
  const child = spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', 'pipe', 'pipe'] })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk))
  const code = await new Promise((resolve) => child.once('close', resolve))
  return { code, output }
}

const wait = async (ms) => await new Promise((resolve) => setTimeout(resolve, ms))

async function request(port, path) {
  return await new Promise((resolve) => {
    get({ port, path, headers: { host: 'ledger.bench.test' }, agent }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode, text }))
      response.on('error', () => resolve({ status: 0, text: '' }))
    }).on('error', () => resolve({ status: 0, text: '' }))
  })
}
