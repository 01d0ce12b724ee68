import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import { WebSocket } from 'ws'
import { silentLog } from '../../src/core/log.js'
import { SCRIPT_SCHEDULES } from '../../src/core/model/worker-routing.js'
import { account } from '../../src/core/scope.js'
import { openMemory } from '../../src/store/memory.js'
import { CronScheduler } from '../../src/workers/triggers/cron.js'
import { HandClock } from '../helpers/hand-clock.js'
import { SKIP, workersDaemon } from './runtime-helper.js'

const skip = { skip: SKIP }

t.test('bindings of a script work, and the API sees the same data', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const { body: kv } = await daemon.api('POST', '/storage/kv/namespaces', { title: 'data' })
  const { body: db } = await daemon.api('POST', '/d1/database', { name: 'db' })
  await daemon.upload(
    'target',
    `import { WorkerEntrypoint } from 'cloudflare:workers'
     export class Admin extends WorkerEntrypoint { add(a, b) { return a + b } }
     export default { fetch() { return new Response('from target') } }`,
  )
  const code = `import { DurableObject } from 'cloudflare:workers'
    import text from './note.txt'
    export class Counter extends DurableObject {
      async next() { const n = ((await this.ctx.storage.get('n')) ?? 0) + 1; await this.ctx.storage.put('n', n); return n }
    }
    const handlers = {
      text: () => text,
      async kv(env) {
        await env.KV.put('a & b', 'value', { metadata: { m: 'ü' }, expirationTtl: 100 })
        await env.KV.put('c', JSON.stringify({ n: 1 }))
        const { value, metadata } = await env.KV.getWithMetadata('a & b')
        const { keys } = await env.KV.list({ prefix: 'a' })
        const many = await env.KV.get(['c', 'none'])
        await env.KV.delete('d')
        return [value, metadata, keys.map(({ name, metadata }) => [name, metadata]), [...many], await env.KV.get('none')]
      },
      async kvLimits(env) {
        const reason = (reading) => reading.then(() => 'read', ({ message }) => message)
        const reads = [env.KV.get([]), env.KV.get(['c'], 'arrayBuffer'), env.KV.get('c', { cacheTtl: 29 }),
          env.KV.get(['c'], { cacheTtl: 29 }), env.KV.get(['c'], { type: 'json', cacheTtl: 30 }), env.KV.get('c', { cacheTtl: 30 })]
        return await Promise.all(reads.map(reason))
      },
      async service(env) { return [await (await env.TARGET.fetch('http://x/')).text(), await env.ADMIN.add(1, 2)] },
      async missing(env) { return await env.MISSING.fetch('http://x/').catch((error) => error.message) },
      counter: async (env) => await env.COUNTER.getByName('one').next(),
      async d1(env) {
        await env.DB.exec('CREATE TABLE IF NOT EXISTS t (a INTEGER, b TEXT)')
        await env.DB.prepare('INSERT INTO t VALUES (?, ?)').bind(1, "it's").run()
        const { results } = await env.DB.prepare('SELECT * FROM t').all()
        return [results, await env.DB.prepare('nonsense').all().catch((error) => error.message.split(':')[0])]
      },
      async limit(env) { return [await env.LIMIT.limit({ key: 'k' }), await env.LIMIT.limit({ key: 'k' })].map((one) => one.success) },
      ai: (env) => { try { return env.AI.run('x') } catch (error) { return error.message } },
      async cache() { const cache = caches.default; const key = new Request('http://x/'); await cache.put(key, new Response('a')); return await (await cache.match(key)).text() },
    }
    export default { async fetch(request, env) { return Response.json(await handlers[new URL(request.url).pathname.slice(1)](env)) } }`
  const metadata = {
    migrations: { new_tag: 'v1', new_sqlite_classes: ['Counter'] },
    bindings: [
      { name: 'KV', type: 'kv_namespace', namespace_id: kv.result.id },
      { name: 'DB', type: 'd1', database_id: db.result.uuid },
      { name: 'TARGET', type: 'service', service: 'target' },
      { name: 'ADMIN', type: 'service', service: 'target', entrypoint: 'Admin' },
      { name: 'MISSING', type: 'service', service: 'absent' },
      { name: 'COUNTER', type: 'durable_object_namespace', class_name: 'Counter' },
      { name: 'LIMIT', type: 'ratelimit', namespace_id: '1', simple: { limit: 1, period: 86_400 } },
      { name: 'AI', type: 'ai' },
    ],
  }
  const note = { name: 'note.txt', body: 'a note', type: 'text/plain' }
  const { result } = await daemon.upload('app', code, metadata, [note])
  t.match(result, { handlers: ['fetch'], named_handlers: [{ name: 'Counter' }] })
  await daemon.domain('app')
  const run = async (what: string) => {
    const { text } = await daemon.get('app.example.test', `/${what}`, { headers: { accept: 'application/json' } })
    return JSON.parse(text) as unknown
  }
  t.equal(await run('text'), 'a note')
  const keys = [['a & b', { m: 'ü' }]]
  t.same(await run('kv'), [
    'value',
    { m: 'ü' },
    keys,
    [
      ['c', '{"n":1}'],
      ['none', null],
    ],
    null,
  ])
  t.same(await run('kvLimits'), [
    'KV GET_BULK failed: 400 1 to 100 keys can be read at once',
    'KV GET_BULK failed: 400 "arrayBuffer" is not "text" or "json"',
    'KV GET failed: 400 cacheTtl must be at least 30 seconds',
    'KV GET_BULK failed: 400 cacheTtl must be at least 30 seconds',
    'read',
    'read',
  ])
  const values = `/storage/kv/namespaces/${kv.result.id}/values`
  t.same((await daemon.api('GET', `${values}/c`)).body, { n: 1 })
  t.same(await run('service'), ['from target', 3])
  t.match(await run('missing'), /no such service/)
  t.same(await run('d1'), [[{ a: 1, b: "it's" }], 'D1_ERROR'])
  t.same(await run('limit'), [true, false])
  t.equal(await run('ai'), 'binding AI (ai) is not available on this server')
  t.equal(await run('cache'), 'a')
  t.equal(await run('counter'), 1)
  const { migrations: _done, ...again } = metadata
  await daemon.upload('app', code, again, [note])
  t.equal(await run('counter'), 2, 'an upload keeps the data of Durable Objects')
  await daemon.restart()
  t.equal(await run('counter'), 3, 'a restart keeps the data of Durable Objects')
})

