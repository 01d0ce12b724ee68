import fc from 'fast-check'
import t from 'tap'
import { Captures } from '../../src/expr/regex/captures.js'
import { LazyDfa } from '../../src/expr/regex/dfa.js'
import { BUDGET_EXCEEDED, UNLIMITED } from '../../src/expr/language/budget.js'
import { finder } from '../../src/expr/language/find-text.js'
import { parseRegex, RegexSyntaxError } from '../../src/expr/regex/index.js'
import { parse } from '../../src/expr/regex/parse.js'
import { compileProgram } from '../../src/expr/regex/program.js'
import { Simulation } from '../../src/expr/regex/simulate.js'
import { compile, Getters, parse as parseExpression, SCHEME, toBytes, unicodeTables } from '../../src/expr/index.js'
import { parseWildcard } from '../../src/expr/language/wildcard.js'

const regex = (pattern: string) => parseRegex(toBytes(pattern))
const refuses = (pattern: string) => {
  try {
    return regex(pattern) === undefined
  } catch (error) {
    return error instanceof RegexSyntaxError
  }
}
const found = (pattern: string, text: string) => regex(pattern).test(toBytes(text))

/** Returns our own engines for a pattern, regardless of which one the product would choose. */
function engines(pattern: string) {
  const { hir, groups } = parse(pattern)
  const program = compileProgram(hir, false)
  const simulation = new Simulation(program)
  return {
    automaton: new LazyDfa(program, () => simulation),
    simulation,
    captures: new Captures(compileProgram(hir, true), groups.length),
  }
}

const group = (inner: fc.Arbitrary<string>) => inner.map((text) => `(?:${text})`)
/** Patterns with the same meaning in JavaScript. */
const { pattern: patterns } = fc.letrec<{ pattern: string; sequence: string; piece: string; atom: string }>((tie) => ({
  atom: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('a', 'b', 'c', '-', '\\n') },
    { weight: 3, arbitrary: fc.constantFrom('.', '[ab]', '[^a]', '\\w', '\\d', '\\s', '\\W', '[a-c\\d]', '\\x62') },
    { weight: 2, arbitrary: fc.constantFrom('^', '$', '\\b', '\\B') },
    { weight: 2, arbitrary: group(tie('pattern')) },
  ),
  piece: fc.tuple(tie('atom'), fc.constantFrom('', '', '', '*', '+', '?', '*?', '+?', '{2}', '{1,3}', '{0,2}?')).map(
    // JavaScript does not repeat assertions.
    ([atom, repeat]) => (/^(\^|\$|\\b|\\B)$/.test(atom) ? atom : atom + repeat),
  ),
  sequence: fc.array(tie('piece'), { minLength: 1, maxLength: 4 }).map((list) => list.join('')),
  pattern: fc.array(tie('sequence'), { minLength: 1, maxLength: 3 }).map((list) => list.join('|')),
}))
const texts = fc.array(fc.constantFrom('a', 'b', 'c', '-', '\n', '0', ' ', '\u00fc'), { maxLength: 12 })

t.test('all engines agree with JavaScript if both languages have the same syntax', async (t) => {
  fc.assert(
    fc.property(patterns, fc.array(texts, { minLength: 1, maxLength: 6 }), (pattern, list) => {
      // No flag: `.` excludes only a line feed in ours, and a few more in JavaScript, which the texts omit.
      const reference = new RegExp(pattern)
      const own = engines(pattern)
      const chosen = parseRegex(pattern)
      for (const parts of list) {
        const text = parts.join('')
        const match = reference.exec(text)
        const expected = match !== null
        const responses = [chosen.test(text), own.automaton.test(text, UNLIMITED), own.simulation.test(text, UNLIMITED)]
        if (responses.some((response) => response !== expected)) {
          throw new Error(`${pattern} on ${JSON.stringify(text)}: ${responses.join()}, ${chosen.engine}`)
        }
        const span = own.captures.exec(text, UNLIMITED)?.slice(0, 2)
        const wanted = match === null ? undefined : [match.index, match.index + match[0].length]
        // An empty iteration of a loop counts in Rust and not in JavaScript, which moves the end of a match.
        if (!/\)[*+?{]/.test(pattern) && span?.join() !== wanted?.join())
          throw new Error(`${pattern} on ${JSON.stringify(text)}: ${span?.join()}`)
        const texts = chosen.required
        if (expected && texts !== undefined && !texts.some((part) => text.toLowerCase().includes(part))) {
          throw new Error(`${pattern} matches ${JSON.stringify(text)} without any of ${texts.join()}`)
        }
      }
    }),
    { numRuns: 1500 },
  )
  t.pass()
})

