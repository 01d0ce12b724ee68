// Faults of Workers on the built daemon. For each: what happened to the script, and what requests of a script of another
// account saw meanwhile.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { Agent, get } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { table } from '../bench/measure.mjs'
import { ACCOUNTS, runtimeProcesses, startWorkersDaemon } from '../bench/workers-daemon.mjs'

const MAX_STALL_SECONDS = 2
/** The start of a script may take 5 s; the rest is the machine. */
const MAX_REFUSAL_MS = 10_000
const MAX_CUT_MS = 20_000
const COUNTER = `import { DurableObject } from 'cloudflare:workers'
export class Counter extends DurableObject {
  add() {
    this.ctx.storage.sql.exec('create table if not exists counts (n integer)')
    this.ctx.storage.sql.exec('insert into counts values (1)')
    return this.ctx.storage.sql.exec('select count(*) as n from counts').one().n
  }
}
export default { fetch: async (request, env) => new Response(String(await env.COUNTER.getByName('one').add())) }`
const SCRIPTS = {
  app: "export default { fetch() { return new Response('version 0') } }",
  loop: "export default { fetch(request) { for (; request.url.endsWith('/bad'); ); return new Response('ok') } }",
  leak: `const kept = []
export default { async fetch(request) {
  while (request.url.endsWith('/bad')) { kept.push(new Uint8Array(2 ** 23).fill(1)); await scheduler.wait(5) }
  return new Response('ok')
} }`,
}

const agent = new Agent({ keepAlive: true, maxSockets: 64 })
const results = []
let folder
let daemon

