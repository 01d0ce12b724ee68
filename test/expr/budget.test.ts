import t from 'tap'
import {
  BUDGET_EXCEEDED,
  compile,
  compileValue,
  contextOf,
  Getters,
  parse,
  parseValue,
  REQUEST_STEPS,
  SCHEME,
  type Value,
} from '../../src/expr/index.js'

const BODY = 'http.request.body.raw'
const VALUES = 'http.request.body.form.values'
const body = 'a1'.repeat(65_536)
const many = Array.from({ length: 30_000 }, () => 'a')

/** Returns how often a value, or a filter, can be evaluated for one request: at most `limit` times. */
function evaluations(text: string, values: Record<string, Value>, limit = 100_000): number {
  const evaluate = text.startsWith('any(') ? compile(parse(text)) : compileValue(parseValue(text))
  const getters = new Getters(
    SCHEME,
    Object.fromEntries(Object.entries(values).map(([name, value]) => [name, () => value])),
  )
  const context = getters.context(undefined, REQUEST_STEPS)
  for (let count = 0; count < limit; count++) {
    try {
      evaluate(context)
    } catch (error) {
      if (error !== BUDGET_EXCEEDED) throw error
      return count
    }
  }
  return limit
}

t.test('functions charge the budget for the work that they do', async (t) => {
  const names = Array.from({ length: 100 }, () => 'a')
  const cases: [text: string, values: Record<string, Value>, most: number][] = [
    // Arguments behind the first one.
    [`remove_bytes(http.host, ${BODY})`, { 'http.host': 'a', [BODY]: body }, 40],
    [`concat(http.request.headers.names[*], ${BODY})`, { 'http.request.headers.names': names, [BODY]: body }, 1],
    // Results that are longer than the arguments.
    [`join(http.request.headers.names, ${BODY})`, { 'http.request.headers.names': names, [BODY]: body }, 1],
    // Arrays of many small members.
    [`join(${VALUES}, "")`, { [VALUES]: many }, 80],
    [`has_value(${VALUES}, "x")`, { [VALUES]: many }, 140],
    [`len(concat(${VALUES}, ${VALUES}))`, { [VALUES]: many }, 40],
    [`lower(${VALUES}[*])`, { [VALUES]: many }, 20],
    ['remove_query_args(http.request.uri.query, "x")', { 'http.request.uri.query': '&'.repeat(30_000) }, 20],
    // Each element that is selected, and each combination of two.
    [`any(${VALUES}[*] == "b")`, { [VALUES]: many }, 70],
    [`any((${VALUES}[*] == "b" or ${VALUES}[*] == "c"))`, { [VALUES]: many }, 25],
    // Calls that take long for any argument.
    ['sha256(http.host)', { 'http.host': 'a' }, 20_000],
    [`sha256(${VALUES}[*])`, { [VALUES]: many }, 1],
    ['uuidv4(cf.random_seed)', { 'cf.random_seed': 'a'.repeat(16) }, 30_000],
    ['is_timed_hmac_valid_v0("k", http.host, 10, http.request.timestamp.sec)', { 'http.host': 'a' }, 5000],
  ]
  for (const [text, values, most] of cases) {
    const count = evaluations(text, values, most + 1)
    t.ok(count <= most, `${text}: ${count} evaluations`)
  }
})

t.test('a document is charged when it is parsed, not each time that it is read', async (t) => {
  const [first, second] = ['{"a":1}', '{"a":2}'].map((text) => text.padEnd(100_000))
  const read = compileValue(parseValue(`lookup_json_integer(${BODY}, "a")`))
  const contexts = [first, second].map((document) =>
    new Getters(SCHEME, { [BODY]: () => document }).context(undefined, REQUEST_STEPS),
  )
  const same = () => Array.from({ length: 20 }, () => read(contexts[0]!))
  t.strictSame(new Set(same()), new Set([1]))
  t.equal(read(contexts[1]!), 2)
  t.throws(() => {
    for (let n = 0; n < 20; n++) for (const context of contexts) read(context)
  }, BUDGET_EXCEEDED)
})

t.test('a replacement from the request has at most 8 references', async (t) => {
  const host = 'a'.repeat(30_000)
  for (const text of [
    'wildcard_replace(http.host, "*", http.user_agent)',
    'regex_replace(http.host, "(a*)", http.user_agent)',
  ]) {
    const replace = (template: string) =>
      compileValue(parseValue(text))(
        contextOf(SCHEME, new Map(Object.entries({ 'http.host': host, 'http.user_agent': template }))),
      )
    t.equal(replace('${1}'.repeat(8)), host.repeat(8))
    t.equal(replace('${1}'.repeat(9)), undefined)
  }
})
