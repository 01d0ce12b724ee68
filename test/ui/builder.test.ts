import fc from 'fast-check'
import t from 'tap'
import { treeOf } from '../../src/expr/editing/index.js'
import { FIELDS, parse } from '../../src/expr/index.js'
import {
  emptyCondition,
  withItem,
  withMore,
  withOperator,
  type Condition,
  type Groups,
} from '../../ui/src/parts/builder/model.ts'
import { fieldsFor, shapeOf, type Named } from '../../ui/src/parts/expression/fields.ts'
import { conditionText, expressionOf, groupsOf } from '../../ui/src/parts/expression/text.ts'

const NAMES: readonly Named[] = FIELDS.filter(({ group }) => group !== 'ratelimit_only').map(({ name, type }) => ({
  name,
  type: type.name,
  kind: 'field',
  description: '',
}))
const TYPES = new Map(NAMES.map(({ name, type }) => [name, type]))
const read = (text: string): Groups => groupsOf(treeOf(parse(text, {})), TYPES)

const condition = (change: Partial<Condition>): Condition => ({
  kind: 'condition',
  field: 'http.host',
  key: null,
  quantifier: null,
  transform: null,
  operator: 'eq',
  value: 'a',
  ...change,
})

t.test('an expression of conditions becomes a form', async (t) => {
  t.strictSame(read('starts_with(http.request.uri.path, "/private") and not ip.src in $office'), [
    [
      condition({ field: 'http.request.uri.path', operator: 'starts_with', value: '/private' }),
      condition({ field: 'ip.src', operator: '!in_list', value: 'office' }),
    ],
  ])
  t.strictSame(read('(http.host == "a" && ssl) or any(http.request.headers["x-a"][*] contains "\\"b\\"")'), [
    [condition({}), condition({ field: 'ssl', operator: 'is_true', value: null })],
    [
      condition({
        field: 'http.request.headers',
        key: 'x-a',
        quantifier: 'any',
        operator: 'contains',
        value: '"b"',
      }),
    ],
  ])
})

t.test('a part that the form cannot show stays text, in parentheses if it needs them', async (t) => {
  const cases: [text: string, groups: Groups][] = [
    [
      'ssl and (http.host eq "a" or ssl)',
      [
        [
          condition({ field: 'ssl', operator: 'is_true', value: null }),
          { kind: 'text', text: '(http.host eq "a" or ssl)' },
        ],
      ],
    ],
    ['len(http.request.headers["x"]) gt 1', [[{ kind: 'text', text: 'len(http.request.headers["x"]) gt 1' }]]],
    ['not (ssl and ssl)', [[{ kind: 'text', text: 'not (ssl and ssl)' }]]],
    ['http.request.headers.names[0] eq "a"', [[condition({ field: 'http.request.headers.names' })]]],
    ['ssl xor ssl', [[{ kind: 'text', text: '(ssl xor ssl)' }]]],
  ]
  for (const [text, groups] of cases) t.strictSame(read(text), groups, text)
})

const text = fc.string({
  minLength: 1,
  maxLength: 8,
  unit: fc.constantFrom('a', 'B', '/', '*', '.', '"', '\\', ' ', 'ä', '$', '{', '}', '#'),
})
const BAD_PATTERN = /\\|\*\*/
const REGEX = fc.constantFrom('^/a', '[0-9]+"', 'a|b', String.raw`\.js$`, '"#')
const address = fc.oneof(fc.constantFrom('192.0.2.1', '192.0.2.0/24', '2001:db8::/32', '::1'))
const integer = fc.integer({ min: 0, max: 1000 }).map(String)

const anyCondition: fc.Arbitrary<Condition> = fc
  .constantFrom(...fieldsFor(NAMES))
  .chain((field) =>
    fc.tuple(
      fc.constant(field),
      fc.constantFrom(...field.operators),
      fc.constantFrom(null, 'any' as const, 'all' as const),
      text,
    ),
  )
  .chain(([field, operator, quantifier, key]) => {
    const { scalar } = shapeOf(TYPES.get(field.name)!)!
    const one = scalar === 'Int' ? integer : scalar === 'Ip' ? address : text
    const plain = scalar === 'Ip' ? fc.constantFrom('192.0.2.1', '::1') : one
    const name = operator.name.replace('!', '')
    const value: fc.Arbitrary<Condition['value']> =
      name === 'is_true'
        ? fc.constant(null)
        : name === 'in_list'
          ? fc.constantFrom('office', 'a_1')
          : name === 'in'
            ? fc.uniqueArray(one, { minLength: 1, maxLength: 3 })
            : name === 'matches'
              ? REGEX
              : name.endsWith('wildcard')
                ? plain.filter((pattern) => !BAD_PATTERN.test(pattern))
                : plain
    const isMany = field.isMany === true
    return value.map((given): Condition => ({
      kind: 'condition',
      field: field.name,
      key: field.key === undefined ? null : key,
      quantifier: isMany ? quantifier : null,
      transform: null,
      operator: operator.name,
      value: given,
    }))
  })

t.test('what a form writes is read as the same form', async () => {
  const groups = fc.array(fc.array(anyCondition, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 })
  fc.assert(
    fc.property(groups, (given) => {
      const written = expressionOf(given, TYPES)
      const found = read(written)
      return JSON.stringify(found) === JSON.stringify(given) || expressionOf(found, TYPES) === written
    }),
    { numRuns: 500 },
  )
})

t.test('a form of an expression writes an expression with the same meaning', async (t) => {
  const shape = (text: string): unknown =>
    JSON.parse(
      JSON.stringify(treeOf(parse(text, {})), (name, value) =>
        ['text', 'start', 'length'].includes(name) ? undefined : value,
      ),
    )
  for (const text of [
    'http.host eq "a" or ssl and not http.request.uri.path matches r"^/a"',
    'not any(http.request.uri.args["a b"][*] wildcard "x*") and ip.src in {192.0.2.0/24 ::1}',
    'len(http.host) gt 3 and lower(http.host) eq "a"',
    'ssl and (ssl or (ssl and not ssl))',
    '(ssl or ssl) and ssl',
    'http.request.method in {"GET" "HEAD"} xor ssl',
  ])
    t.strictSame(shape(expressionOf(read(text), TYPES)), shape(text), text)
})

t.test('rows of a form are added, changed and removed', async (t) => {
  const a = condition({})
  const b = condition({ value: 'b' })
  t.strictSame(withItem([[a, b]], 0, 0, undefined), [[b]])
  t.strictSame(withItem([[a], [b]], 0, 0, undefined), [[b]])
  t.strictSame(withItem([[a]], 0, 0, b), [[b]])
  t.strictSame(withMore([[a]], 0, b), [[a, b]])
  const [path] = fieldsFor(NAMES)
  t.match(emptyCondition(path!), { field: 'http.request.uri.path', operator: 'eq', value: '', quantifier: null })
  const operator = (name: string) => path!.operators.find((one) => one.name === name)!
  t.strictSame(withOperator(operator('in'), 'x'), { operator: 'in', value: ['x'] })
  t.strictSame(withOperator(operator('eq'), ['x', 'y']), { operator: 'eq', value: 'x' })
  t.equal(conditionText(condition({ operator: 'in', value: [] }), TYPES), 'http.host in {}')
})
