/** Modules that misbehave: they harm nothing but their own records, and the run goes on. */
import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import type { AddressInfo } from 'node:net'
import { once } from 'node:events'
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import t from 'tap'
import { NO_RUNTIME, transformed } from './transform-helper.js'

/** More than one call of the module has. */
const GOOD = Array.from({ length: 300 }, (_, n) => `{"n":${n}}\n`).join('')

/** What a module does with the first record of the input. */
const ATTACKS: Readonly<Record<string, readonly [code: string, message: RegExp]>> = {
  'an endless loop': ['for (;;);', /did not end within 1 s/],
  'an endless regular expression': ["/(a*)*b/.test('a'.repeat(40))", /did not end within 1 s/],
  'arrays until the heap is full': [
    'const all = []; for (;;) all.push(new Array(1e6).fill({}))',
    /did not end within 1 s|memory|the runtime of the module/,
  ],
  'buffers outside of the heap': [
    'const all = []; for (;;) all.push(new Uint8Array(2e7).fill(1))',
    /more than 384 MiB of memory|did not end within 1 s/,
  ],
  'a promise that never settles': ['return new Promise(() => {})', /never settles/],
  'a promise that settles too late': ['return scheduler.wait(60_000)', /did not end within 1 s/],
  'a million records': ['return new Array(1e6).fill(record)', /returned 1000000 records; the maximum is 10000/],
  'records of many megabytes': [
    "return new Array(9999).fill({ text: 'x'.repeat(1e5) })",
    /returned more than 8388608 characters/,
  ],
  'one record of megabytes': ["return { text: 'x'.repeat(2 ** 21) }", /longer than 1048576 characters/],
  'a cycle': ['record.self = record; return record', /circular structure/],
  'a getter that throws': ["return { get a() { throw new Error('from a getter') } }", /from a getter/],
  'toJSON that throws': ['return { toJSON() { throw null } }', /null/],
  'toJSON without a value': ['return { toJSON() {} }', /not an object as JSON/],
  'an error that cannot be shown': ['throw { toString() { throw 1 } }', /error without a message/],
  'a proxy as an error': ['throw new Proxy({}, { get() { throw 1 } })', /error without a message/],
  'a deep object': [
    'let deep = {}; for (let level = 0; level < 1e5; level++) deep = { deep }; return deep',
    /RangeError|more than 64 levels/,
  ],
  'the end of the process': ['process.exit(0)', /failed/],
  'a response of its own': [
    "JSON.stringify = () => '0\\n0\\n0\\n'; Array.isArray = () => true; return 5",
    /not an object/,
  ],
  'code in a text': ["return { a: eval('1') }", /EvalError|Code generation/],
}

for (const [name, [code, message]] of Object.entries(ATTACKS))
  t.test(`${name} makes at most the records of its call invalid`, { skip: NO_RUNTIME }, async (t) => {
    const { run, folder } = transformed(
      t,
      `export default { record(record) { if (record.n === -1) { ${code} } return record } }`,
    )
    const { records, invalid, stats } = await run(`{"n":-1}\n${GOOD}`)
    t.match(invalid[0], message)
    t.equal(records.length + invalid.length, 301, 'each record is delivered or counted as invalid')
    t.equal(stats.rejected, invalid.length)
    t.ok(
      records.some(({ n }) => n === 299),
      'the run goes on',
    )
    t.ok(invalid.length <= 256)
    const state = createHash('sha256').update(join(folder, 'state/p/transform/p')).digest('hex').slice(0, 8)
    t.same(
      readdirSync(tmpdir()).filter((entry) => entry.startsWith(`edged-${state}`)),
      [],
      'no folder is left',
    )
  })

t.test('nothing connects to an address', { skip: NO_RUNTIME }, async (t) => {
  const server = createServer((socket) => socket.destroy())
  let connections = 0
  server.on('connection', () => connections++)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const WAYS = [
    `await fetch('http://127.0.0.1:${port}/')`,
    `await fetch('http://localhost:${port}/', { method: 'POST', body: JSON.stringify(record) })`,
    `await fetch('http://169.254.169.254/latest/meta-data/')`,
    `await fetch('http://[::1]:${port}/')`,
    `const { connect } = await import('cloudflare:sockets'); await connect('127.0.0.1:${port}').opened`,
    `const { connect } = await import('node:net'); await new Promise((resolve, reject) => connect(${port}, '127.0.0.1').on('connect', resolve).on('error', reject))`,
    `const { get } = await import('node:http'); await new Promise((resolve, reject) => get('http://127.0.0.1:${port}/', resolve).on('error', reject))`,
    `const { lookup } = await import('node:dns/promises'); await lookup('example.com')`,
    `await new Promise((resolve, reject) => { const s = new WebSocket('ws://127.0.0.1:${port}/'); s.onopen = resolve; s.onerror = () => reject(new Error('closed')) })`,
    `await caches.default.put('http://127.0.0.1:${port}/', new Response('x'))`,
  ]
  const cases = WAYS.map((way, n) => `case ${n}: { ${way}; return { reached: ${n} } }`).join('\n')
  const { run } = transformed(
    t,
    `export default { async record(record) { switch (record.n) { ${cases} } return record } }`,
  )
  // A way that ends its call must not hide the others.
  for (const [n, way] of WAYS.entries()) {
    const { records } = await run(`{"n":${n}}\n{"n":100}\n`)
    t.notOk(
      records.some(({ reached }) => reached === n),
      way,
    )
  }
  t.equal(connections, 0)
})

t.test('a module sees no environment, no files and no other module', { skip: NO_RUNTIME }, async (t) => {
  const { run, folder } = transformed(
    t,
    `import { readFileSync, readdirSync } from 'node:fs'
const tried = (work) => { try { return work() } catch (error) { return 'threw' } }
export default { record: ({ path }) => ({
  environment: Object.keys(process.env).length,
  file: tried(() => readFileSync(path, 'utf8')),
  passwd: tried(() => readFileSync('/etc/passwd', 'utf8')),
  root: tried(() => readdirSync('/').filter((name) => name === 'etc' || name === 'root')),
}) }`,
  )
  const { records } = await run(`${JSON.stringify({ path: join(folder, 'in.ndjson') })}\n`)
  t.same(records, [{ environment: 0, file: 'threw', passwd: 'threw', root: [] }])
})

t.test('changed built-in objects are a matter of the module alone', { skip: NO_RUNTIME }, async (t) => {
  const POLLUTED: readonly [code: string, delivered: boolean][] = [
    ['JSON.parse = JSON.stringify = () => { throw 1 }; globalThis.Response = undefined', true],
    ['String.prototype.slice = String.prototype.indexOf = RegExp.prototype.exec = () => { throw 1 }', true],
    ['Array.isArray = () => true; Object.keys = () => []; Request.prototype.text = () => 0', true],
    ['Array.prototype[Symbol.iterator] = Array.prototype.push = () => { throw 1 }', true],
    ['Object.prototype.then = (resolve) => resolve(1)', false],
    ['Object.prototype.toJSON = () => 5', false],
  ]
  for (const [code, delivered] of POLLUTED) {
    const { run } = transformed(t, `${code}\nexport default { record: (record) => record }`)
    const { records, invalid } = await run('{"n":1}\n{"n":2}\n')
    t.equal(records.length, delivered ? 2 : 0, code)
    t.equal(invalid.length, delivered ? 0 : 2, code)
  }
})
