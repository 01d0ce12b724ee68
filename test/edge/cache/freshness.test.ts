import { createServer, type AddressInfo, type Socket } from 'node:net'
import t from 'tap'
import { until } from '../../helpers/web.js'
import { MovedClock, startCachedSite } from './setup.js'

type Fields = readonly (readonly [name: string, value: string])[]

const past = new Date(0).toUTCString()
const AGE = 'age'
const CONTROL = 'cache-control'
const CDN = 'cdn-cache-control'

/** Fields of a response, and whether a second request gets it from the cache. */
const RESPONSES: readonly [what: string, fields: Fields, reused: boolean][] = [
  // RFC 9111, 5.1 and 1.2.2: an Age beyond 2^31 counts as 2^31.
  [
    'an Age of 2^31-1',
    [
      [CONTROL, 'max-age=3600'],
      [AGE, '2147483647'],
    ],
    false,
  ],
  [
    'an Age of 2^31',
    [
      [CONTROL, 'max-age=3600'],
      [AGE, '2147483648'],
    ],
    false,
  ],
  [
    'an Age of 2^31+1',
    [
      [CONTROL, 'max-age=3600'],
      [AGE, '2147483649'],
    ],
    false,
  ],
  // RFC 9111, 5.2.2.3: a cache that knows the status ignores no-store.
  ['must-understand with a known status', [[CONTROL, 'max-age=3600, no-store, must-understand']], true],
  // RFC 9213: a targeted field replaces Cache-Control and Expires.
  ['a targeted lifetime', [[CDN, 'max-age=3600']], true],
  ['a targeted lifetime of 2^31', [[CDN, 'max-age=2147483648']], true],
  ['a targeted lifetime beyond', [[CDN, 'max-age=99999999999']], true],
  [
    'a targeted lifetime that has passed',
    [
      [CDN, 'max-age=3600'],
      [AGE, '12000'],
    ],
    false,
  ],
  ['a targeted lifetime of 0', [[CDN, 'max-age=0']], false],
  ['a targeted lifetime and an extension', [[CDN, 'foobar, max-age=3600']], true],
  [
    'a targeted lifetime and Expires in the past',
    [
      [CDN, 'max-age=3600'],
      ['expires', past],
    ],
    true,
  ],
  [
    'a targeted lifetime and an invalid Expires',
    [
      [CDN, 'max-age=3600'],
      [CONTROL, 'max-age=3600'],
      ['expires', '0'],
    ],
    true,
  ],
  [
    'a long targeted lifetime',
    [
      [CDN, 'max-age=3600'],
      [CONTROL, 'max-age=0'],
    ],
    true,
  ],
  [
    'a short targeted lifetime',
    [
      [CDN, 'max-age=0'],
      [CONTROL, 'max-age=3600'],
    ],
    false,
  ],
  [
    'a targeted private',
    [
      [CDN, 'private'],
      [CONTROL, 'max-age=3600'],
    ],
    false,
  ],
  [
    'a targeted no-cache',
    [
      [CDN, 'no-cache'],
      [CONTROL, 'max-age=3600'],
    ],
    false,
  ],
  [
    'a targeted no-store',
    [
      [CDN, 'no-store'],
      [CONTROL, 'max-age=3600'],
    ],
    false,
  ],
  [
    'a targeted lifetime although others must not store',
    [
      [CDN, 'max-age=3600'],
      [CONTROL, 'no-store'],
    ],
    true,
  ],
  [
    'a targeted field of an unknown type',
    [
      [CDN, 'max-age=3600, &&&&&'],
      [CONTROL, 'no-store'],
    ],
    false,
  ],
  [
    'a targeted lifetime that is a text',
    [
      [CDN, 'max-age="3600"'],
      [CONTROL, 'no-store'],
    ],
    false,
  ],
  // RFC 9651: inner lists, parameters, dates and byte sequences of any length are values.
  ['a targeted lifetime beside an inner list', [[CDN, 'max-age=3600, x=("a" b;c=1 ?1);d']], true],
  ['a targeted lifetime beside bytes', [[CDN, `max-age=3600, x=:${'YWJj'.repeat(500)}:`]], true],
  ['a targeted lifetime beside a date', [[CDN, 'max-age=3600;x=@1659578233']], true],
  ['a targeted lifetime beside a text that looks like one', [[CDN, 'x="a max-age=1.5", max-age=3600']], true],
  ...['max-age=3600.0', 'max-age=3600, x=1234567890123.0', 'max-age=3600, x=:YQ==YQ==:', 'max-age=(3600)'].map(
    (value): [string, Fields, boolean] => [
      `the targeted field ${value}`,
      [
        [CDN, value],
        [CONTROL, 'no-store'],
      ],
      false,
    ],
  ),
]

for (const [what, fields, reused] of RESPONSES) {
  t.test(`a response with ${what} is ${reused ? '' : 'not '}used again`, async (t) => {
    const site = await startCachedSite(t, (_, response) => {
      for (const [name, value] of fields) response.setHeader(name, value)
      response.end('body')
    })
    await site.get('/page')
    const second = await site.get('/page')
    t.equal(second.body, 'body')
    t.equal(site.requests.length, reused ? 1 : 2, String(second.cache))
  })
}

t.test('after a newer response that must not be stored, the older one is not used', async (t) => {
  const clock = new MovedClock()
  const site = await startCachedSite(
    t,
    (_, response, count) => response.setHeader(CONTROL, count === 1 ? 'max-age=10' : 'no-store').end(`body ${count}`),
    { clock },
  )
  t.equal((await site.get('/page')).body, 'body 1')
  clock.forward(11)
  t.equal((await site.get('/page')).body, 'body 2')
  t.equal((await site.get('/page')).body, 'body 3')
})

t.test('a stale response is used while it is revalidated, within its window only (RFC 5861, 3)', async (t) => {
  const clock = new MovedClock()
  const control = 'max-age=10, stale-while-revalidate=20'
  const site = await startCachedSite(
    t,
    (_, response, count) => response.setHeader(CONTROL, control).end(`body ${count}`),
    {
      clock,
    },
  )
  await site.get('/page')
  clock.forward(15)
  t.equal((await site.get('/page')).body, 'body 1')
  await until(async () => (await site.get('/page')).body === 'body 2')
  clock.forward(40)
  t.equal((await site.get('/page')).body, 'body 3')
})

// RFC 9110, 15.2 and RFC 8297: interim responses come before the final one and are not a part of it.
for (const interim of ['102 Processing', '103 Early Hints']) {
  t.test(`the final response after ${interim} is stored, without the fields of the interim one`, async (t) => {
    let requests = 0
    const sockets = new Set<Socket>()
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on('data', () => {
        requests++
        socket.write(`HTTP/1.1 ${interim}\r\nx-interim: 1\r\nCache-Control: max-age=1000\r\n\r\n`)
        socket.write('HTTP/1.1 200 OK\r\nCache-Control: max-age=3600\r\nContent-Length: 4\r\n\r\nbody')
      })
    })
    await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
    t.teardown(() => {
      for (const socket of sockets) socket.destroy()
      server.close()
    })
    const site = await startCachedSite(t, () => {}, {
      origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    })
    for (const cache of ['MISS', 'HIT']) {
      const { headers, ...found } = await site.get('/page')
      t.match(found, { status: 200, body: 'body', cache })
      t.equal(headers['x-interim'], undefined)
    }
    t.equal(requests, 1)
  })
}
