import { setTimeout as sleep } from 'node:timers/promises'
import t from 'tap'
import { SKIP, workersDaemon, type WorkersDaemon } from './runtime-helper.js'

const skip = { skip: SKIP }

const COUNTER = `import { DurableObject, WorkerEntrypoint, RpcTarget } from 'cloudflare:workers'
class Pair extends RpcTarget { constructor(a) { super(); this.a = a } get first() { return this.a } with(b) { return [this.a, b] } }
export class Counter extends DurableObject {
  async next() { const n = ((await this.ctx.storage.get('n')) ?? 0) + 1; await this.ctx.storage.put('n', n); return n }
  own() { return [this.ctx.id.name, this.ctx.id.toString()] }
  pair(a) { return new Pair(a) }
  call(callback) { return callback(4) }
  fail() { throw new RangeError('too far') }
  async back() { return await this.env.CALLER.twice(21) }
  fetch(request) {
    if (!request.headers.has('upgrade')) return new Response('object ' + request.method + ' ' + request.url)
    const { 0: client, 1: server } = new WebSocketPair()
    server.accept()
    server.addEventListener('message', ({ data }) => { server.send('echo ' + data); server.close() })
    return new Response(null, { status: 101, webSocket: client })
  }
}
export class Named extends WorkerEntrypoint { props() { return this.ctx.props } }
export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url)
    if (pathname === '/throw') throw new Error('boom')
    if (pathname === '/slow') await scheduler.wait(300)
    if (pathname === '/back') return Response.json(await env.COUNTER.getByName('one').back())
    if (pathname === '/body') return new Response(request.body)
    return new Response(String(await env.COUNTER.getByName('one').next()))
  },
}`
const COUNTER_BINDINGS = [{ name: 'COUNTER', type: 'durable_object_namespace', class_name: 'Counter' }]
const MIGRATIONS = { new_tag: 'v1', new_sqlite_classes: ['Counter'] }

const CALLER = `import { WorkerEntrypoint } from 'cloudflare:workers'
const calls = {
  next: (env) => env.COUNTER.getByName('one').next(),
  name: (env) => env.COUNTER.getByName("one").own(),
  id: (env) => { const id = env.COUNTER.idFromName('one'); return [id.name, id.toString()] },
  unnamed: async (env) => { const id = env.COUNTER.newUniqueId(); const [name, text] = await env.COUNTER.get(id).own(); return [name, text === id.toString()] },
  pair: async (env) => { using pair = await env.COUNTER.getByName('one').pair(1); return [await pair.with(2), await pair.first, await env.COUNTER.getByName('one').pair(5).with(6)] },
  call: (env) => env.COUNTER.getByName('one').call((n) => n * n),
  fail: (env) => env.COUNTER.getByName('one').fail().catch((error) => [error.name, error.message]),
  absent: (env) => env.COUNTER.getByName('one').absent().catch((error) => error.message),
  fetch: async (env) => await (await env.COUNTER.getByName('one').fetch('http://object/a?b', { method: 'PUT' })).text(),
  socket: async (env) => {
    const { webSocket } = await env.COUNTER.getByName('one').fetch('http://object/', { headers: { upgrade: 'websocket' } })
    webSocket.accept()
    return await new Promise((resolve) => { webSocket.addEventListener('message', ({ data }) => { resolve(data); webSocket.close() }); webSocket.send('hi') })
  },
  service: async (env) => Number(await (await env.OWNER.fetch('http://owner/')).text()),
  body: async (env) => (await (await env.OWNER.fetch('http://owner/body', { method: 'POST', body: 'x'.repeat(300_000) })).text()).length,
  thrown: (env) => env.OWNER.fetch('http://owner/throw').catch((error) => error.message),
  props: (env) => env.NAMED.props(),
  circle: async (env) => await (await env.OWNER.fetch('http://owner/back')).json(),
}
export default class extends WorkerEntrypoint {
  async fetch(request) {
    const name = new URL(request.url).pathname.slice(1)
    return Response.json((await calls[name]?.(this.env)) ?? 'stateless')
  }
  async twice(n) { await this.env.COUNTER.getByName('other').next(); return n * 2 }
}`
const CALLER_BINDINGS = [
  { name: 'COUNTER', type: 'durable_object_namespace', class_name: 'Counter', script_name: 'owner' },
  { name: 'OWNER', type: 'service', service: 'owner' },
  { name: 'NAMED', type: 'service', service: 'owner', entrypoint: 'Named', props: { a: 1 } },
]