t.test('fetch reaches the origin of the zone and no private address', skip, async (t) => {
  const origin = createServer((request, response) => response.end(`origin ${request.method} ${request.url}`))
  await new Promise<void>((resolve) => void origin.listen(0, '127.0.0.1', resolve))
  t.teardown(() => void origin.close())
  const { port } = origin.address() as AddressInfo
  const daemon = await workersDaemon(t, { origin: `http://127.0.0.1:${port}` })
  await daemon.upload(
    'app',
    `export default { async fetch(request) {
       const url = new URL(request.url)
       if (url.pathname === '/private') return await fetch('http://127.0.0.1:${port}/')
       const response = await fetch(request)
       return new Response('<' + await response.text() + '>')
     } }`,
  )
  await daemon.domain('app')
  t.equal((await daemon.get('app.example.test', '/x?y')).text, '<origin GET /x?y>')
  const denied = await daemon.get('app.example.test', '/private')
  t.match([denied.status, denied.text], [403, /egress\.allow_cidrs/])
})

t.test('code that does not start is rejected, and the deployed version stays', skip, async (t) => {
  const daemon = await workersDaemon(t)
  const REJECTED: readonly (readonly [what: string, code: string, number: number, message: RegExp])[] = [
    ['an exception', 'throw new Error("boom"); export default {}', 10021, /boom/],
    ['a loop', 'for (;;); export default { fetch() {} }', 10021, /startup/],
    ['a wrong default export', 'export default 5', 10021, /Incorrect type for map entry 'default'/],
    ['no handlers', 'export default {}', 10068, /No event handlers/],
    ['an unknown module', 'import "nope"; export default { fetch() {} }', 10021, /No such module/],
  ]
  for (const [what, code, number, message] of REJECTED) {
    const { status, body } = await daemon.tryUpload('app', code)
    t.match([status, body.errors[0]], [400, { code: number, message, source: { pointer: '/main_module' } }], what)
  }
  for (const code of [
    'const x = 1',
    'const o = { addEventListener() {} }; o.addEventListener("fetch")',
    'addEventListener("none", () => 1)',
  ]) {
    const { status, body } = await daemon.tryUpload('app', code, { body_part: 'script.js' })
    t.match(
      [status, body.errors],
      [400, [{ code: 10068, message: /No event handlers/, source: { pointer: '/body_part' } }]],
      code,
    )
  }
  await daemon.upload('named', 'const name = "fetch"; addEventListener(name, () => 1)', { body_part: 'script.js' })
  const flags = { compatibility_flags: ['no_such_flag'] }
  const { body } = await daemon.tryUpload('app', 'export default { fetch() {} }', flags)
  t.match(body.errors[0], {
    code: 10021,
    message: /No such compatibility flag/,
    source: { pointer: '/compatibility_flags' },
  })
  const old = await daemon.upload(
    'old',
    'addEventListener("fetch", (event) => event.respondWith(new Response("old")))',
    {
      body_part: 'script.js',
    },
  )
  t.match(old.result.handlers, ['fetch'])
  await daemon.domain('old')
  t.equal((await daemon.get('old.example.test')).text, 'old')
})

