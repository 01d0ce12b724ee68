import fc from 'fast-check'
import t from 'tap'
import { InvalidInput } from '../../../src/core/errors.js'
import { compileFilter, Scanner } from '../../../pipelines/records/index.js'
import { httpRequests, named } from './helper.js'

const scanner = new Scanner(httpRequests)

/** Whether `{key, operator, value}`, with the value as JSON text, keeps a record. */
function keeps(key: string, operator: string, value: string, line: string): boolean {
  const filter = `{"where":{"key":"${key}","operator":"${operator}","value":${value}}}`
  return compileFilter(httpRequests, filter)(scanner.scan(Buffer.from(line)))
}

// Field, operator, value of the filter; values of records that are kept; values that are not.
const CASES: [key: string, operator: string, value: string, kept: string[], dropped: string[]][] = [
  ['RayID', 'eq', '"ab"', ['"ab"', '"a\\u0062"'], ['"aB"', '"abc"', '"a"', '""', '5', '["ab"]', 'true']],
  ['RayID', 'eq', '""', ['""'], ['"a"', '{}']],
  ['RayID', 'eq', '"\\"é\\ud83d\\ude00"', ['"\\"é😀"', '"\\u0022\\u00e9\\uD83D\\uDE00"'], ['"é"']],
  ['RayID', 'startsWith', '"ab"', ['"ab"', '"abc"', '"\\u0061bc"'], ['"Abc"', '"a"', '"xab"']],
  ['RayID', 'startsWith', '""', ['""', '"a"'], ['1']],
  ['RayID', 'endsWith', '"bc"', ['"bc"', '"abc"', '"ab\\u0063"'], ['"bcd"', '"c"']],
  ['RayID', 'contains', '"b"', ['"abc"', '"b"', '"\\u0062"'], ['"ac"', '""', '"B"']],
  ['RayID', 'contains', '"\\""', ['"a\\"b"'], ['"ab"', '""']],
  ['RayID', 'in', '["a","b"]', ['"a"', '"b"'], ['"c"', '"ab"', '""']],
  ['ClientIP', 'eq', '"192.0.2.1"', ['"192.0.2.1"'], ['"192.0.2.10"']],
  ['BotScore', 'eq', '30', ['30', '30.0', '3e1', '300E-1'], ['3', '31', '-30', '"30"', 'true', '[30]']],
  ['BotScore', 'eq', '"30"', ['30'], ['31']],
  ['BotScore', 'lt', '30', ['29', '-1', '0', '29.99', '-1e99'], ['30', '31', '1e2', '"1"']],
  ['BotScore', 'leq', '30', ['29', '30'], ['31', '30.01']],
  ['BotScore', 'gt', '30', ['31', '30.000000000000000000001', '1e400'], ['30', '29', '-31']],
  ['BotScore', 'geq', '30', ['30', '31'], ['29', '29.9999999999999999999999']],
  ['BotScore', 'geq', '-5', ['-5', '-4.9', '0', '-0'], ['-5.1', '-6']],
  ['BotScore', 'eq', '0', ['0', '-0', '0.0', '0e9', '-0.00e-5'], ['1', '0.1']],
  ['BotScore', 'in', '[200, "404", 5e2]', ['200', '404', '500'], ['201', '20']],
  [
    'BotScore',
    'eq',
    '18446744073709551615',
    ['18446744073709551615'],
    ['18446744073709551614', '18446744073709551616'],
  ],
  ['BotScore', 'gt', '1506702504433000200', ['1506702504433000201'], ['1506702504433000200', '1506702504433000199']],
  ['BotScore', 'lt', '1e999999999999', ['1e999999999998', '5'], ['1e999999999999', '2e999999999999']],
  ['CacheReserveUsed', 'eq', 'true', ['true'], ['false', '"true"', '1']],
  ['CacheReserveUsed', 'eq', '"false"', ['false'], ['true']],
  [
    'SecuritySources',
    'contains',
    '"waf"',
    ['["waf"]', '["a", "waf"]', '["\\u0077af"]'],
    ['[]', '["wafs"]', '"waf"', '[["waf"]]', '["a]","wa\\"f"]'],
  ],
  ['SecuritySources', 'contains', '"a,b"', ['["a,b"]', '["x\\"","a,b"]'], ['["a","b"]', '[{"a":["a,b"]}]']],
  ['BotDetectionIDs', 'contains', '7', ['[7]', '[1, 7,3]', '[7.0]'], ['[77]', '[]', '["7"]', '[[7]]']],
  [
    'EdgeStartTimestamp',
    'geq',
    '"2017-09-29T16:28:24Z"',
    ['1506702504', '1506702504433000200', '"2017-09-29T18:28:24+02:00"'],
    ['1506702503', '1506702503999', '"soon"', '{}'],
  ],
  [
    'EdgeStartTimestamp',
    'eq',
    '1506702504433',
    ['1506702504433', '1506702504433000000', '"2017-09-29T16:28:24.433Z"'],
    ['1506702504433000001'],
  ],
  [
    'EdgeStartTimestamp',
    'lt',
    '"1506702504433000200"',
    ['1506702504433000199'],
    ['1506702504433000200', '1506702504433000201'],
  ],
  ['EdgeStartTimestamp', 'in', '[1, "1970-01-01T00:00:02Z"]', ['1', '2'], ['3']],
]
for (const [key, operator, value, kept, dropped] of CASES) {
  t.test(`${key} ${operator} ${value}`, async (t) => {
    for (const text of kept) t.ok(keeps(key, operator, value, `{"${key}":${text}}`), `keeps ${text}`)
    for (const text of [...dropped, 'null']) t.notOk(keeps(key, operator, value, `{"${key}":${text}}`), `drops ${text}`)
    t.notOk(keeps(key, operator, value, '{}'), 'drops a record without the field')
    if (['lt', 'leq', 'gt', 'geq'].includes(operator)) return
    for (const text of kept) t.notOk(keeps(key, `!${operator}`, value, `{"${key}":${text}}`), `negated drops ${text}`)
    for (const text of [...dropped, 'null'])
      t.ok(keeps(key, `!${operator}`, value, `{"${key}":${text}}`), `negated keeps ${text}`)
    t.ok(keeps(key, `!${operator}`, value, '{}'), 'negated keeps a record without the field')
  })
}