export async function drill(option) {
  const uploads = option('uploads', 30)
  const maxRefusalMs = option('max-refusal-ms', MAX_REFUSAL_MS)
  const maxCutMs = option('max-cut-ms', MAX_CUT_MS)
  folder = mkdtempSync(join(tmpdir(), 'edged-drills-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const config = `workers: { max_stall: ${MAX_STALL_SECONDS}s }`
  daemon = await startWorkersDaemon(folder, config)
  for (const [name, code] of Object.entries(SCRIPTS)) {
    await daemon.upload(name, code)
    await daemon.domain(name, `${name}.bench.test`)
  }
  await daemon.upload('other', "export default { fetch() { return new Response('other') } }", {}, ACCOUNTS[1])
  await daemon.domain('other', 'other.test', ACCOUNTS[1])

  await fault('nothing', async () => {
    await wait(option('quiet-ms', 3000))
    return { result: 'quiet run' }
  })
  await fault(`${uploads} uploads in a row`, async () => {
    const clients = new AbortController()
    let failed = 0
    let sent = 0
    const client = async () => {
      while (!clients.signal.aborted) {
        const { status } = await request('app.bench.test')
        sent++
        if (status !== 200) failed++
      }
    }
    const load = [client(), client(), client(), client()]
    let stale = 0
    for (let n = 1; n <= uploads; n++) {
      await daemon.upload('app', SCRIPTS.app.replace('version 0', `version ${n}`))
      if ((await request('app.bench.test')).text !== `version ${n}`) stale++
    }
    clients.abort()
    await Promise.all(load)
    return { result: `${sent} requests, ${failed} failed, ${stale} old versions`, failed: failed > 0 || stale > 0 }
  })
  await fault(
    `${uploads} uploads of a script with Durable Objects, and of one without`,
    async () => await switches(uploads, option('compare', 1) > 0),
  )
  await fault('a script loops at its start', async () => {
    const began = performance.now()
    const { status, body } = await daemon.upload('startloop', 'for (;;);\nexport default { fetch() {} }')
    const ms = Math.round(performance.now() - began)
    const code = body.errors[0]?.code
    return { result: `${status}, error ${code}, after ${ms} ms`, failed: code !== 10021 || ms > maxRefusalMs }
  })
  for (const [name, title] of [
    ['loop', 'a script loops in a request'],
    ['leak', 'a script leaks memory'],
  ])
    await fault(title, async () => {
      const [before, others] = await pids()
      const began = performance.now()
      const { status } = await request(`${name}.bench.test`, '/bad')
      const ms = Math.round(performance.now() - began)
      const after = await request(`${name}.bench.test`)
      const [now, othersNow] = await pids()
      return {
        result: `${status} after ${ms} ms, then ${after.status}; process replaced: ${before !== now}, other account: ${others !== othersNow}`,
        failed: status !== 503 || ms > maxCutMs || after.status !== 200 || before === now || others !== othersNow,
      }
    })
  await fault('kill -9 of all runtime processes', async () => {
    return await counted(async () => {
      for (const { pid } of runtimeProcesses(daemon.child.pid)) process.kill(pid, 'SIGKILL')
    })
  })
  await fault(
    'kill -9 of the daemon',
    async () =>
      await counted(async () => {
        const left = runtimeProcesses(daemon.child.pid)
        daemon.child.kill('SIGKILL')
        daemon = await startWorkersDaemon(folder, config)
        for (const { pid } of left) while (isRunning(pid)) await wait(20)
      }),
  )
  await daemon.stop()
  agent.destroy()
  table(results.map(({ isOver: _isOver, ...row }) => row))
  return results.filter(({ isOver }) => isOver).map(({ fault: name, result }) => `${name}: ${result}`)
}

/** Uploads under load: nothing fails, and only the script with Durable Objects may wait. */
async function switches(uploads, compares) {
  const bindings = [{ name: 'COUNTER', type: 'durable_object_namespace', class_name: 'Counter' }]
  const migrations = { new_tag: 'v1', new_sqlite_classes: ['Counter'] }
  await daemon.upload('counter', COUNTER, { migrations, bindings })
  await daemon.domain('counter', 'counter.bench.test')
  const remote =
    "export default { fetch: async (_, env) => new Response(String(await env.COUNTER.getByName('one').add())) }"
  const remoteBindings = [{ ...bindings[0], script_name: 'counter' }]
  await daemon.upload('remote', remote, { bindings: remoteBindings })
  await daemon.domain('remote', 'remote.bench.test')
  const clients = new AbortController()
  const longest = { app: 0, counter: 0, remote: 0 }
  let failed = 0
  let counts = 0
  const client = async (name) => {
    while (!clients.signal.aborted) {
      const began = performance.now()
      const { status } = await request(`${name}.bench.test`)
      longest[name] = Math.max(longest[name], performance.now() - began)
      if (status !== 200) failed++
      else if (name !== 'app') counts++
    }
  }
  const load = ['app', 'app', 'counter', 'counter', 'remote'].map(client)
  for (let n = 1; n <= uploads; n++)
    if (n % 2 === 0) await daemon.upload('remote', `${remote}\n// ${n}`, { bindings: remoteBindings })
    else await daemon.upload('counter', `${COUNTER}\n// ${n}`, { bindings })
  clients.abort()
  await Promise.all(load)
  const last = Number((await request('counter.bench.test')).text)
  const waits = Object.entries(longest).map(([name, ms]) => `${name} ${Math.round(ms)} ms`)
  const isOver = failed > 0 || last !== counts + 1 || (compares && longest.app > longest.counter)
  return { result: `${failed} failed, ${counts} counts and then ${last}; longest: ${waits.join(', ')}`, failed: isOver }
}

/** Adds to a counter before and after a fault: no count may be lost. */
async function counted(harm) {
  let last = 0
  for (let n = 0; n < 20; n++) last = Number((await request('counter.bench.test')).text)
  const began = performance.now()
  await harm()
  const next = await request('counter.bench.test')
  const ms = Math.round(performance.now() - began)
  const rest = (await request('app.bench.test')).status
  return {
    result: `count ${last}, then ${next.text} after ${ms} ms; another script: ${rest}`,
    failed: Number(next.text) !== last + 1 || rest !== 200,
  }
}

/** Ids of the newest process of each account for scripts without data. The runtime numbers accounts and processes. */
async function pids() {
  const all = runtimeProcesses(daemon.child.pid).flatMap(({ pid }) => {
    const [, account, number] =
      /\/edged-[^/]+\/(\d+)\/m\/(\d+)\//.exec(readFileSync(`/proc/${pid}/cmdline`, 'latin1')) ?? []
    return account === undefined ? [] : [{ pid, account, number: Number(number) }]
  })
  const newest = (account) =>
    all.filter((one) => one.account === account).toSorted((a, b) => b.number - a.number)[0]?.pid
  return [newest('1'), newest('2')]
}

async function fault(name, run) {
  const stop = new AbortController()
  const times = []
  let failed = 0
  const probing = (async () => {
    while (!stop.signal.aborted) {
      const began = performance.now()
      const { status, text } = await request('other.test')
      if (status !== 200 || text !== 'other') failed++
      times.push(performance.now() - began)
      await wait(10)
    }
  })()
  const result = await run()
  stop.abort()
  await probing
  times.sort((a, b) => a - b)
  const isDown = name === 'kill -9 of the daemon'
  results.push({
    fault: name,
    result: result.result,
    'other account': `p99 ${(times[Math.floor(times.length * 0.99)] ?? 0).toFixed(1)} ms, ${failed} of ${times.length} failed`,
    isOver: result.failed === true || (failed > 0 && !isDown),
  })
  console.error(`${name}: ${result.result}`)
}

async function request(host, path = '/') {
  return await new Promise((resolve) => {
    get({ port: daemon.port, path, headers: { host }, agent }, (response) => {
      let text = ''
      response.on('data', (chunk) => (text += chunk))
      response.on('end', () => resolve({ status: response.statusCode, text }))
      response.on('error', () => resolve({ status: 0, text: '' }))
    }).on('error', () => resolve({ status: 0, text: '' }))
  })
}

function isRunning(pid) {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}
