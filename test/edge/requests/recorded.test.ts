import t from 'tap'
import type { Exchange } from '../../../src/edge/exchange/exchange.js'
import { lineOf } from '../../../src/edge/records/requests/recorded.js'

/** The members of an exchange that a record has. */
const exchange = (members: object = {}) =>
  ({
    startedAt: 1_795_867_871_123.9,
    startedMonotonic: 1000,
    routedAt: 1000.25,
    rayId: '0123456789abcdef',
    method: 'GET',
    scheme: 'https',
    host: 'one.test',
    httpVersion: '2',
    clientAddress: '192.0.2.77',
    rawTarget: '/a?b=1',
    matches: [],
    sent: { status: 200, bodyBytes: 12, headers: [], firstByteAt: 1020.04 },
    caching: {},
    origin: { tries: 0, status: 0 },
    rawHeaders: [],
    ...members,
  }) as unknown as Exchange

const record = (members?: object, options = { queries: true, anonymise: false }, country?: string, interval = 1) => {
  const line = lineOf({ exchange: exchange(members), endedMonotonic: 1025.26, interval }, country, options)
  t.equal(line.indexOf('\n'), line.length - 1)
  return { line, value: JSON.parse(line) }
}

t.test('a record has what is known of a request, and leaves out the rest', async (t) => {
  const { line, value } = record()
  t.ok(line.startsWith('{"at":1795867871123,"ray":"0123456789abcdef",'), 'readers find these without parsing')
  t.strictSame(value, {
    at: 1_795_867_871_123,
    ray: '0123456789abcdef',
    method: 'GET',
    scheme: 'https',
    host: 'one.test',
    path: '/a',
    query: '?b=1',
    http: '2',
    status: 200,
    ip: '192.0.2.77',
    bytes: 12,
    ms: 25.3,
    phases: [
      { name: 'rules', start_ms: 0, ms: 0.3, result: '' },
      { name: 'send', start_ms: 20, ms: 5.2, result: '200' },
    ],
    request: [],
    response: [],
  })
})

t.test('a record has the rules, agent, origin, Worker and stages of a request', async (t) => {
  const { line, value } = record(
    {
      matches: [{ ruleset: 'r1', rule: 'r2', phase: 'p', description: 'No "entry"\n', action: 'log' }],
      agent: { name: 'GPTBot', operator: 'OpenAI', category: 'ai_crawler', verified: 'none', verifiedBotCategory: '' },
      origin: { url: 'http://127.0.0.1:9000', status: 0, tries: 2, askedAt: 1001, respondedAt: undefined },
      caching: { status: 'MISS' },
      conversion: { outcome: 'converted' },
      worker: 'app',
    },
    { queries: false, anonymise: true },
    'US',
    20,
  )
  t.ok(line.includes('","n":20,'), 'readers find the interval without parsing')
  t.match(value, {
    n: 20,
    ip: '192.0.2.0',
    country: 'US',
    cache: 'MISS',
    markdown: 'converted',
    worker: 'app',
    agent: { name: 'GPTBot', operator: 'OpenAI', category: 'ai_crawler', verified: 'none', bot: '' },
    rules: [{ ruleset_id: 'r1', rule_id: 'r2', phase: 'p', name: 'No "entry"\n', action: 'log' }],
    origin: { url: 'http://127.0.0.1:9000', status: 0, tries: 2 },
  })
  t.equal(value.query, undefined)
  t.same(
    value.phases.map(({ name }: { name: string }) => name),
    ['rules', 'cache', 'worker', 'send'],
  )
})

t.test('values of clients cannot leave their place, and are cut', async (t) => {
  const bytes = (text: string) => Buffer.from(text).toString('latin1')
  const hostile = '","status":1,"x":"\\'
  const { value } = record({
    method: hostile,
    host: `${bytes('bücher')}\u0000\u001f\u007f`,
    rawTarget: `/${bytes('日本')}\xff"?${'q'.repeat(3000)}`,
    rawHeaders: [
      'User-Agent',
      hostile,
      'ACCEPT',
      bytes('é'),
      'Cookie',
      'secret',
      'X-Secret',
      'x',
      'range',
      'r'.repeat(600),
    ],
    sent: { status: 200, bodyBytes: 1, headers: ['Location', 'https://one.test/?t=1#x', 'set-cookie', 's'] },
  })
  t.match(value, { method: hostile, host: 'bücher\u0000\u001f\u007f', path: '/日本\ufffd"', status: 200 })
  t.equal(value.query.length, 2048)
  t.strictSame(value.request, ['user-agent', hostile, 'accept', 'é', 'range', 'r'.repeat(512)])
  t.strictSame(value.response, ['location', 'https://one.test/?t=1#x'])
  const { value: without } = record(
    { rawHeaders: ['referer', 'https://other.test/a?token=1'] },
    { queries: false, anonymise: false },
  )
  t.strictSame(without.request, ['referer', 'https://other.test/a'])
})
