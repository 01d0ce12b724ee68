import fc from 'fast-check'
import t from 'tap'
import { Backtracker } from '../../src/expr/regex/backtrack.js'
import { Captures } from '../../src/expr/regex/captures.js'
import { NamedGroups } from '../../src/expr/regex/groups.js'
import { linearCaptures } from '../../src/expr/regex/linear.js'
import { parse } from '../../src/expr/regex/parse.js'
import { compileProgram } from '../../src/expr/regex/program.js'
import { UNLIMITED } from '../../src/expr/language/budget.js'

const atom = fc.constantFrom(
  'a',
  'b',
  '[^a]',
  '.',
  '(?<NAME>a)',
  '(?<NAME>b*)',
  '(?<NAME>[^b]+)',
  '(?:a|bc)',
  '\\b',
  'c',
)
const piece = fc.tuple(atom, fc.constantFrom('', '', '', '*', '+', '?', '*?', '{1,2}'))
const pattern = fc
  .tuple(fc.constantFrom('', '^'), fc.array(piece, { minLength: 1, maxLength: 7 }), fc.constantFrom('', '$'))
  .map(([begin, pieces, end]) => {
    let count = 0
    const body = pieces.map(([one, repeat]) => (one === '\\b' ? one : one + repeat)).join('')
    return begin + body.replaceAll('NAME', () => `g${count++}`) + end
  })
const text = fc.string({ unit: fc.constantFrom('a', 'b', 'c', ' '), maxLength: 12 })

t.test('three engines find the same groups', async (t) => {
  let linear = 0
  fc.assert(
    fc.property(pattern, fc.array(text, { minLength: 1, maxLength: 4 }), (pattern, texts) => {
      const { hir, groups } = parse(pattern)
      const program = compileProgram(hir, true)
      const slow = new Captures(program, groups.length)
      const fast = new Backtracker(program, groups.length)
      const source = linearCaptures(hir)
      if (source !== undefined) linear++
      for (const one of texts) {
        const expected = slow.exec(one, UNLIMITED)
        const found = fast.exec(one, UNLIMITED)
        t.strictSame(found && [...found], expected && [...expected], `${pattern} in ${JSON.stringify(one)}`)
        if (source === undefined) continue
        const own = new RegExp(source.source).exec(one)
        const parts = expected?.flatMap((start, at) => {
          if (at % 2 === 1) return []
          return [start < 0 ? undefined : one.slice(start, expected[at + 1])]
        })
        t.strictSame(own ? [...own] : undefined, parts, `${pattern} in ${JSON.stringify(one)}, by JavaScript`)
      }
    }),
    { numRuns: 2000 },
  )
  t.ok(linear > 200, `${linear} patterns were certain to be linear`)
})

t.test('texts beyond the memory of the backtracker are read as well', async (t) => {
  const groups = new NamedGroups('(?<x>b+).*?(?<y>c)')
  t.strictSame(groups.read(`${'a'.repeat(3_000_000)}bbac`), ['bb', 'c'])
  t.strictSame(groups.names, ['x', 'y'])
})