t.test('hostile patterns on long texts terminate', async (t) => {
  const long = (text: string) => text.repeat(Math.ceil(100_000 / text.length))
  let seed = 1
  const shuffled = Array.from({ length: 100_000 }, () => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31
    return seed < 2 ** 30 ? 'a' : 'b'
  }).join('')
  const cases: [pattern: string, text: string, expected: boolean][] = [
    ['(a+)+$', `${long('a')}b`, false],
    ['^(?:[a-z]+)*@', long('a'), false],
    ['(a|aa)+$', `${long('a')}b`, false],
    ['(.*)*x', long('a'), false],
    ['(.*){1,32}[bc]', long('a'), false],
    ['(a?){50}a{50}b', long('a'), false],
    ['(x+x+)+y', long('x'), false],
    ['^(a+)+(b+)+(c+)+$', `${long('a')}${long('b')}${long('c')}d`, false],
    ['(a|b)*a(a|b){12}c', long('ab'), false],
    // More states than the cache can store: the simulation is used.
    ['(a|b)*a(a|b){24}c', shuffled, false],
    ['\\s+$', `${long(' ')}x`, false],
    ['.*.*.*=.*', long('x'), false],
    ['(?:(?:a|b|ab)*)*c', long('ab'), false],
    ['a*a*a*a*a*a*b', long('a'), false],
    ['[a-z]+[0-9]', long('a'), false],
    ['(?i)<script[^>]*>[^<]*</script', long('<script>'), false],
    ['(?u)\\b\\w+\\b@', long('\u00fc'), false],
    ['^[a-z]+/.*[0-9]$', `${long('a')}/${long('b')}`, false],
    ['(a+)+b', `${long('a')}b`, true],
  ]
  for (const [pattern, text, expected] of cases) t.equal(found(pattern, text), expected, pattern)
})

t.test('no pattern is slow on a long text, for any chosen engine', async (t) => {
  const long = ['a'.repeat(50_000), `${'ab'.repeat(25_000)}!`, 'abc0-'.repeat(10_000)]
  fc.assert(
    fc.property(patterns, (pattern) => {
      const chosen = parseRegex(pattern)
      for (const text of long) chosen.test(text)
    }),
    { numRuns: 300 },
  )
  t.pass()
})

t.test('sets of Unicode match those of the engine, and many of them are read quickly', async (t) => {
  const names = ['L', 'Lu', 'Cn', 'Alphabetic', 'sc=Han', 'scx=Greek', 'sc=Common', 'White_Space', 'Any', 'NChar', 'Co']
  t.ok(refuses(`(?iu)${'\\p{L}'.repeat(600)}`))
  for (let i = 0; i < 50; i++) regex(`(?iu)${'abcdefgh'.repeat(500)}`)
  for (const name of names) {
    const set = new RegExp(`\\p{${name}}`, 'u')
    const own = regex(`^(?u)\\p{${name}}$`)
    for (const point of [
      0x41, 0x3b1, 0x378, 0x4e00, 0xe000, 0xfffe, 0x1f600, 0x40000, 0x4fffd, 0x4fffe, 0xe0001, 0x10fffd,
    ]) {
      const char = String.fromCodePoint(point)
      t.equal(own.test(toBytes(char)), set.test(char), `${name} U+${point.toString(16)}`)
    }
  }
})