const condition = (key: string, operator: string, value: unknown) => ({ key, operator, value })
const ONE = condition('BotScore', 'geq', 1)
const TWO = condition('BotScore', 'leq', 2)

t.test('conditions are joined', async (t) => {
  const where = { or: [{ and: [ONE, TWO] }, condition('RayID', 'eq', 'x')] }
  const filter = compileFilter(httpRequests, JSON.stringify({ where }))
  const passes = (line: string) => filter(scanner.scan(Buffer.from(line)))
  t.strictSame(['{"BotScore":1}', '{"BotScore":3}', '{"BotScore":3,"RayID":"x"}', '{}'].map(passes), [
    true,
    false,
    true,
    false,
  ])
})

t.test('an empty text keeps all; an object and its text are the same; neq is !eq', async (t) => {
  const record = scanner.scan(Buffer.from('{"BotScore":1}'))
  t.equal(compileFilter(httpRequests, '')(record), true)
  t.equal(compileFilter(httpRequests, { where: ONE })(record), true)
  t.equal(compileFilter(httpRequests, { where: condition('BotScore', 'neq', 1) })(record), false)
})

t.test('a key that is escaped in the text of the filter is the same key', async (t) => {
  const filter = compileFilter(httpRequests, '{"wh\\u0065re":{"key":"Bot\\u0053core","operator":"eq","value":1}}')
  t.equal(filter(scanner.scan(Buffer.from('{"BotScore":1}'))), true)
})

const many = (count: number) => Array.from({ length: count }, () => ['BotScore', 1])

const REFUSED: [what: string, filter: unknown, pointer: string][] = [
  ['no JSON', '{"where":', ''],
  ['a list', '[]', ''],
  ['null', 'null', ''],
  ['no where', '{}', '/where'],
  ['another member', { where: ONE, and: [] }, '/and'],
  ['a text as a condition', { where: 'x' }, '/where'],
  ['an empty and', { where: { and: [] } }, '/where/and'],
  ['an empty or', { where: { and: [ONE, { or: [] }] } }, '/where/and/1/or'],
  ['an and that is no list', { where: { and: ONE } }, '/where/and'],
  ['and beside or', { where: { and: [ONE], or: [TWO] } }, '/where/or'],
  ['a comparison with another member', { where: { ...ONE, not: true } }, '/where/not'],
  ['a comparison without a value', { where: { key: 'RayID', operator: 'eq' } }, '/where/value'],
  ['an unknown field', { where: condition('RayId', 'eq', 'x') }, '/where/key'],
  ['__proto__ as a field', { where: condition('__proto__', 'eq', 'x') }, '/where/key'],
  ['an object', { where: condition('RequestHeaders', 'contains', 'x') }, '/where/key'],
  ['a list of objects', { where: condition('Subrequests', 'contains', 'x') }, '/where/key'],
  ['an unknown operator', { where: condition('RayID', 'like', 'x') }, '/where/operator'],
  ['an operator of the prototype', { where: condition('RayID', 'toString', 'x') }, '/where/operator'],
  ['an order of texts', { where: condition('RayID', 'lt', 'x') }, '/where/operator'],
  ['a prefix of a number', { where: condition('BotScore', 'startsWith', '1') }, '/where/operator'],
  ['a negated order', { where: condition('BotScore', '!lt', 1) }, '/where/operator'],
  ['in for a boolean', { where: condition('CacheReserveUsed', 'in', [true]) }, '/where/operator'],
  ['eq for a list', { where: condition('SecuritySources', 'eq', 'x') }, '/where/operator'],
  ['a number for a text', { where: condition('RayID', 'eq', 1) }, '/where/value'],
  ['a text for a number', { where: condition('BotScore', 'eq', 'ten') }, '/where/value'],
  ['an empty text for a number', { where: condition('BotScore', 'eq', '') }, '/where/value'],
  ['hexadecimal digits', { where: condition('BotScore', 'eq', '0x10') }, '/where/value'],
  ['a boolean for a number', { where: condition('BotScore', 'eq', true) }, '/where/value'],
  ['digits that are lost', { where: condition('BotScore', 'eq', 2 ** 60) }, '/where/value'],
  ['a number for a boolean', { where: condition('CacheReserveUsed', 'eq', 1) }, '/where/value'],
  ['no list for in', { where: condition('RayID', 'in', 'x') }, '/where/value'],
  ['an empty list for in', { where: condition('RayID', 'in', []) }, '/where/value'],
  ['a number in a list of texts', { where: condition('RayID', 'in', ['a', 1]) }, '/where/value/1'],
  ['no time', { where: condition('EdgeStartTimestamp', 'gt', 'now') }, '/where/value'],
  [
    '31 comparisons',
    JSON.stringify({ where: { or: many(31).map(([key]) => ({ key, operator: 'eq', value: 1 })) } }),
    '',
  ],
  ['1,001 bytes', JSON.stringify({ where: condition('RayID', 'eq', 'x'.repeat(950)) }), ''],
  ['1,001 bytes that are fewer characters', JSON.stringify({ where: condition('RayID', 'eq', 'é'.repeat(480)) }), ''],
]
for (const [what, filter, pointer] of REFUSED) {
  t.test(`${what} is refused`, async (t) => {
    try {
      compileFilter(httpRequests, filter)
      t.fail('it is accepted')
    } catch (error) {
      t.ok(error instanceof InvalidInput, String(error))
      t.ok(
        (error as InvalidInput).issues.some((issue) => issue.pointer === pointer),
        String(error),
      )
    }
  })
}

