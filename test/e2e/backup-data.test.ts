import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t, { type Test } from 'tap'
import { stringify } from 'yaml'
import { testFolder } from '../helpers/folder.js'
import { httpRequest } from '../workers/http-request.js'
import { SKIP as NO_RUNTIME } from '../workers/runtime-helper.js'
import { ACCOUNT, configuration, startDaemon, TOKEN, unbuilt, ZONE, type Daemon } from './daemon.js'
import { edged } from './run-edged.js'
import { call, uploadScript } from './worker-client.js'

const OBJECTS = ['a', 'b', 'c']
const SCRIPT = `import { DurableObject } from 'cloudflare:workers'
export class Ledger extends DurableObject {
  add() {
    const { sql } = this.ctx.storage
    sql.exec('create table if not exists left (n integer primary key, fill text)')
    sql.exec('create table if not exists right (n integer primary key, fill text)')
    return this.ctx.storage.transactionSync(() => {
      const fill = crypto.randomUUID().repeat(20)
      sql.exec('insert into left (fill) values (?)', fill)
      sql.exec('insert into right (fill) values (?)', fill)
      return sql.exec('select max(n) as n from right').one().n
    })
  }
  check() { return this.ctx.storage.sql.exec(${JSON.stringify('select (select count(*) from left) as left, (select count(*) from right) as right, (select max(n) from right) as last')}).one() }
  async later() { await this.ctx.storage.setAlarm(Date.now() + 3600_000); return await this.ctx.storage.getAlarm() }
  alarm() {}
  async alarmAt() { return await this.ctx.storage.getAlarm() }
}
const CHECK = ${JSON.stringify('select (select count(*) from left) as left, (select count(*) from right) as right, (select max(n) from right) as last')}
export default { async fetch(request, env) {
  const [, what, name] = new URL(request.url).pathname.split('/')
  const object = env.LEDGER.getByName(name)
  if (what === 'add') return Response.json(await object.add())
  if (what === 'check') return Response.json(await object.check())
  if (what === 'later') return Response.json(await object.later())
  if (what === 'alarm') return Response.json(await object.alarmAt())
  if (what === 'row') {
    const fill = crypto.randomUUID().repeat(20)
    const insert = (table) => env.DB.prepare('insert into ' + table + ' (fill) values (?)').bind(fill)
    const [, , last] = await env.DB.batch([insert('left'), insert('right'), env.DB.prepare('select max(n) as n from right')])
    return Response.json(last.results[0].n)
  }
  return Response.json((await env.DB.prepare(CHECK).all()).results[0])
} }`

const config = configuration('demo', {
  zones: [{ id: ZONE, account: ACCOUNT, name: 'example.test', origin: 'demo' }],
  control: { listen: '127.0.0.1:0', rate_limit: { requests: 0 } },
})

async function api(daemon: Daemon, method: string, path: string, body: string | object): Promise<{ result: never }> {
  const response = await fetch(`${daemon.control}/accounts/${ACCOUNT}${path}`, {
    method,
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  if (response.status >= 300) throw new Error(`${method} ${path}: ${response.status}`)
  return (await response.json()) as { result: never }
}

const get = async (daemon: Daemon, path: string): Promise<number | Record<string, number>> => {
  const { status, text } = await httpRequest(daemon.proxy, 'ledger.example.test', path)
  if (status !== 200) throw new Error(`${path}: ${status} ${text}`)
  return JSON.parse(text) as number
}

/** Writes to one target, each write after the response to the one before, until it is stopped. */
class Writer {
  /** Number of the last write that was confirmed. */
  confirmed = 0
  readonly #running: Promise<void>
  #stopped = false

  constructor(write: (n: number) => Promise<unknown>) {
    this.#running = (async () => {
      while (!this.#stopped) {
        await write(this.confirmed + 1)
        this.confirmed++
      }
    })()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await this.#running
  }
}

/** Creates the script with its database and key space. Returns the paths that a value is written to. */
async function fill(t: Test, daemon: Daemon): Promise<{ value: string; list: string }> {
  const { uuid } = (await api(daemon, 'POST', '/d1/database', { name: 'ledger' })).result as { uuid: string }
  await api(daemon, 'POST', `/d1/database/${uuid}/query`, {
    sql: 'create table left (n integer primary key, fill text); create table right (n integer primary key, fill text)',
  })
  const uploaded = await uploadScript(
    daemon,
    'ledger',
    {
      compatibility_date: '2026-01-01',
      bindings: [
        { name: 'LEDGER', type: 'durable_object_namespace', class_name: 'Ledger' },
        { name: 'DB', type: 'd1', database_id: uuid },
      ],
      migrations: { new_tag: 'v1', new_sqlite_classes: ['Ledger'] },
    },
    { 'index.js': SCRIPT },
  )
  t.equal(uploaded.status, 200)
  const domain = { hostname: 'ledger.example.test', service: 'ledger', zone_id: ZONE, environment: 'production' }
  t.equal((await call(daemon, 'PUT', '/domains', domain)).status, 200)
  const { id } = (await api(daemon, 'POST', '/storage/kv/namespaces', { title: 'n' })).result as { id: string }
  const made = (await api(daemon, 'POST', '/rules/lists', { name: 'l', kind: 'ip' })).result as { id: string }
  return { value: `/storage/kv/namespaces/${id}/values/key`, list: `/rules/lists/${made.id}` }
}

