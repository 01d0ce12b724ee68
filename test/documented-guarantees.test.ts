/** The tables of `docs/pipelines.md` about losses and repetitions: every row is there, and every cell has a test. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { SINKS } from '../sinks/index.js'
import { INNER_SOURCES, OUTER_SOURCES } from '../src/config/pipeline-sources.js'

const page = readFileSync('docs/pipelines.md', 'utf8')
const part = page.slice(page.indexOf('<!-- guarantees -->'), page.indexOf('<!-- /guarantees -->'))

interface Row {
  readonly name: string
  readonly cells: readonly string[]
}

/** Rows of the tables, without their heads. */
const tables = part
  .split(/\n\n/)
  .filter((block) => block.startsWith('|'))
  .map((block) =>
    block
      .split('\n')
      .slice(2)
      .map((line): Row => {
        const [name = '', ...cells] = line.split('|').slice(1, -1)
        return { name: name.trim(), cells: cells.map((cell) => cell.trim()) }
      }),
  )
/** The named tests by their numbers. */
const named = new Map(
  [...part.matchAll(/^(\d+)\. `([^`]+)`: (.+)$/gm)].map(([, number, file, title]) => [
    number!,
    [file!, title!] as const,
  ]),
)

t.test('every source and every destination has a row', async (t) => {
  const [sources, destinations] = tables.map((rows) =>
    rows.flatMap(({ name }) => [...name.matchAll(/`([^`]+)`/g)].map(([, one]) => one!)),
  )
  for (const source of [...OUTER_SOURCES, ...INNER_SOURCES]) t.ok(sources?.includes(source), source)
  for (const scheme of SINKS.keys()) t.ok(destinations?.includes(`${scheme}:`), scheme)
})

t.test('every cell names tests that exist', async (t) => {
  t.equal(tables.length, 2)
  t.ok(named.size > 30)
  const used = new Set<string>()
  for (const { name, cells } of tables.flat()) {
    t.equal(cells.length, 4, name)
    for (const cell of cells) {
      const numbers = [...cell.matchAll(/\[(\d+)\]/g)].map(([, number]) => number!)
      t.ok(numbers.length > 0, `${name}: ${cell}`)
      for (const number of numbers) used.add(number)
    }
  }
  t.same([...used].toSorted(), [...named.keys()].toSorted(), 'each number has a test, and each test a cell')
  for (const [file, title] of named.values()) {
    const text = readFileSync(file, 'utf8')
    const isThere = ["'", '"'].some((quote) => text.includes(`${quote}${title}${quote}`))
    // Titles of tables are keys, and some begin with the case.
    const isKey = new RegExp(`^\\s*${title}: \\{$`, 'm').test(text) || text.includes(`: ${title}\``)
    t.ok(isThere || isKey, `${file}: ${title}`)
  }
})
