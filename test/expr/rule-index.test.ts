import fc from 'fast-check'
import t from 'tap'
import {
  arrayOf,
  BOOL,
  compile,
  contextOf,
  ipList,
  parse,
  parseIp,
  indexedRule,
  RuleIndex,
  Scheme,
  SCHEME,
  type Context,
  type Value,
} from '../../src/expr/index.js'

const HOSTS = ['example.com', 'www.example.com', 'shop.example.com', 'EXAMPLE.com', '']
const PATHS = ['/', '/api/v1/users', '/API/v1', '/blog/post-1.html', '/wp-login.php', '/a/b/c', '']
const AGENTS = ['curl/8.4.0', 'Mozilla/5.0 Chrome/120', 'GoogleBot/2.1', 'bot', '\u00fcber']
const ADDRESSES = [
  '10.0.0.1',
  '10.1.2.3',
  '192.0.2.10',
  '192.0.2.255',
  '255.255.255.255',
  '0.0.0.0',
  '::1',
  '2001:db8::1',
  'ffff::ffff',
]
const NETWORKS = [
  '10.0.0.0/8',
  '10.1.0.0/16',
  '10.1.2.3',
  '192.0.2.0/24',
  '192.0.2.1..192.0.2.20',
  '0.0.0.0/0',
  '::/0',
  '2001:db8::/32',
  '255.255.255.255',
  'ffff::ffff',
  '10.0.0.1..10.1.2.3',
]
const TAGS = ['alpha', 'beta-1', 'Gamma', 'x']

const of = (list: readonly string[]) => fc.constantFrom(...list)
const some = (list: readonly string[]) => fc.array(of(list), { maxLength: 4 })
const literal = (list: readonly string[]) => of(list).map((text) => JSON.stringify(text))
const part = (list: readonly string[]) =>
  fc
    .tuple(of(list), fc.nat(12), fc.nat(12))
    .map(([text, from, length]) => JSON.stringify(text.slice(from, from + length)))

