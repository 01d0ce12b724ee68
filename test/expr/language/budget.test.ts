import t from 'tap'
import {
  BUDGET_EXCEEDED,
  compile,
  compileValue,
  contextOf,
  Getters,
  parse,
  parseValue,
  indexedRule,
  REQUEST_GETTERS,
  REQUEST_STEPS,
  RuleIndex,
  SCHEME,
  type RequestView,
  type Value,
} from '../../../src/expr/index.js'
import { finder } from '../../../src/expr/language/find-text.js'
import { partsOf } from '../../../src/rules/fields/multipart.js'

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
    [`url_decode(${VALUES}[*])`, { [VALUES]: many }, 1],
    [`lower(${VALUES}[*])`, { [VALUES]: many }, 1],
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

const FORM = { method: 'POST', version: 'HTTP/1.1', secure: false, host: 'a.test', target: '/', rawTarget: '/' }
const PARTS = '--x\r\nContent-Disposition: form-data; name="a"\r\n\r\nv\r\n'

/** Returns a context of a request with this body, or with these header fields. */
function requestContext(bytes: string, headers = ['content-type', 'application/x-www-form-urlencoded']) {
  const view = { ...FORM, headers, clientIp: undefined, receivedAt: 0, body: { bytes, size: bytes.length } }
  return new Getters<RequestView>(SCHEME, REQUEST_GETTERS).context(view, REQUEST_STEPS)
}

// A form of 250,000 values took 130 ms to split, and only the comparisons were charged.
t.test('splitting a text into names and values is charged, also for the rules after the first', async (t) => {
  const pairs = 'a&'.repeat(500_000)
  const fields = ['.names', '.values', ''].map((name) => `http.request.body.form${name}`)
  for (const name of fields) {
    const filter = compile(parse(`any(${name}[*]${name.endsWith('form') ? '[*]' : ''} == "q")`))
    const context = requestContext(pairs)
    for (let rule = 0; rule < 3; rule++) t.throws(() => filter(context), BUDGET_EXCEEDED, name)
    t.equal(filter(requestContext(pairs.slice(0, 1000))), false, `${name}: a short form`)
  }
  const target = { ...FORM, target: `/?${pairs}`, rawTarget: '/', headers: [], clientIp: undefined, receivedAt: 0 }
  const context = new Getters<RequestView>(SCHEME, REQUEST_GETTERS).context(target, REQUEST_STEPS)
  t.throws(() => context.get(SCHEME.field('http.request.uri.args')!.index), BUDGET_EXCEEDED, 'a query')
  for (const [name, header, item] of [
    ['http.request.cookies', 'cookie', ';a'],
    ['http.request.accepted_languages', 'accept-language', 'a,'],
  ] as const) {
    const long = requestContext('', [header, item.repeat(60_000)])
    t.throws(() => long.get(SCHEME.field(name)!.index), BUDGET_EXCEEDED, name)
  }
})

t.test('the parts of a multipart body are charged for their number and their header fields', async (t) => {
  const spent = (body: string) => {
    let steps = 0
    const parts = partsOf(body, 'x', { spend: (more) => void (steps += more) })
    return { steps, parts: parts.length }
  }
  const many = spent(PARTS.repeat(1000))
  t.equal(many.parts, 1000)
  t.ok(many.steps > 200_000, `1,000 parts: ${many.steps} steps`)
  const long = spent(`--x\r\nContent-Disposition: ${';a=b'.repeat(4000)}\r\n\r\nv`)
  t.ok(long.steps > 90_000, `header fields of 16,000 bytes: ${long.steps} steps`)
})

t.test('a search is charged for its fallbacks, and for the table of its needle', async (t) => {
  const spent = (needle: string, text: string) => {
    let steps = 0
    const found = finder(needle)(text, 0, { spend: (more) => void (steps += more) })
    t.equal(found, text.indexOf(needle))
    return steps
  }
  const text = 'a'.repeat(500_000)
  const slow = spent(`${'a'.repeat(4000)}b`, text)
  const fast = spent(`${'b'.repeat(4000)}a`, text)
  t.ok(slow > 1.9 * text.length, `${slow} steps`)
  t.ok(fast < 1.1 * text.length, `${fast} steps`)
  t.ok(spent('aaaaaab', text) >= text.length * 0.8)
})

// 250 texts, each the beginning of the next, marked 250 rules at each byte.
t.test('an index charges for the rules that a text marks', async (t) => {
  const texts = Array.from({ length: 200 }, (_, at) => 'a'.repeat(at + 5))
  const rules = texts.map((text) => indexedRule(parse(`${BODY} contains "${text}"`)))
  const index = new RuleIndex(rules)
  const context = new Getters(SCHEME, { [BODY]: () => 'a'.repeat(500_000) }).context(undefined, REQUEST_STEPS)
  t.throws(() => index.candidates(context), BUDGET_EXCEEDED)
})
