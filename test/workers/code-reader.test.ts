import t from 'tap'
import { UploadRefused } from '../../src/workers/fault.js'
import type { UploadedFile } from '../../src/workers/form.js'
import { analyse } from '../../src/workers/code/analyse.js'
import { CodeReader } from '../../src/workers/code/reader.js'

const ESM = 'application/javascript+module'
const file = (name: string, text: string, type = ESM): UploadedFile => ({
  name,
  part: name,
  type,
  bytes: Buffer.from(text),
})
const CODE = `
  import { DurableObject } from 'cloudflare:workers'
  export { Other } from './other.js'
  import text from './text.txt'
  export class Room extends DurableObject { fetch() {} }
  export default { fetch() {}, scheduled() {} }
`
const OTHER = file('other.js', 'export class Other {}')
const TEXT = file('text.txt', 'x'.repeat(1000), 'text/plain')
/** Long enough for a thread. */
const LONG = `${CODE}//${'x'.repeat(200_000)}\n`

t.test('long code is read in a thread, with the same result, while other things go on', async (t) => {
  const reader = new CodeReader()
  const main = file('main.js', LONG)
  const files = [main, OTHER, TEXT]
  let turns = 0
  const ticking = setInterval(() => turns++, 1)
  const [read, again] = await Promise.all([
    reader.analyse('modules', main, files),
    reader.analyse('modules', main, files),
  ])
  clearInterval(ticking)
  t.ok(turns > 0, 'timers ran meanwhile')
  const { startup_time_ms: _time, ...report } = analyse('modules', main, files)
  t.match(read, report)
  t.match(again, report)
  t.type(read.startup_time_ms, 'number')
  t.match(report.named, [
    { name: 'Other', kind: 'class' },
    { name: 'Room', kind: 'durable-object', handlers: ['fetch'] },
  ])
  const script = file('main.js', `addEventListener('queue', () => {})\n//${'x'.repeat(200_000)}`, 'text/javascript')
  t.match(await reader.analyse('service-worker', script, [script]), { handlers: ['queue'] })
  await reader.close()
})

t.test('what a thread refuses is refused in the same words', async (t) => {
  const reader = new CodeReader()
  for (const text of [`${LONG}export`, LONG.replace('./other.js', './none.js')]) {
    const main = file('main.js', text)
    const files = [main, OTHER, TEXT]
    const faultsOf = async (work: () => unknown): Promise<unknown> => {
      try {
        return await work()
      } catch (error) {
        if (!(error instanceof UploadRefused)) throw error
        return error.faults
      }
    }
    const faults = await faultsOf(async () => await reader.analyse('modules', main, files))
    t.match(faults, [{ kind: 'invalidScript', message: /SyntaxError|No such module "\.\/none\.js"/ }])
    t.same(faults, await faultsOf(() => analyse('modules', main, files)))
  }
  await reader.close()
})

t.test('code that takes too much memory to be read is refused, and the next is read', async (t) => {
  const reader = new CodeReader({ mostMegabytes: 96 })
  const long = file('main.js', `export default { fetch() {} }\n//${'x'.repeat(200_000)}`)
  t.match(await reader.analyse('modules', long, [long]), { handlers: ['fetch'] })
  const main = file('main.js', `export default { fetch() {} }\n${'a;'.repeat(1_500_000)}`)
  await t.rejects(reader.analyse('modules', main, [main]), {
    name: 'UploadRefused',
    faults: [{ kind: 'invalidScript', message: 'the code takes too much memory to be read' }],
  })
  const next = file('main.js', 'export default { fetch() {} }')
  t.match(await reader.analyse('modules', next, [next]), { handlers: ['fetch'] })
  await reader.close()
  await t.rejects(reader.analyse('modules', long, [long]), { message: 'the daemon stops' })
})

// A few lines, or a line of spaces, kept the daemon from all else for ever.
t.test('code that leads to one place in very many ways is read nevertheless', (t) => {
  const depth = 28
  const lines = Array.from({ length: depth }, (_, i) => `const a${i + 1} = { ...a${i}, ...a${i} }\n`)
  const spreads = file('main.js', `const a0 = { fetch() {} }\n${lines.join('')}export default a${depth}`)
  t.match(analyse('modules', spreads, [spreads]), { handlers: ['fetch'] })

  const star = (i: number) => `export * from './m${i + 1}.js'\n`
  const modules = Array.from({ length: depth }, (_, i) => file(`m${i}.js`, star(i) + star(i)))
  const end = 'import { DurableObject } from "cloudflare:workers"\nexport class Room extends DurableObject {}'
  const last = file(`m${depth}.js`, `export * from './m0.js'\n${end}`)
  const main = file('main.js', `export { Room, None } from './m0.js'\nexport * from './m0.js'`)
  t.same(analyse('modules', main, [main, ...modules, last]).named, [
    { name: 'Room', kind: 'durable-object', handlers: [] },
    { name: 'None', kind: 'class', handlers: [] },
  ])

  const python = (text: string) => analyse('python', file('main.py', text, 'text/x-python'), [])
  t.same(python(`class A${' '.repeat(1_000_000)}x`).named, [])
  t.match(python('class A ( workers.DurableObject ) :\n  def fetch(self): pass').named, [
    { name: 'A', kind: 'durable-object', handlers: ['fetch'] },
  ])
  t.end()
})

t.test('code that leads back to itself is read', (t) => {
  const main = file(
    'main.js',
    'const a = { ...b, fetch() {} }\nconst b = { ...a, queue() {} }\nexport default a\nlet c = c\nexport { c }',
  )
  t.match(analyse('modules', main, [main]), { handlers: ['fetch', 'queue'], named: [{ name: 'c', kind: 'class' }] })
  t.end()
})
