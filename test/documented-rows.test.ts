/** Rows that the public API does not have are the product's own, and need a line of documentation. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { DATASETS } from '../pipelines/records/index.js'
import { FIELDS, FUNCTIONS } from '../src/expr/index.js'

const fixture = (name: string) => JSON.parse(readFileSync(`test/fixtures/${name}`, 'utf8')) as object
const page = (name: string) => readFileSync(`docs/${name}`, 'utf8')

const TABLES: readonly (readonly [what: string, names: Iterable<string>, documented: object, page: string])[] = [
  ['field', FIELDS.map(({ name }) => name), (fixture('fields.json') as { fields: object }).fields, 'rules.md'],
  [
    'function',
    FUNCTIONS.map(({ name }) => name),
    (fixture('functions.json') as { functions: object }).functions,
    'rules.md',
  ],
  ['dataset', DATASETS.keys(), fixture('datasets.json'), 'logpush.md'],
]

for (const [what, names, documented, name] of TABLES)
  t.test(`docs/${name} names every ${what} of edged itself`, async (t) => {
    const text = page(name)
    const own = [...names].filter((row) => !Object.hasOwn(documented, row))
    t.same(
      own.filter((row) => !text.includes(`\`${row}\``)),
      [],
    )
  })
