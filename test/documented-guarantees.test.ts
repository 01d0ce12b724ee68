/**
 * The tables of `docs/pipelines.md` about losses and repetitions and of `docs/reliability.md` about promises: every row is
 * there, and every cell has a test.
 */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { SINKS } from '../sinks/index.js'
import { INNER_SOURCES, OUTER_SOURCES } from '../src/config/pipeline-sources.js'

/** Returns the text between the marks of a name. */
function partOf(page: string, name: string): string {
  const text = readFileSync(page, 'utf8')
  return text.slice(text.indexOf(`<!-- ${name} -->`), text.indexOf(`<!-- /${name} -->`))
}

const part = partOf('docs/pipelines.md', 'guarantees')
const promises = partOf('docs/reliability.md', 'promises')

interface Row {
  readonly name: string
  readonly cells: readonly string[]
}

/** Rows of the tables of a text, without their heads. */
const tablesOf = (text: string): Row[][] =>
  text
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
/** The named tests of a text by their numbers. */
const namedIn = (text: string): ReadonlyMap<string, readonly [file: string, title: string]> =>
  new Map(
    [...text.matchAll(/^(\d+)\. `([^`]+)`: (.+)$/gm)].map(([, number, file, title]) => [
      number!,
      [file!, title!] as const,
    ]),
  )

/** Every cell names tests, and every named test exists. */
function checkCells(t: Test, text: string, columns: number): void {
  const used = new Set<string>()
  for (const { name, cells } of tablesOf(text).flat()) {
    t.equal(cells.length, columns, name)
    for (const cell of cells) {
      const numbers = [...cell.matchAll(/\[(\d+)\]/g)].map(([, number]) => number!)
      t.ok(numbers.length > 0, `${name}: ${cell}`)
      for (const number of numbers) used.add(number)
    }
  }
  const named = namedIn(text)
  t.same([...used].toSorted(), [...named.keys()].toSorted(), 'each number has a test, and each test a cell')
  for (const [file, title] of named.values()) {
    const test = readFileSync(file, 'utf8')
    const isThere = [`'${title}'`, `"${title}"`, `: ${title}\``, `\`${title} `].some((form) => test.includes(form))
    // Titles of tables are keys, and some begin with the case.
    const isKey = new RegExp(`^\\s*${title}: \\{$`, 'm').test(test)
    t.ok(isThere || isKey, `${file}: ${title}`)
  }
}

t.test('every source and every destination has a row', async (t) => {
  const [sources, destinations] = tablesOf(part).map((rows) =>
    rows.flatMap(({ name }) => [...name.matchAll(/`([^`]+)`/g)].map(([, one]) => one!)),
  )
  for (const source of [...OUTER_SOURCES, ...INNER_SOURCES]) t.ok(sources?.includes(source), source)
  for (const scheme of SINKS.keys()) t.ok(destinations?.includes(`${scheme}:`), scheme)
})

t.test('every cell names tests that exist', async (t) => {
  t.equal(tablesOf(part).length, 2)
  t.ok(namedIn(part).size > 30)
  checkCells(t, part, 4)
})

t.test('every promise names tests that exist', async (t) => {
  t.ok(tablesOf(promises).flat().length > 10)
  checkCells(t, promises, 1)
})