async function deploy(daemon: WorkersDaemon): Promise<void> {
  await daemon.upload('caller', 'export default { fetch() { return new Response("first") } }')
  const bindings = [...COUNTER_BINDINGS, { name: 'CALLER', type: 'service', service: 'caller' }]
  await daemon.upload('owner', COUNTER, { bindings, migrations: MIGRATIONS })
  await daemon.upload('caller', CALLER, { bindings: CALLER_BINDINGS })
  await daemon.domain('caller')
  await daemon.domain('owner')
}

t.test('a script calls objects, services and databases of other processes', skip, async (t) => {
  const daemon = await workersDaemon(t)
  await deploy(daemon)
  const run = async (what: string) => {
    const { text } = await daemon.get('caller.example.test', `/${what}`, { headers: { accept: 'application/json' } })
    return JSON.parse(text) as unknown
  }
  t.equal(await run('next'), 1)
  const id = (await run('id')) as string[]
  t.equal(id[0], 'one')
  t.same(await run('name'), id, 'the object has the same name and id')
  t.same(await run('unnamed'), [null, true])
  t.same(await run('pair'), [[1, 2], 1, [5, 6]], 'objects as results, their properties, and calls in advance')
  t.equal(await run('call'), 16, 'functions as arguments')
  t.same(await run('fail'), ['RangeError', 'too far'])
  t.match(await run('absent'), /does not implement the method "absent"/)
  t.equal(await run('fetch'), 'object PUT http://object/a?b')
  t.equal(await run('socket'), 'echo hi')
  t.equal(await run('service'), 2)
  t.equal(await run('body'), 300_000)
  t.equal(await run('thrown'), 'boom')
  t.same(await run('props'), { a: 1 })
  t.equal(await run('circle'), 42)
})

t.test('uploads pause no script without data, and lose no request of the others', skip, async (t) => {
  const daemon = await workersDaemon(t)
  await deploy(daemon)
  await daemon.upload('other', 'export default { fetch() { return new Response("other") } }')
  await daemon.domain('other')
  const stop = new AbortController()
  const failed: string[] = []
  let counts = 0
  const load = async (host: string, path: string) => {
    while (!stop.signal.aborted) {
      const { status, text } = await daemon.get(`${host}.example.test`, path)
      if (status !== 200) failed.push(`${host}${path} ${status} ${text}`)
      if (path === '/next') counts += 1
    }
  }
  const clients = [load('other', '/'), load('caller', '/next'), load('caller', '/next'), load('owner', '/slow')]
  for (let n = 0; n < 4; n++) {
    const bindings = [...COUNTER_BINDINGS, { name: 'CALLER', type: 'service', service: 'caller' }]
    await daemon.upload('owner', `${COUNTER}\n// ${n}`, { bindings })
    await daemon.upload('caller', `${CALLER}\n// ${n}`, { bindings: CALLER_BINDINGS })
  }
  stop.abort()
  await Promise.all(clients)
  t.same(failed, [])
  const { text } = await daemon.get('caller.example.test', '/next')
  t.ok(Number(text) > counts, 'no count is lost')
})

t.test('calls that requests in flight wait for pass a handover', skip, async (t) => {
  const daemon = await workersDaemon(t)
  // The object waits before it calls back, so that the upload begins in between.
  const owner = COUNTER.replace('async back() {', 'async back() { await scheduler.wait(500);')
  const bindings = [...COUNTER_BINDINGS, { name: 'CALLER', type: 'service', service: 'caller' }]
  await daemon.upload('owner', owner, { bindings, migrations: MIGRATIONS })
  await daemon.upload('caller', CALLER, { bindings: CALLER_BINDINGS })
  await daemon.domain('owner')
  const circle = daemon.get('owner.example.test', '/back')
  await daemon.upload('owner', COUNTER, { bindings })
  t.match(await circle, { status: 200, text: '42' })
})

