import t from 'tap'
import { PURGE } from '../../../src/core/model/purge.js'
import { zone } from '../../../src/core/scope.js'
import { client, ZONE } from '../client.js'

const PATH = `/zones/${ZONE}/purge_cache`

const PURGES: [body: object, stored: object][] = [
  [{ purge_everything: true }, { kind: 'everything', values: [] }],
  [{ tags: ['News', ' a b '] }, { kind: 'tags', values: ['news', 'a b'] }],
  [{ hosts: ['WWW.example.test'] }, { kind: 'hosts', values: ['www.example.test'] }],
  [
    { prefixes: ['Example.test/Images/', 'example.test'] },
    { kind: 'prefixes', values: ['example.test/Images/', 'example.test'] },
  ],
  [
    { files: ['https://Example.test:8443/A?b=C#d', { url: 'http://example.test', headers: { origin: 'x' } }] },
    { kind: 'files', values: ['example.test/A?b=C', 'example.test/'] },
  ],
  [
    { files: ["http://example.test/x/../y?q='1'#z", 'http://u@example.test?a b'] },
    {
      kind: 'files',
      values: ['example.test/y?q=%271%27', "example.test/x/../y?q='1'", 'example.test/?a%20b', 'example.test/?a b'],
    },
  ],
  [{ prefixes: ['example.test/ä'] }, { kind: 'prefixes', values: ['example.test/%C3%A4', 'example.test/ä'] }],
]

t.test('a purge is stored as the cache compares it', async (t) => {
  const { call, store } = await client(t)
  for (const [body, stored] of PURGES) {
    const response = await call('POST', PATH, body)
    t.match(response, { status: 200, body: { success: true, result: { id: /^[0-9a-f]{32}$/ } } })
    const { kind, values } = store.get(PURGE, zone(ZONE), response.body.result.id as string)!.value
    t.strictSame({ kind, values }, stored)
  }
})

const REJECTED: [body: object, pointer: string][] = [
  [{}, ''],
  [{ purge_everything: true, tags: ['a'] }, '/tags'],
  [{ purge_everything: false }, '/purge_everything'],
  [{ tags: [] }, '/tags'],
  [{ tags: ['x'.repeat(1025)] }, '/tags/0'],
  [{ tags: Array.from({ length: 31 }, (_, i) => `t${i}`) }, '/tags'],
  [{ hosts: ['other.test'] }, '/hosts/0'],
  [{ files: ['http://other.test/a'] }, '/files/0'],
  [{ files: ['/a'] }, '/files/0'],
  [{ files: [{ url: 'ftp://example.test/a' }] }, '/files/0/url'],
  [{ prefixes: ['example.test/a?b'] }, '/prefixes/0'],
  [{ prefixes: ['https://example.test/a'] }, '/prefixes/0'],
]

t.test('a purge that names nothing, too much or another zone is rejected', async (t) => {
  const { call, store } = await client(t)
  for (const [body, pointer] of REJECTED) {
    const response = await call('POST', PATH, body)
    t.match(response, { status: 400, body: { success: false } }, JSON.stringify(body))
    if (pointer !== '') t.match(response.body.errors[0].source.pointer, pointer, JSON.stringify(body))
  }
  t.equal(store.count(PURGE), 0)
})

t.test('older purges are deleted', async (t) => {
  const { call, store } = await client(t)
  for (let i = 0; i < 105; i++) await call('POST', PATH, { purge_everything: true })
  t.equal(store.count(PURGE, zone(ZONE)), 100)
})

t.test('an invalidation removes as a purge does', async (t) => {
  const { call, store } = await client(t)
  t.match(await call('POST', `/zones/${ZONE}/invalidate_cache`, { tags: ['a'] }), { status: 200, body: { result: {} } })
  t.match(store.list(PURGE, zone(ZONE)), [{ value: { kind: 'tags', values: ['a'] } }])
})