t.test('the engine of JavaScript is used only for patterns on which it cannot be slow', async (t) => {
  for (const pattern of [
    'foo',
    '^/api/v[0-9]+/',
    '(?i)(bot|crawl|spider)',
    '\\.php$',
    '^[a-z]+/.*x',
    'foo[0-9]+',
    '\\bfoo\\b',
    '',
    `^(?:${'a|'.repeat(60)}b)a{500}c`,
  ]) {
    t.equal(regex(pattern).engine, 'backtracking', pattern)
  }
  for (const pattern of [
    'a*b',
    '(a+)+',
    '.*x',
    '\\w+$',
    '^.*a.*b',
    '^[a-z]+[a-f]+x',
    '(a?){30}b',
    'foo.*bar',
    '(?m)^a',
    '\\<a',
    // Few ways and a bounded length, but thirty thousand steps at each position of a text.
    `(?:${'a|'.repeat(60)}b)a{500}c`,
  ]) {
    t.equal(regex(pattern).engine, 'automaton', pattern)
  }
  t.equal(regex('(?u)\\bfoo').engine, 'simulation')
})

t.test('patterns that the reference rejects are rejected', async (t) => {
  const refused = `(?=a) (?!a) (?<=a) (?<!a) \\1 \\0 \\8 \\Q \\E \\Z \\h \\K \\e \\cA \\R \\N (?>a) (?P=n) a{,3} a{2 a{2,1} a{x} { [] [a
    [z-a] [\\d-x] [a-\\d] *a +a ?a a|*b (*a) ( ) (a a) (?i)* (?) (?-) (?ii) (?i--s) (?z) (?P<1>a) (?P<>a) (?P<a>b)(?P<a>c)
    \\x{} \\xg0 \\x1 \\u12 \\x{110000} \\x{d800} \\p{L} \\pL [\u00fc] [\\x{fc}] [\\b] (?u)\\p{Nope} \\b{nope} \\b{start
    (?u)\\p{ a{4294967296}`
  for (const pattern of refused.trim().split(/\s+/)) {
    t.ok(refuses(pattern), pattern)
  }
  t.throws(() => regex('('.repeat(300) + ')'.repeat(300)), /maximum number of nested parentheses/)
  t.ok(refuses('['.repeat(300) + ']'.repeat(300)))
  t.throws(() => regex('(?:a{1000}){1000}'), /1000000 steps, 20000 are allowed/)
  // Too deep for the stack when it is compiled, or fits only if few calls are on it.
  for (const repeat of ['*', '{1}']) t.throws(() => regex(`a${repeat.repeat(1100)}`), /nested repetitions/)
  t.ok(regex(`${'(?:a'.repeat(249)}${'b*)?'.repeat(249)}`).test('a'), 'and what is as deep as groups may be is taken')
})

