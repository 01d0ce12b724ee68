import t from 'tap'
import { allocations } from '../bench/floor-loads.mjs'

/**
 * Bytes that edged allocates for a request, by version of Node.js. A change that allocates more fails, because allocations
 * cost time in every request, and do not depend on the machine. A change that allocates less writes the lower value here:
 * `npm run bench -- floor` prints it.
 */
const BYTES: Readonly<Record<string, Readonly<Record<string, number>>>> = {
  20: {
    'pass-through': 8140,
    'pass-through, browser': 10_100,
    'compress, not accepted': 12_030,
    'HTTP/2': 19_400,
    'cache hit': 5770,
    Markdown: 122_600,
  },
  24: {
    'pass-through': 8150,
    'pass-through, browser': 10_100,
    'compress, not accepted': 12_000,
    'HTTP/2': 18_120,
    'cache hit': 5970,
    Markdown: 122_500,
  },
}
/** Measurements of one build differ by 3 %. */
const MAX_GROWTH = 1.05

t.test('requests allocate no more memory than before', async (t) => {
  const expected = BYTES[process.versions.node.split('.')[0]!]
  if (!expected) {
    t.pass('no values for this version of Node.js')
    return
  }
  const found = await allocations(t.testdir(), Object.keys(expected))
  for (const [name, bytes] of Object.entries(expected)) {
    const most = Math.round(bytes * MAX_GROWTH)
    t.ok(found[name]! <= most, `${name}: at most ${most} bytes`, { found: found[name], written: bytes })
  }
})