t.test('a script that does not return is cut, and a script of the same account runs again', skip, async (t) => {
  const daemon = await workersDaemon(t, { more: 'workers: { max_stall: 1s }' })
  await daemon.upload('loop', 'export default { fetch() { for (;;); } }')
  await daemon.upload('good', 'export default { fetch() { return new Response("good") } }')
  await daemon.domain('loop')
  await daemon.domain('good')
  const cut = await daemon.get('loop.example.test', '/', { headers: { accept: 'application/json' } })
  t.match([cut.status, JSON.parse(cut.text)], [503, { error_code: 1102 }])
  t.equal((await daemon.get('good.example.test')).text, 'good')
})

t.test('a tail receives what a script logs, without secrets of the request', skip, async (t) => {
  const daemon = await workersDaemon(t)
  await daemon.upload('app', 'export default { fetch() { console.log("a line", 7); return new Response("ok") } }')
  await daemon.domain('app')
  const { body } = await daemon.api('POST', '/workers/scripts/app/tails', {})
  const client = new WebSocket(body.result.url, 'trace-v1')
  t.teardown(() => client.terminate())
  await once(client, 'open')
  const received = once(client, 'message') as Promise<[Buffer]>
  await daemon.get('app.example.test', '/page', { headers: { authorization: 'Bearer x', cookie: 'a=b' } })
  const [data] = await received
  t.match(JSON.parse(data.toString()), {
    scriptName: 'app',
    outcome: 'ok',
    logs: [{ level: 'log', message: ['a line', 7] }],
    event: {
      request: { url: 'http://app.example.test/page', headers: { authorization: 'REDACTED', cookie: 'REDACTED' } },
    },
  })
})

t.test('a schedule calls its script once per minute that is due', async (t) => {
  const clock = new HandClock()
  const store = openMemory({ folder: '', log: silentLog, clock, retention: { entries: 10 } })
  const schedules = [{ cron: '*/2 * * * *', created_on: '', modified_on: '' }]
  const scope = account('a')
  await store.batch([{ kind: SCRIPT_SCHEDULES, scope, id: 'app', value: { schedules } }])
  const calls: string[] = []
  let reason: string | undefined
  let skipped = 0
  const scheduler = () =>
    new CronScheduler({
      store,
      clock,
      log: silentLog,
      isHere: () => true,
      stopped: () => reason,
      skipped: () => (skipped += 1),
      call: async (_scope, script, { cron, scheduledTime }) =>
        void calls.push(`${script} ${cron} ${new Date(scheduledTime).toISOString()}`),
    })
  const first = scheduler()
  const second = scheduler()
  await clock.advance(2 * 60_000 + 5)
  await Promise.all([first.tick(), second.tick()])
  await first.tick()
  t.same(calls, ['app */2 * * * * 2026-11-21T12:02:00.000Z'], 'two machines run it once')
  await clock.advance(20 * 60_000)
  await first.tick()
  t.equal(calls.length, 4, 'minutes that were missed for more than 5 minutes are skipped')
  reason = 'the script exceeded limits'
  await clock.advance(2 * 60_000)
  await first.tick()
  t.match({ calls: calls.length, skipped }, { calls: 4, skipped: 1 }, 'a script that does not run is not called')
  reason = undefined
  await second.tick()
  t.equal(calls.length, 5, 'another machine that runs the script calls it')
})