t.test('D1, Durable Objects, KV and rules under load', { skip: unbuilt || NO_RUNTIME, timeout: 300_000 }, async (t) => {
  const folder = testFolder(t, { one: {}, two: {} })
  const [one, two] = [join(folder, 'one'), join(folder, 'two')]
  const file = join(folder, 'edged.tar')
  const daemon = await startDaemon(t, config, one)
  const { value, list } = await fill(t, daemon)
  const alarm = await get(daemon, '/later/alarmed')
  const writers = new Map([
    ...OBJECTS.map((name) => [`/check/${name}`, new Writer(async () => await get(daemon, `/add/${name}`))] as const),
    ['/rows', new Writer(async () => await get(daemon, '/row'))],
    ['kv', new Writer(async (n) => await api(daemon, 'PUT', value, `${n} ${'x'.repeat(5000)}`))],
    ['list', new Writer(async (n) => await api(daemon, 'PUT', list, { description: String(n) }))],
  ] as const)
  const admin = daemon.admin.replace('http://', '')
  const confirmed = (): Map<string, number> => new Map([...writers].map(([name, { confirmed }]) => [name, confirmed]))
  while ([...confirmed().values()].some((count) => count < 20)) await get(daemon, '/rows')

  const before = confirmed()
  const written = await edged(one, 'backup', file, '-c', 'edged.yaml', '--admin', admin)
  const after = confirmed()
  await Promise.all([...writers.values()].map(async (writer) => await writer.stop()))
  t.match(written, {
    code: 0,
    output:
      /edged\.tar \([\d.]+ [kM]B\): \d+ records, \d+ audit entries, [1-9]\d* blobs \([\d.]+ kB\), 1 D1 database \([\d.]+ [kM]B\), 4 Durable Objects \([\d.]+ [kM]B\)\n$/,
  })
  t.ok(
    [...after].some(([name, count]) => count > before.get(name)!),
    'scripts were served meanwhile',
  )

  await t.test('its contents are listed, without a daemon', async (t) => {
    const { code, output } = await edged(folder, 'backup', '--list', file)
    t.equal(code, 0, output)
    t.match(output, /1 D1 database .*, 4 Durable Objects/)
    t.match(output, / {2}d1 .* 20\d\d-.*Z \w+\/edged-d1\/[0-9a-f]{64}\.sqlite [0-9a-f-]{36} ledger/)
    t.equal(output.match(/ object .*Ledger of ledger/g)?.length, 4)
    t.match(output, / +1 kv_value/)
  })

  await t.test('a changed byte of a database is noticed', async (t) => {
    const bytes = await readFile(file)
    bytes[bytes.indexOf('SQLite format 3') + 100]! ^= 1
    const damaged = join(folder, 'damaged.tar')
    await writeFile(damaged, bytes)
    t.match(await edged(folder, 'backup', '--list', damaged), { code: 1, output: /\.sqlite is not what was written/ })
  })

  await t.test('a daemon elsewhere has all that was confirmed before, each database of one moment', async (t) => {
    await writeFile(join(two, 'edged.yaml'), stringify({ data: './data', ...config }))
    t.match(await edged(two, 'restore', file, '-c', 'edged.yaml'), {
      code: 0,
      output: /^restored .* 1 D1 database \(.*, 4 Durable Objects \(.*; of 20/,
    })
    const restored = await startDaemon(t, config, two)
    for (const path of [...OBJECTS.map((name) => `/check/${name}`), '/rows']) {
      const found = (await get(restored, path)) as Record<'left' | 'right' | 'last', number>
      t.same([found.left, found.right], [found.last, found.last], `${path} has whole transactions`)
      t.ok(found.last >= before.get(path)!, `${path}: ${found.last} of at least ${before.get(path)}`)
    }
    const read = async (path: string): Promise<string> => {
      const response = await fetch(`${restored.control}/accounts/${ACCOUNT}${path}`, {
        headers: { authorization: `Bearer ${TOKEN}` },
      })
      return await response.text()
    }
    const [, count = ''] = /^(\d+) x{5000}$/.exec(await read(value)) ?? []
    t.ok(Number(count) >= before.get('kv')!, `value ${count} of at least ${before.get('kv')}`)
    const { description } = (JSON.parse(await read(list)) as { result: { description: string } }).result
    t.ok(Number(description) >= before.get('list')!, `list ${description} of at least ${before.get('list')}`)
    t.equal(await get(restored, '/alarm/alarmed'), alarm, 'an alarm that is set rings later')
    await get(restored, '/add/a')
    await get(restored, '/row')
  })
})
