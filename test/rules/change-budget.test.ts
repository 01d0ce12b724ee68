import t from 'tap'
import { systemClock } from '../../src/core/clock.js'
import type { Exchange } from '../../src/edge/exchange/exchange.js'
import { Geo } from '../../src/edge/exchange/geo.js'
import { fieldContext } from '../../src/rules/fields/index.js'
import type { PhaseName } from '../../src/rules/phases.js'
import { rulesOf, type TestRule } from '../helpers/rules.js'
import { arrived } from './exchange-helper.js'

/** Returns the exchange of a request after rules of a phase have changed it or its response. */
function changed(phase: PhaseName, rules: readonly TestRule[], responseHeaders: readonly string[] = []): Exchange {
  const exchange = arrived({
    target: '/path',
    rawHeaders: ['Host', 'example.test', 'x-long', '?'.repeat(8000)],
    headers: ['host', 'example.test', 'x-long', '?'.repeat(8000)],
  })
  const run = rulesOf([{ phase, rules }]).begin(
    exchange,
    fieldContext(exchange, { clock: systemClock, geo: new Geo() }),
  )
  if (!phase.includes('response')) run.request()
  else {
    exchange.response = { status: 200, headers: responseHeaders, originHeaders: responseHeaders }
    run.responded()
    run.response(phase)
  }
  return exchange
}

const times = <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at))
const rewrite = (action_parameters: Record<string, unknown>): TestRule => ({ action: 'rewrite', action_parameters })
const added = (count: number, rule: number) =>
  rewrite({ headers: Object.fromEntries(times(count, (at) => [`x-${rule}-${at}`, { operation: 'add', value: 'v' }])) })

t.test('rules change headers and tags within the budget of the request', async (t) => {
  const few = changed(
    'http_request_late_transform',
    times(100, (rule) => added(5, rule)),
  )
  t.equal(few.headers.length, (2 + 500) * 2, 'ordinary rules are far from it')

  const request = changed(
    'http_request_late_transform',
    times(200, (rule) => added(100, rule)),
  )
  t.ok(request.headers.length > 1000 && request.headers.length < 5000, `${request.headers.length}`)
  const response = changed(
    'http_response_headers_transform',
    times(200, (rule) => added(100, rule)),
  )
  t.ok(response.response!.headers.length < 5000, `${response.response!.headers.length}`)

  const tags = changed(
    'http_response_cache_settings',
    times(200, (rule) => ({
      action: 'set_cache_tags',
      action_parameters: { operation: 'add', values: times(300, (at) => `t${rule}-${at}`) },
    })),
  )
  const count = tags.response!.headers.join().split(',').length
  t.ok(count > 300 && count < 3000, `${count}`)
})

t.test('long values that rules set are charged to the budget of the request', async (t) => {
  const long = { operation: 'add', expression: 'http.request.headers["x-long"][0]' }
  const { headers } = changed(
    'http_request_late_transform',
    times(1000, (at) => rewrite({ headers: { [`x-${at}`]: long } })),
  )
  t.ok(headers.join('').length < 6_000_000, `${headers.join('').length}`)

  const paths = times(1000, (at) =>
    rewrite({ uri: { path: { expression: `concat("/${at}", http.request.headers["x-long"][0])` } } }),
  )
  const { target } = changed('http_request_transform', paths)
  t.match(target, /^\/\d+%3F/)
  t.ok(Number.parseInt(target.slice(1), 10) < 999, 'the rules after the budget change nothing')
})

t.test('lists of a response that rules change are charged to the budget of the request', async (t) => {
  const control = ['cache-control', times(4000, (at) => `x${at}`).join()]
  const { response } = changed(
    'http_response_cache_settings',
    times(1000, (at) => ({
      action: 'set_cache_control',
      action_parameters: { 'max-age': { operation: 'set', value: at } },
    })),
    control,
  )
  const age = Number(/max-age=(\d+)/.exec(response!.headers.join())?.[1])
  t.ok(age < 999, `max-age=${age}`)
})
