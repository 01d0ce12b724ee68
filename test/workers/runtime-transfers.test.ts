import t from 'tap'
import { SKIP, workersDaemon, type WorkersDaemon } from './runtime-helper.js'

const skip = { skip: SKIP }

const CLASS = `import { DurableObject } from 'cloudflare:workers'
export class A extends DurableObject {
  async next() {
    const n = ((await this.ctx.storage.get('n')) ?? 0) + 1
    await this.ctx.storage.put('n', n)
    return n
  }
}
`
const HANDLER = `export default { async fetch(_, env) {
  try {
    return new Response(String(await env.A.getByName('one').next()))
  } catch ({ message }) {
    return new Response(message)
  }
} }`
const binding = (more: object = {}) => ({ name: 'A', type: 'durable_object_namespace', class_name: 'A', ...more })
const durable = (entry: object) => ({ A: { type: 'durable-object', ...entry } })
const EXPECTING = durable({ state: 'expecting-transfer', storage: 'sqlite', transfer_from: 'src' })
const LIVE = durable({ storage: 'sqlite' })

/** Uploads the owner of class A, a script that waits for the class, and one that names the class of the waiting script. */
async function waiting(t: Parameters<typeof workersDaemon>[0]): Promise<WorkersDaemon> {
  const daemon = await workersDaemon(t)
  await daemon.upload('src', CLASS + HANDLER, { bindings: [binding()], exports: LIVE })
  const { result } = await daemon.upload('dst', CLASS + HANDLER, { bindings: [binding()], exports: EXPECTING })
  t.same(result.exports_reconciliation.transfer_pending, [{ class: 'A', from: 'src' }])
  await daemon.upload('third', HANDLER, { bindings: [binding({ script_name: 'dst' })] })
  for (const name of ['src', 'dst', 'third']) await daemon.domain(name)
  return daemon
}

t.test('a class that is transferred can be called through its new script in every phase', skip, async (t) => {
  const daemon = await waiting(t)
  const numbers: string[] = []
  const call = async (...names: string[]) => {
    for (const name of names) numbers.push((await daemon.get(`${name}.example.test`)).text)
  }
  await call('src', 'dst', 'third')
  const { result } = await daemon.upload('src', 'export default { fetch: () => new Response() }', {
    exports: durable({ state: 'transferred', transferred_to: 'dst' }),
  })
  t.same(result.exports_reconciliation.transferred, [{ class: 'A', to: 'dst', phase: 'committed' }])
  await call('dst', 'third')
  await daemon.upload('dst', CLASS + HANDLER, { bindings: [binding()], exports: LIVE })
  await call('dst', 'third')
  t.same(numbers, ['1', '2', '3', '4', '5', '6', '7'], 'one object with one storage')
})

t.test('a binding to a class of a cancelled transfer does not reach the class any more', skip, async (t) => {
  const daemon = await waiting(t)
  t.equal((await daemon.get('third.example.test')).text, '1')
  await daemon.upload('dst', HANDLER, { bindings: [binding({ script_name: 'src' })], exports: {} })
  t.match((await daemon.get('third.example.test')).text, /binding A .* names a class that does not run/)
  t.equal((await daemon.get('dst.example.test')).text, '2')
})

t.test('calls during a transfer wait for it', skip, async (t) => {
  const daemon = await waiting(t)
  const transfer = { isDone: false }
  const seen = new Set<string>()
  const caller = async (name: string) => {
    while (!transfer.isDone) seen.add((await daemon.get(`${name}.example.test`)).text)
  }
  const callers = [caller('dst'), caller('third')]
  await daemon.upload('src', 'export default { fetch: () => new Response() }', {
    exports: durable({ state: 'transferred', transferred_to: 'dst' }),
  })
  await daemon.upload('dst', CLASS + HANDLER, { bindings: [binding()], exports: LIVE })
  transfer.isDone = true
  await Promise.all(callers)
  t.same(
    [...seen].filter((text) => !/^\d+$/.test(text)),
    [],
  )
})