t.test('syntax beyond JavaScript has its meaning in Rust', async (t) => {
  const cases: [pattern: string, matching: string[], other: string[]][] = [
    ['(?i)ABC', ['abc', 'aBc'], ['ab']],
    ['(?i:a)b', ['Ab'], ['AB']],
    ['a(?i)b|c', ['aB', 'C'], ['AB']],
    ['(?s)a.b', ['a\nb'], ['ab']],
    ['a.b', ['axb'], ['a\nb']],
    ['(?m)^b$', ['a\nb\nc'], ['ab']],
    ['(?mR)^b$', ['a\r\nb\r\nc', 'a\rb'], ['ab']],
    ['(?x) a b [ c ] # x', ['abc'], ['ab c']],
    ['(?x)a\\ b', ['a b'], ['ab']],
    ['(?U)^a+$', ['aa'], ['b']],
    ['x++', ['x'], ['y']],
    ['^[a-z&&[^aeiou]]+$', ['xyz'], ['xay']],
    ['^[a-c--b]+$', ['ac'], ['abc']],
    ['^[a-c~~b-d]+$', ['ad'], ['b']],
    ['^[]a]+$', [']a'], ['b']],
    ['^[^]a]$', ['b'], [']']],
    ['^[-a]+$', ['-a'], ['b']],
    ['^[a-]+$', ['-a'], ['b']],
    ['^[[:^digit:]]$', ['a'], ['1']],
    ['^[\\]\\-]+$', [']-'], ['a']],
    ['\\bfoo\\>', ['a foo'], ['food']],
    ['\\b{start}foo\\b{end}', ['foo'], ['xfoo']],
    ['\\b{start-half}foo\\b{end-half}', ['-foo-'], ['foox']],
    ['\\b{2}foo', ['foo'], ['xfoo']],
    ['^\\xfc$', [], ['\u00fc']],
    ['^\\x{fc}$', ['\u00fc'], ['u']],
    ['^\\u00fc\\U000000fc$', ['\u00fc\u00fc'], []],
    ['^\u00fc+$', ['\u00fc\u00fc'], ['\u00e4']],
    ['^(?u)\u00fc+$', ['\u00fc\u00fc'], ['\u00e4']],
    ['^..$', ['\u00fc'], ['a']],
    ['^(?u)..$', ['\u00fc\u00e4'], ['\u00fc']],
    ['^(?u)\\w+$', ['\u00fcb\ud55c'], ['-']],
    ['^\\w+$', ['ab'], ['\u00fc']],
    ['^(?iu)\u00fc\u212a$', ['\u00dck', '\u00fcK'], ['uk']],
    ['^(?u)\\p{Hangul}+$', ['\ud55c\uae00'], ['a']],
    ['^(?u)\\p{Lu}\\P{Lu}\\p{^Lu}\\p{script=Greek}\\p{gc!=Lu}$', ['Aaa\u03b1a'], ['aaaaa']],
    ['^(?u)[\\p{Greek}&&\\p{Uppercase}]$', ['\u03a9'], ['\u03c9', 'A']],
    ['^(?u)[^a]$', ['\u{1f600}', '\u00fc'], ['a']],
    ['(?u)\\b\u00fc\\b', ['a \u00fc b'], ['a\u00fc']],
    ['^a{2,}$', ['aa', 'aaa'], ['a']],
    ['^a{ 2 , 3 }$', ['aa', 'aaa'], ['a']],
    ['^(?P<x>a)(?<y>b)$', ['ab'], []],
    ['\\A\\a\\f\\t\\n\\r\\v\\z', ['\u0007\f\t\n\r\v'], []],
    ['a|', ['', 'b'], []],
    ['^(|a)+$', ['', 'aa'], ['b']],
  ]
  for (const [pattern, matching, other] of cases) {
    for (const text of matching) t.ok(found(pattern, text), `${pattern} in ${JSON.stringify(text)}`)
    for (const text of other) t.notOk(found(pattern, text), `${pattern} not in ${JSON.stringify(text)}`)
  }
  t.ok(regex('^\\xfc$').test('\u00fc'), 'a byte that is no UTF-8')
})

t.test('captures are of the leftmost match and the last iteration of a loop', async (t) => {
  const exec = (pattern: string, text: string) => regex(pattern).exec(text)
  t.same(exec('(a)|(b)', 'xb'), [1, 2, -1, -1, 1, 2])
  t.same(exec('(?:(a)|(b))+', 'ab'), [0, 2, 0, 1, 1, 2])
  t.same(exec('(a+?)(a*)', 'aaa'), [0, 3, 0, 1, 1, 3])
  t.same(exec('(?U)(a+)(a*)', 'aaa'), [0, 1, 0, 1, 1, 1])
  t.same(exec('(?P<n>b)$', 'ab'), [1, 2, 1, 2])
  t.equal(exec('c', 'ab'), undefined)
})

