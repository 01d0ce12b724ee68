// Rate limits: time for each request at a rule, and memory for a million keys.
import { cpuSeconds, sized, table } from './measure.mjs'
const { contextOf, SCHEME, NO_LISTS } = await import('../../dist/src/expr/index.js')
const { Limiter } = await import('../../dist/src/rules/limits/limiter.js')
const { RuleLimit } = await import('../../dist/src/rules/limits/rule-limit.js')

const clock = { now: () => Date.now(), monotonic: () => performance.now() }
const limited = (characteristics, more = {}) =>
  new RuleLimit(
    {
      id: 'bench',
      expression: 'true',
      ratelimit: {
        characteristics,
        period: 3600,
        requests_per_period: 1000,
        mitigation_timeout: 0,
        requests_to_origin: false,
        ...more,
      },
    },
    { phase: 'http_ratelimit', lists: NO_LISTS },
  )

const heap = () => {
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}
const address = (i) => 0x0a000000 + (Math.imul(i, 0x9e3779b1) >>> 8)
const headers = (i) => new Map([['x-api-key', [`key-${i}-${'k'.repeat(100)}`]]])

const KEYS = sized(1_000_000, 10_000)
const HOT_ROUNDS = sized(500, 10)
const CASES = [
  ['address', ['ip.src'], (i) => new Map([['ip.src', address(i)]])],
  [
    'address and header of 110 bytes',
    ['ip.src', 'http.request.headers["x-api-key"][0]'],
    (i) =>
      new Map([
        ['ip.src', address(i)],
        ['http.request.headers', headers(i)],
      ]),
  ],
]

const rows = []
for (const [what, characteristics, values] of CASES) {
  const contexts = Array.from({ length: 1000 }, (_, i) => contextOf(SCHEME, values(i)))
  const limiter = new Limiter({ clock, maxKeys: KEYS })
  const rule = limited(characteristics)
  const judge = (context) => rule.judge(limiter, { context, follow: () => undefined }, true)
  for (const context of contexts) judge(context)
  const hot = await cpuSeconds(() => {
    for (let round = 0; round < HOT_ROUNDS; round++) for (const context of contexts) judge(context)
  })

  const before = heap()
  const many = new Limiter({ clock, maxKeys: KEYS })
  const filling = limited(characteristics)
  const request = { context: undefined, follow: () => undefined }
  let filled = 0
  for (let from = 0; from < KEYS; from += 1000) {
    const some = Array.from({ length: 1000 }, (_, i) => contextOf(SCHEME, values(from + i)))
    filled += await cpuSeconds(() => {
      for (const context of some) {
        request.context = context
        filling.judge(many, request, true)
      }
    })
  }
  const held = heap() - before
  rows.push({
    'told apart by': what,
    'ns a request, 1,000 keys': Math.round((hot * 1e9) / (HOT_ROUNDS * 1000)),
    'ns a request, new keys': Math.round((filled * 1e9) / KEYS),
    'keys held': many.keys,
    'MB for them': Math.round(held / 1e6),
  })
}
table(rows)
if (!globalThis.gc) console.log('without --expose-gc the memory is a rough figure')
