import t from 'tap'
import { UploadRefused } from '../../src/workers/upload-errors.js'
import type { UploadedFile } from '../../src/workers/upload/form.js'
import { analyse } from '../../src/workers/code/analyse.js'
import { CodeParser } from '../../src/workers/code/parser.js'
import { CodeReader } from '../../src/workers/code/reader.js'

const parseModule = (code: string) => CodeParser.parse(code, { ecmaVersion: 'latest', sourceType: 'module' })

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
        return error.issues
      }
    }
    const faults = await faultsOf(async () => await reader.analyse('modules', main, files))
    t.match(faults, [{ kind: 'invalidScript', message: /SyntaxError|No such module "\.\/none\.js"/ }])
    t.same(faults, await faultsOf(() => analyse('modules', main, files)))
  }
  await reader.close()
})

t.test('code that takes too much memory to be read is refused, and the next is read', async (t) => {
  const reader = new CodeReader({ maxMegabytes: 96 })
  const long = file('main.js', `export default { fetch() {} }\n//${'x'.repeat(200_000)}`)
  t.match(await reader.analyse('modules', long, [long]), { handlers: ['fetch'] })
  const main = file('main.js', `export default { fetch() {} }\n${'a;'.repeat(1_500_000)}`)
  await t.rejects(reader.analyse('modules', main, [main]), {
    name: 'UploadRefused',
    issues: [{ kind: 'invalidScript', message: 'the code takes too much memory to be read' }],
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

t.test('code nested as deep as can be is read or refused, and ends no process', async (t) => {
  const reader = new CodeReader()
  const read = async (code: string): Promise<string> => {
    const main = file('main.js', `export default { fetch() {} }\n${code}`)
    try {
      return (await reader.analyse('modules', main, [main])).handlers.join()
    } catch (error) {
      if (!(error instanceof UploadRefused)) throw error
      return error.issues.map(({ message }) => message).join()
    }
  }
  const SHAPES: Record<string, (depth: number) => string> = {
    templates: (depth) => `x = ${'`${'.repeat(depth)}1${'}`'.repeat(depth)}`,
    parentheses: (depth) => `x = ${'('.repeat(depth)}1${')'.repeat(depth)}`,
    arrays: (depth) => `x = ${'['.repeat(depth)}${']'.repeat(depth)}`,
    objects: (depth) => `x = ${'{a:'.repeat(depth)}1${'}'.repeat(depth)}`,
    patterns: (depth) => `let ${'['.repeat(depth)}a${']'.repeat(depth)} = x`,
    blocks: (depth) => `${'{'.repeat(depth)}${'}'.repeat(depth)}`,
    functions: (depth) => `x = ${'function(){return '.repeat(depth)}1${'}'.repeat(depth)}`,
    classes: (depth) => `x = ${'class{x='.repeat(depth)}1${'}'.repeat(depth)}`,
    arrows: (depth) => `x = ${'a=>'.repeat(depth)}1`,
    signs: (depth) => `x = ${'!'.repeat(depth)}1`,
    powers: (depth) => `x = ${'1**'.repeat(depth)}1`,
    sums: (depth) => `x = ${'1+'.repeat(depth)}1`,
    choices: (depth) => `x = ${'a?b:'.repeat(depth)}1`,
    conditions: (depth) => `${'if(a);else '.repeat(depth)};`,
    labels: (depth) => `${Array.from({ length: depth }, (_, at) => `l${at}:`).join('')};`,
    instances: (depth) => `x = ${'new '.repeat(depth)}a`,
    imports: (depth) => `x = ${'import('.repeat(depth)}1${')'.repeat(depth)}`,
  }
  const all = (depth: number) => Object.values(SHAPES).map((shape) => `{ ${shape(depth)} }`)
  for (const code of all(20)) t.equal(await read(code), 'fetch')
  for (const [name, shape] of Object.entries(SHAPES)) {
    t.throws(() => parseModule(shape(100_000)), { name: 'TooDeep' }, name)
    // What never ends is no better: the parser comes as deep before it can tell.
    t.throws(() => parseModule(shape(20_000).slice(0, 18_000)), { name: 'TooDeep' }, `half of ${name}`)
  }
  // Threads take their time to start: one reads them all.
  t.equal(await read(all(2500).join('\n')), 'fetch')
  t.match(await read(all(40_000).join('\n')), /is nested too deeply to be read/)
  await reader.close()
})

t.test('a block of very many names is read, and a duplicate name is refused', async (t) => {
  const names = Array.from({ length: 60_000 }, (_, at) => `const n${at} = ${at}`).join('\n')
  parseModule(names)
  for (const again of ['let n59999', 'function n7() {}', 'var n0', 'class n12 {}', 'import n3 from "./x.js"'])
    t.throws(() => parseModule(`${names}\n${again}`), { message: /Identifier 'n\d+' has already been declared/ }, again)
  t.throws(() => parseModule(`${names}\nexport { none }`), { message: /Export 'none' is not defined/ })
  parseModule(`${names}\nexport { n59999 }`)
})