/** Comparisons of every type with a gate, and some without. */
const comparison = fc.oneof(
  literal(HOSTS).map((host) => `http.host eq ${host}`),
  literal(HOSTS).map((host) => `lower(http.host) == ${host}`),
  fc.array(literal(HOSTS), { maxLength: 3 }).map((hosts) => `http.host in {${hosts.join(' ')}}`),
  literal(HOSTS).map((host) => `http.host ne ${host}`),
  part(PATHS).map((path) => `starts_with(http.request.uri.path, ${path})`),
  part(PATHS).map((path) => `ends_with(lower(http.request.uri.path), ${path})`),
  part(PATHS).map((path) => `http.request.uri.path contains ${path}`),
  part(PATHS).map((path) => `upper(http.request.uri.path) contains ${path}`),
  part(PATHS).map((path) => `http.request.uri.path wildcard ${JSON.stringify(`${JSON.parse(path)}*`)}`),
  part(PATHS).map((path) => `http.request.uri.path strict wildcard ${JSON.stringify(`*${JSON.parse(path)}p*`)}`),
  literal(PATHS).map((path) => `http.request.uri.path wildcard ${path}`),
  of(['bot', '(?i)BOT', '^curl/[0-9]', 'Chrome|curl', 'x*', '(?i)google(bot|news)', '\u00fc']).map(
    (p) => `http.user_agent ~ ${JSON.stringify(p)}`,
  ),
  fc.array(of(NETWORKS), { maxLength: 3 }).map((list) => `ip.src in {${list.join(' ')}}`),
  of(ADDRESSES).map((ip) => `ip.src eq ${ip}`),
  of(['ip.src in $office', 'ssl', 'true', 'false', 'ip.src.country in {"DE" "US"}', 'ip.src.country eq "DE"']),
  of([
    'cf.edge.server_port eq 443',
    'cf.edge.server_port in {80 8080}',
    'cf.edge.server_port in {80..443}',
    'cf.threat_score gt 5',
  ]),
  literal(TAGS).map((tag) => `any(http.request.headers["x-tag"][*] eq ${tag})`),
  literal(TAGS).map((tag) => `any(lower(http.request.headers["x-tag"][*])[*] eq ${tag})`),
  part(TAGS).map((tag) => `any(http.request.headers["x-tag"][*] contains ${tag})`),
  part(TAGS).map((tag) => `any(starts_with(http.request.headers["x-tag"][*], ${tag}))`),
  part(TAGS).map((tag) => `any(http.request.headers[*][*] contains ${tag})`),
  literal(TAGS).map((tag) => `all(http.request.headers["x-tag"][*] eq ${tag})`),
  literal(TAGS).map(
    (tag) => `any((http.request.headers["x-tag"][*] eq ${tag} or http.request.headers.values[*] eq ${tag}))`,
  ),
  literal(TAGS).map((tag) => `any(not http.request.headers["x-tag"][*] eq ${tag})`),
  literal(TAGS).map((tag) => `http.request.headers["x-tag"][0] eq ${tag}`),
  part(HOSTS).map((host) => `concat(http.host, http.request.uri.path) contains ${host}`),
  part(HOSTS).map((host) => `starts_with(concat("/", http.host), ${host})`),
)
const { rule } = fc.letrec<{ rule: string }>((tie) => ({
  rule: fc.oneof(
    { depthSize: 'small' },
    comparison,
    fc.tuple(tie('rule'), of(['and', 'or', 'xor']), tie('rule')).map(([a, op, b]) => `(${a} ${op} ${b})`),
    fc.tuple(tie('rule'), tie('rule'), tie('rule')).map((list) => `(${list.join(' and ')})`),
    tie('rule').map((inner) => `not ${inner}`),
  ),
}))
const optional = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined, freq: 6 })
const request = fc.record({
  'http.host': optional(of(HOSTS)),
  'http.request.uri.path': optional(of(PATHS)),
  'http.user_agent': optional(of(AGENTS)),
  'ip.src': optional(of(ADDRESSES).map((ip) => parseIp(ip))),
  'ip.src.country': optional(of(['DE', 'US', 'FR'])),
  ssl: optional(fc.boolean()),
  'cf.edge.server_port': optional(fc.constantFrom(80, 443, 8080)),
  'cf.threat_score': optional(fc.constantFrom(1, 50)),
  'http.request.headers.values': optional(some(TAGS)),
  'http.request.headers': optional(
    some(TAGS).map(
      (tags) =>
        new Map([
          ['x-tag', tags],
          ['x-other', ['beta-1']],
        ]),
    ),
  ),
})

const contextFor = (values: Record<string, Value | undefined>): Context =>
  contextOf(SCHEME, new Map(Object.entries(values).filter((entry): entry is [string, Value] => entry[1] !== undefined)))

t.test('an index finds the same rules as sequential evaluation, in the same order', async (t) => {
  const office = ipList(['10.0.0.0/8'])
  const lists = { get: (name: string) => (name === 'office' ? office : undefined) }
  let spared = 0
  fc.assert(
    fc.property(
      fc.array(rule, { minLength: 14, maxLength: 60, size: 'max' }),
      fc.array(request, { minLength: 1, maxLength: 8 }),
      (texts, requests) => {
        const rules = texts.filter((text) => text.length <= 4096).map((text) => parse(text))
        const filters = rules.map((expression) => compile(expression, lists))
        const index = new RuleIndex(
          rules.map((rule) => indexedRule(rule, lists)),
          lists,
        )
        for (const values of requests) {
          const context = contextFor(values)
          const linear = filters.flatMap((filter, at) => (filter(context) ? [at] : []))
          const found = index.matching(contextFor(values))
          if (found.join() !== linear.join()) {
            const different = linear.find((at) => !found.includes(at)) ?? found.find((at) => !linear.includes(at))
            throw new Error(`${texts[different ?? -1]}: linear ${linear.join()}, indexed ${found.join()}`)
          }
          if (index.first(context) !== (linear[0] ?? -1)) throw new Error('another first rule')
          spared += rules.length - index.candidates(context).length
        }
      },
    ),
    { numRuns: 300 },
  )
  t.ok(spared > 0, 'and asks fewer')
})