t.test('30 comparisons and 1,000 bytes are accepted, and other limits where they are given', async () => {
  const text = (count: number) =>
    JSON.stringify({
      where: { or: Array.from({ length: count }, () => ({ key: 'ZoneID', operator: 'eq', value: 1 })) },
    })
  const bare = JSON.stringify({ where: condition('RayID', 'eq', '') })
  compileFilter(httpRequests, JSON.stringify({ where: condition('RayID', 'eq', 'x'.repeat(1000 - bare.length)) }))
  compileFilter(named('dns_logs'), JSON.stringify({ where: condition('QueryName', 'eq', 'x') }))
  compileFilter(named('page_shield_events'), '')
  compileFilter(httpRequests, text(30).replaceAll('ZoneID', 'BotScore'), { bytes: 10_000 })
  compileFilter(httpRequests, text(99).replaceAll('ZoneID', 'BotScore'), { bytes: 10_000, comparisons: 99 })
})

t.test('fields of firewall_events that cannot be filtered', async (t) => {
  for (const key of ['Action', 'Description', 'Kind', 'MatchIndex', 'Metadata', 'OriginatorRayID', 'RuleID', 'Source'])
    t.throws(() => compileFilter(named('firewall_events'), { where: condition(key, 'eq', 'x') }), /\/where\/key/, key)
})

t.test('numbers are compared as they are', async () => {
  const number = fc.oneof(fc.bigInt({ min: -(2n ** 70n), max: 2n ** 70n }), fc.bigInt({ min: -20n, max: 20n }))
  fc.assert(
    fc.property(number, number, (a, b) => {
      const line = `{"BotScore":${a}}`
      return (
        keeps('BotScore', 'lt', String(b), line) === a < b &&
        keeps('BotScore', 'geq', `"${b}"`, line) === a >= b &&
        keeps('BotScore', 'eq', String(b), line) === (a === b)
      )
    }),
  )
})

t.test('texts are compared as they are, escaped or not', async () => {
  const text = fc.string({ unit: fc.constantFrom('a', 'b', '"', '\\', 'é', '😀', '\n'), maxLength: 5 })
  const escaped = (value: string) =>
    `"${value.replaceAll(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)}"`
  fc.assert(
    fc.property(text, text, fc.boolean(), (a, b, escape) => {
      const line = `{"RayID":${escape ? escaped(a) : JSON.stringify(a)}}`
      const value = JSON.stringify(b)
      return (
        keeps('RayID', 'eq', value, line) === (a === b) &&
        keeps('RayID', 'startsWith', value, line) === a.startsWith(b) &&
        keeps('RayID', 'endsWith', value, line) === a.endsWith(b) &&
        keeps('RayID', 'contains', value, line) === a.includes(b)
      )
    }),
    { numRuns: 300 },
  )
})

t.test('an unknown operator is reported beside an unknown field', async (t) => {
  const where = { and: [{ key: 'Nope', operator: 'gq', value: 1 }, { key: 'Nope', operator: 'eq', value: 1 }] } // prettier-ignore
  try {
    compileFilter(httpRequests, JSON.stringify({ where }))
    t.fail('the filter is refused')
  } catch (error) {
    const pointers = (error as InvalidInput).issues.map(({ pointer }) => pointer)
    t.strictSame(pointers, ['/where/and/0/key', '/where/and/0/operator', '/where/and/1/key'])
  }
})
