import t from 'tap'
import { reports, type TailFilter } from '../../../control/workers/services/tail-filters.js'

const CALL = {
  outcome: 'exception',
  scriptVersion: { id: 'v1' },
  logs: [{ level: 'log', message: ['say "hi"', { user: 7 }] }],
  event: { request: { method: 'POST', url: 'http://x/', headers: { 'cf-connecting-ip': '192.0.2.1', 'x-a': 'abc' } } },
}

const CASES: readonly (readonly [shown: boolean, ...TailFilter[]])[] = [
  [true],
  [true, { outcome: ['ok', 'exception'] }],
  [false, { outcome: ['ok'] }],
  [true, { method: ['get', 'post'] }],
  [false, { method: ['GET'] }],
  [true, { client_ip: ['192.0.2.1'] }],
  [true, { client_ip: ['self'] }],
  [false, { client_ip: ['198.51.100.1'] }],
  [true, { query: '"hi"' }],
  [true, { query: 'user' }],
  [false, { query: 'bye' }],
  [true, { query: null }],
  [true, { header: { key: 'X-A' } }],
  [true, { header: { key: 'X-A', query: 'b' } }],
  [false, { header: { key: 'X-A', query: 'z' } }],
  [false, { header: { key: 'X-B' } }],
  [true, { scriptVersion: 'v1' }],
  [false, { scriptVersion: 'v2' }],
  [true, { sampling_rate: 0.6 }],
  [false, { sampling_rate: 0.5 }],
  [false, { outcome: ['exception'] }, { method: ['GET'] }],
]

t.test('a tail reports the calls for which all conditions hold', (t) => {
  for (const [shown, ...filters] of CASES)
    t.equal(reports(filters, CALL, { self: '192.0.2.1', random: () => 0.5 }), shown, JSON.stringify(filters))
  t.equal(
    reports([{ method: ['GET'] }], { event: { cron: '* * * * *' } }, { self: '' }),
    false,
    'a call without a request',
  )
  t.end()
})