t.test('an object that does not return stops no script of another process', skip, async (t) => {
  const daemon = await workersDaemon(t, { more: 'workers: { max_stall: 1s }' })
  const bindings = [...COUNTER_BINDINGS, { name: 'CALLER', type: 'service', service: 'caller' }]
  const owner = COUNTER.replace('async back() {', 'async back() { for (;;);')
  await daemon.upload('owner', owner, { bindings, migrations: MIGRATIONS })
  const code = CALLER.replace('const calls = {', 'const calls = { loop: (env) => env.COUNTER.getByName("one").back(),')
  await daemon.upload('caller', code, { bindings: CALLER_BINDINGS })
  await daemon.domain('caller')
  t.equal((await daemon.get('caller.example.test', '/next')).text, '1')
  const looping = daemon.get('caller.example.test', '/loop', { headers: { accept: 'application/json' } })
  t.equal((await daemon.get('caller.example.test', '/')).text, '"stateless"')
  const { status, text } = await looping
  t.match([status, JSON.parse(text)], [500, { error_code: 1101 }])
  t.equal((await daemon.get('caller.example.test', '/next')).text, '2', 'the object is back with its data')
  for (let cuts = 1; cuts < 3; cuts++) await daemon.get('caller.example.test', '/loop')
  t.equal(
    (await daemon.get('caller.example.test', '/next')).status,
    500,
    'after three cuts other scripts cannot call it',
  )
  t.equal((await daemon.get('caller.example.test', '/')).text, '"stateless"')

  const stopped = [{ code: 10902, message: /did not return .* 3 times .* or until the next deployment/ }]
  for (const path of ['settings', 'script-settings', 'deployments'])
    t.match((await daemon.api('GET', `/workers/scripts/owner/${path}`)).body.messages, stopped, path)
  const { body: queue } = await daemon.api('POST', '/queues', { queue_name: 'jobs' })
  const jobs = `/queues/${queue.result.queue_id}`
  const settings = { batch_size: 1, max_retries: 0, max_wait_time_ms: 0 }
  await daemon.api('POST', `${jobs}/consumers`, { type: 'worker', script_name: 'owner', settings })
  await daemon.api('POST', `${jobs}/messages`, { body: 'one', content_type: 'text' })
  const backlog = async () => (await daemon.api('GET', `${jobs}/metrics`)).body.result.backlog_count
  t.equal(await backlog(), 1, 'the message waits')
  const consumer = COUNTER.replace(
    'async fetch(request',
    "queue: (_, env) => env.COUNTER.getByName('one').next(), async fetch(request",
  )
  const { messages } = await daemon.upload('owner', consumer, { bindings })
  t.same(messages, [], 'a deployment ends it')
  while ((await backlog()) !== 0) await sleep(50)
  t.equal((await daemon.get('caller.example.test', '/next')).text, '4', 'the message was delivered once')
})

t.test('databases, and trace events for other processes', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const { body: db } = await daemon.api('POST', '/d1/database', { name: 'db' })
  const { body: kv } = await daemon.api('POST', '/storage/kv/namespaces', { title: 'events' })
  const consumer = `export default { async tail(events, env) {
    const [{ event, logs, scriptName }] = events
    await env.KV.put('seen', JSON.stringify([event.request.url, logs[0].message, typeof logs[0].timestamp]))
  } }`
  await daemon.upload('consumer', consumer, {
    bindings: [{ name: 'KV', type: 'kv_namespace', namespace_id: kv.result.id }],
  })
  const code = `import { DurableObject } from 'cloudflare:workers'
  export class Log extends DurableObject {
    async add() {
      await this.env.DB.exec('CREATE TABLE IF NOT EXISTS t (a INTEGER)')
      const results = await this.env.DB.batch([this.env.DB.prepare('INSERT INTO t VALUES (?)').bind(7), this.env.DB.prepare('SELECT a FROM t')])
      return results[1].results
    }
  }
  export default { async fetch(request, env) { console.log('a line'); return Response.json(await env.LOG.getByName('x').add()) } }`
  await daemon.upload('owner', code, {
    migrations: { new_tag: 'v1', new_sqlite_classes: ['Log'] },
    bindings: [
      { name: 'LOG', type: 'durable_object_namespace', class_name: 'Log' },
      { name: 'DB', type: 'd1', database_id: db.result.uuid },
    ],
    tail_consumers: [{ service: 'consumer' }],
  })
  await daemon.domain('owner')
  t.same(JSON.parse((await daemon.get('owner.example.test', '/')).text), [{ a: 7 }])
  const value = `/storage/kv/namespaces/${kv.result.id}/values/seen`
  while ((await daemon.api('GET', value)).status !== 200) await daemon.get('owner.example.test', '/')
  t.same((await daemon.api('GET', value)).body, ['http://owner.example.test/', ['a line'], 'number'])
})