t.test('of a thousand rules only the few that can match are evaluated', async (t) => {
  const rules = Array.from({ length: 1000 }, (_, n) =>
    parse(
      [
        `http.host eq "shop${n}.example.com" and starts_with(http.request.uri.path, "/")`,
        `http.request.uri.path contains "/item-${n}/"`,
        `ip.src in {10.${n % 256}.${n >> 8}.0/24}`,
        `http.user_agent matches "(?i)agent-${n}[a-z]"`,
        `any(http.request.headers["x-tag"][*] eq "tag-${n}")`,
      ][n % 5] as string,
    ),
  )
  const index = new RuleIndex(rules.map((rule) => indexedRule(rule)))
  const candidates = index.candidates(
    contextFor({
      'http.host': 'shop5.example.com',
      'http.request.uri.path': '/item-6/x',
      'ip.src': parseIp('10.7.0.9'),
      'http.user_agent': 'AGENT-8',
      'http.request.headers': new Map([['x-tag', ['tag-9', 'tag-14']]]),
    }),
  )
  t.same(candidates, [5, 6, 7, 8, 9, 14], 'the agent is a candidate that does not match')
  t.same(index.candidates(contextFor({})), [])
  t.equal(index.size, 1000)
})

t.test('rules that do not fit into the tables are always evaluated, with correct results', async (t) => {
  const ranges = Array.from({ length: 1500 }, (_, n) =>
    parse(`ip.src in {0.0.0.${n % 250}..255.255.${255 - (n >> 4)}.0}`),
  )
  const wide = new RuleIndex(ranges.map((rule) => indexedRule(rule)))
  t.equal(wide.matching(contextFor({ 'ip.src': parseIp('8.8.8.8') })).length, 1500)
  const texts = Array.from({ length: 2000 }, (_, n) =>
    parse(`http.host contains "${`${n}`.padStart(30, 'abcdefghij')}"`),
  )
  const many = new RuleIndex(texts.map((rule) => indexedRule(rule)))
  for (const n of [0, 999, 1999]) {
    t.same(many.matching(contextFor({ 'http.host': `-${`${n}`.padStart(30, 'abcdefghij')}-` })), [n])
  }
})

t.test('the index of many ranges is built in steps, with the same results', async (t) => {
  // In reverse, so that they have to be sorted.
  const addresses = (rule: number) => Array.from({ length: 240 }, (_, n) => `10.${199 - rule}.0.${240 - n}`).join(' ')
  const networks = (rule: number) => `2001:db8:${(199 - rule).toString(16)}::/48 2001:db8::/32`
  const rules = Array.from({ length: 200 }, (_, rule) =>
    indexedRule(parse(`ip.src in {${addresses(rule)} ${networks(rule)}}`)),
  )
  const steps = RuleIndex.inSteps(rules)
  let count = 0
  let next = steps.next()
  for (; next.done !== true; next = steps.next()) count += 1
  // Each rule, and each 500 ranges that are sorted, merged and cut.
  t.ok(count > 200 + (3 * 200 * 240) / 500, `${count} steps`)
  const whole = new RuleIndex(rules)
  for (const ip of ['10.7.0.1', '10.199.0.240', '10.199.0.241', '2001:db8:7::1', '2001:db8:ffff::', '2001:db9::']) {
    const context = contextFor({ 'ip.src': parseIp(ip) })
    t.same(next.value.matching(context), whole.matching(context), ip)
  }
  t.same(next.value.matching(contextFor({ 'ip.src': parseIp('10.7.0.1') })), [192])
  t.equal(next.value.matching(contextFor({ 'ip.src': parseIp('2001:db8:7::1') })).length, 200)
})

t.test('a rule that tests an array of Bool without [*] is found', async (t) => {
  const scheme = new Scheme([{ name: 'flags', type: arrayOf(BOOL) }], [])
  const rules = Array.from({ length: 20 }, () => indexedRule(parse('any((flags or flags))', { scheme })))
  const found = new RuleIndex(rules).matching(contextOf(scheme, new Map([['flags', [false, true]]])))
  t.equal(found.length, 20)
})