t.test('wildcards match the whole text', async (t) => {
  const reference = (pattern: string, strict: boolean) => {
    const body = pattern.replace(/\\([*\\])|\*|[^*\\]/gs, (found, escaped?: string) =>
      found === '*' ? '[^]*' : (escaped ?? found).replace(/[^a-zA-Z]/g, '\\$&'),
    )
    return new RegExp(`^${body}$`, strict ? '' : 'i')
  }
  const pieces = fc.constantFrom('a', 'B', 'ab', '*', '\\*', '\\\\', '?', '/')
  const pattern = fc.array(pieces, { maxLength: 8 }).map((list) => list.join(''))
  const text = fc.array(fc.constantFrom('a', 'A', 'b', 'B', '*', '\\', '?', '/'), { maxLength: 10 })
  fc.assert(
    fc.property(pattern, fc.boolean(), text, (pattern, strict, parts) => {
      const wildcard = parseWildcard(pattern, strict)
      if (typeof wildcard === 'string') return
      const value = parts.join('')
      if (wildcard.test(value, UNLIMITED) !== reference(pattern, strict).test(value))
        throw new Error(`${pattern} on ${value}`)
      const stars = wildcard.exec(value, UNLIMITED)
      if ((stars === undefined) === wildcard.test(value, UNLIMITED)) throw new Error(`${pattern} on ${value}: stars`)
    }),
    { numRuns: 1500 },
  )
  t.match(parseWildcard('a**', true), /double star/)
  t.match(parseWildcard('a\\b', true), /invalid escape/)
  t.match(parseWildcard('a\\', true), /invalid escape/)
  const long = parseWildcard('a*'.repeat(1000), true)
  if (typeof long !== 'string') t.ok(long.test('a'.repeat(100_000), UNLIMITED))
})

t.test('a search beyond its budget throws on every engine', async (t) => {
  const text = 'ab'.repeat(20_000)
  const patterns = ['(?:a|b)(?:a|b)c', '(a|b)*a(a|b){24}c', 'a+b+c', '(?u)\\b\\w+\\b@']
  for (const pattern of patterns) {
    const getters = new Getters(SCHEME, { 'http.request.uri.query': () => text })
    const matches = compile(parseExpression(`http.request.uri.query matches r"${pattern}"`))
    t.equal(matches(getters.context(undefined)), false, pattern)
    t.throws(() => matches(getters.context(undefined, 1000)), BUDGET_EXCEEDED, pattern)
  }
})

t.test('other long searches and functions are charged to the budget too', async (t) => {
  const expressions = [
    'http.request.uri.query contains "zz"',
    'http.request.uri.query wildcard "*zz*"',
    'lower(http.request.uri.query) == "a"',
    'any(http.request.uri.args.values[*] == "a")',
  ]
  for (const expression of expressions) {
    const getters = new Getters(SCHEME, {
      'http.request.uri.query': () => 'a'.repeat(4000),
      'http.request.uri.args.values': () => Array.from({ length: 4000 }, () => ''),
    })
    const matches = compile(parseExpression(expression))
    t.equal(matches(getters.context(undefined, 10_000)), false, expression)
    t.throws(() => matches(getters.context(undefined, 100)), BUDGET_EXCEEDED, expression)
  }
})

t.test('the search for long texts finds the same position as the engine', async () => {
  const letters = fc.array(fc.constantFrom('a', 'b'), { minLength: 16, maxLength: 40 })
  fc.assert(
    fc.property(letters, letters, fc.nat(50), (needle, around, from) => {
      const wanted = needle.join('')
      const text = `${around.join('').repeat(100)}${wanted}${around.join('').repeat(100)}`
      const found = finder(wanted)(text, from, UNLIMITED)
      if (found !== text.indexOf(wanted, from)) throw new Error(`${wanted} is not at ${found}`)
    }),
    { numRuns: 200 },
  )
})

t.test('the Unicode tables of a text are built in steps, once', (t) => {
  const text = String.raw`{"expression":"http.host matches \"(?iu)\\p{Osage}[\\pZ\\P{sc!=Vai}]\\w\" or \\p{none}"}`
  t.ok([...unicodeTables(text)].length > 4)
  t.same([...unicodeTables(text)], [])
  t.same([...unicodeTables('\\p{Deseret} (?i)')], [], 'nothing without the flag')
  t.equal(found('(?iu)^\\p{Osage}$', '𐒰'), true)
  t.end()
})
