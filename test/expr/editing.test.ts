import t from 'tap'
import { allErrors, treeOf, type CheckList } from '../../src/expr/editing/index.js'
import { MAX_LENGTH, parse, SCHEME, toBytes } from '../../src/expr/index.js'

const LISTS = ['office', 'partners']
const list: CheckList = ({ name }) =>
  LISTS.includes(name) ? undefined : { reason: `no list $${name}`, meant: name === 'ofice' ? 'office' : undefined }
const errors = (text: string, place = {}) => allErrors(text, { scheme: SCHEME, place, list })
const shown = (text: string, place = {}) =>
  errors(text, place).map(({ error: { line, column, length }, fix }) => [line, column, length, fix?.text ?? null])

t.test('an expression without errors has none', async (t) => {
  t.strictSame(shown('http.host eq "a" and ip.src in $office'), [])
})

t.test('all errors are found, in their order, with what mends them', async (t) => {
  t.strictSame(shown('http.hst eq "x" and ip.src in $ofice or http.request.methd = "GET"'), [
    [1, 1, 8, 'http.host'],
    [1, 31, 6, '$office'],
    [1, 41, 18, 'http.request.method'],
    [1, 60, 1, 'eq'],
  ])
  t.strictSame(shown('http.host eq "ä" and\n  (zzz or http.hst eq "x")'), [
    [2, 4, 3, null],
    [2, 11, 8, 'http.host'],
  ])
  t.strictSame(shown('ssl and http.response.code eq 200 or http.response.code eq 1', { phase: 'http_ratelimit' }), [
    [1, 9, 18, null],
    [1, 38, 18, null],
  ])
})

t.test('a fix replaces the part that its error covers', async (t) => {
  const cases: [text: string, mended: string][] = [
    ['http.host contain "x"', 'http.host contains "x"'],
    ['http.host === "x"', 'http.host eq "x"'],
    ['http.host =~ "x"', 'http.host matches "x"'],
    ['http.host is "x"', 'http.host eq "x"'],
    ['http.host eq foo', 'http.host eq "foo"'],
    ['ip.src eq "192.0.2.1"', 'ip.src eq 192.0.2.1'],
    ['cf.edge.server_port eq "80"', 'cf.edge.server_port eq 80'],
    ['ssl & ssl', 'ssl and ssl'],
    ['ssl AND ssl', 'ssl and ssl'],
    ['(ssl and (ssl)', '(ssl and (ssl))'],
    ['http.host in {"a", "b"}', 'http.host in {"a"  "b"}'],
    ['ip.src in $ofice', 'ip.src in $office'],
    ['start_with(http.host, "a")', 'starts_with(http.host, "a")'],
  ]
  for (const [text, mended] of cases) {
    const [found] = errors(text)
    const start = found!.error.column - 1
    t.equal(text.slice(0, start) + found!.fix?.text + text.slice(start + found!.error.length).trimEnd(), mended, text)
    t.strictSame(shown(mended), [])
  }
})

t.test('any text ends, with few errors inside of it', async (t) => {
  const texts = [
    '',
    'not',
    ') (',
    '"',
    'r##"',
    '(('.repeat(1000),
    'a and '.repeat(600),
    'x'.repeat(MAX_LENGTH),
    'any('.repeat(300),
    '\\',
    '$a $b',
    '\u0000',
    'ssl and ä and ssl and ö',
  ]
  for (const text of texts) {
    const found = errors(text)
    t.ok(found.length >= 1 && found.length <= 10, JSON.stringify(text.slice(0, 20)))
    for (const { error } of found) {
      const width = toBytes(text.split('\n')[error.line - 1]!).length
      t.ok(error.column >= 1 && error.column <= width + 1, `${error.column} of ${width}`)
    }
  }
})

t.test('a filter is read as a tree', async (t) => {
  const tree = (text: string) => treeOf(parse(text))
  t.match(tree('starts_with(http.request.uri.path, "/a") and not (ip.src in $office or ssl)'), {
    type: 'and',
    items: [
      { type: 'comparison', field: 'http.request.uri.path', operator: 'starts_with', value: '/a' },
      { type: 'not', item: { type: 'or', items: [{ operator: 'in_list', value: 'office' }, { operator: 'is_true' }] } },
    ],
  })
  const comparisons: [text: string, expected: object][] = [
    ['http.host eq "ä"', { operator: 'eq', value: 'ä', start: 0, length: 17 }],
    ['http.response.code ge 500', { operator: 'ge', value: 500 }],
    ['ip.src ne 2001:db8::1', { operator: 'ne', value: '2001:db8::1' }],
    ['http.host in {"a" "b c"}', { operator: 'in', value: ['a', 'b c'] }],
    ['ip.src in {192.0.2.0/24 10.0.0.1}', { operator: 'in', value: ['192.0.2.0/24', '10.0.0.1'] }],
    ['cf.edge.server_port in {80 8000..8010}', { operator: 'in', value: ['80', '8000..8010'] }],
    ['http.host matches "^a+$"', { operator: 'matches', value: '^a+$' }],
    ['http.host strict wildcard "A*"', { operator: 'strict_wildcard', value: 'A*' }],
    ['lower(http.host) contains "a"', { field: 'http.host', transform: 'lower', operator: 'contains' }],
    [
      'any(http.request.headers["accept"][*] contains "md")',
      { field: 'http.request.headers', key: 'accept', quantifier: 'any', operator: 'contains', value: 'md' },
    ],
    ['http.request.uri.args["a"][0] eq "x"', { field: 'http.request.uri.args', key: 'a', quantifier: null }],
  ]
  for (const [text, expected] of comparisons) t.match(tree(text), { type: 'comparison', text, ...expected }, text)
  for (const text of [
    'concat(http.host, "a") eq "b"',
    'lower(upper(http.host)) eq "b"',
    'http.request.uri.args["a"][1] eq "x"',
    'any(starts_with(http.request.headers["a"][*], "x"))',
  ])
    t.match(tree(text), { type: 'text', text })
})
