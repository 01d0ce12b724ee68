import t from 'tap'
import { CustomHostnames, normalHost, zoneTable, type Zone } from '../../../src/edge/exchange/zones.js'
import { testZone } from '../../helpers/proxy.js'

const base = testZone('http://127.0.0.1:9000')
const zone = (id: string, ...hostnames: string[]): Zone => ({ ...base, id, name: hostnames[0]!, hostnames })

t.test('a host finds its zone by name, then by the longest pattern', async (t) => {
  const table = zoneTable([
    zone('a', 'example.test', '*.example.test'),
    zone('b', '*.shop.example.test'),
    zone('c', 'www.shop.example.test'),
    zone('d', '192.0.2.1', '2001:db8::1'),
  ])
  const found = (host: string) => table.find(host)?.zone.id
  for (const [host, id] of [
    ['example.test', 'a'],
    ['EXAMPLE.Test', 'a'],
    ['example.test.', 'a'],
    ['example.test:8080', 'a'],
    ['example.test.:8080', 'a'],
    ['www.example.test', 'a'],
    ['a.b.c.example.test', 'a'],
    ['shop.example.test', 'a'],
    ['de.shop.example.test', 'b'],
    ['x.www.shop.example.test', 'b'],
    ['WWW.shop.example.test:1', 'c'],
    ['192.0.2.1:80', 'd'],
    ['[2001:DB8::1]', 'd'],
    ['[2001:db8::1]:443', 'd'],
    ['test', undefined],
    ['xexample.test', undefined],
    ['example.test.evil', undefined],
    ['.example.test', 'a'],
    ['', undefined],
    ['.', undefined],
    ['[', undefined],
    ['*', undefined],
    ['*.example.test', 'a'],
    ['__proto__', undefined],
    ['constructor', undefined],
  ] as const)
    t.equal(found(host), id, host || 'nothing')
  t.equal(table.find('WWW.Example.test.:8080')?.host, 'www.example.test')
})

t.test('a zone with the hostname * serves every host that no other zone names', async (t) => {
  const names = new CustomHostnames()
  names.set({ id: '1', hostname: 'shop.customer.test', zoneId: 'a', metadata: {} })
  const table = zoneTable([zone('all', '*', 'www.all.test'), zone('a', 'example.test', '*.example.test')], names)
  for (const [host, id] of [
    ['example.test', 'a'],
    ['deep.example.test:80', 'a'],
    ['shop.customer.test', 'a'],
    ['www.all.test', 'all'],
    ['Other.test.:8080', 'all'],
    ['192.0.2.7', 'all'],
    ['localhost', 'all'],
    ['', 'all'],
  ] as const)
    t.equal(table.find(host)?.zone.id, id, host || 'nothing')
  t.equal(table.find('Other.test.:8080')?.host, 'other.test')
})

t.test('a zone without hostnames has its name and every subdomain', async (t) => {
  t.strictSame(base.hostnames, ['example.test', '*.example.test'])
  t.strictSame(testZone('http://a/', 'hostnames: [WWW.Example.Test]').hostnames, ['www.example.test'])
  t.equal(testZone('http://a/').balancer.peers[0]?.url, 'http://a')
})

t.test('fifty thousand custom hostnames are found, changed and removed one by one', async (t) => {
  const names = new CustomHostnames()
  const table = zoneTable([zone('a', 'example.test', '*.example.test'), zone('b', '*.customer.test')], names)
  for (let i = 0; i < 50_000; i++)
    names.set({ id: `${i}`, hostname: `Shop-${i}.customer.test`, zoneId: 'a', metadata: { tier: `${i % 3}` } })
  t.equal(names.size, 50_000)
  t.equal(table.find('shop-49999.customer.test')?.custom?.id, '49999')
  t.match(table.find('SHOP-7.customer.test:80'), { zone: { id: 'a' }, custom: { metadata: { tier: '1' } } })
  t.equal(table.find('other.customer.test')?.zone.id, 'b', 'a pattern comes after custom hostnames')
  names.delete('shop-7.CUSTOMER.test')
  t.equal(table.find('shop-7.customer.test')?.zone.id, 'b')
  names.set({ id: 'x', hostname: 'example.test', zoneId: 'b', metadata: {} })
  t.equal(table.find('example.test')?.zone.id, 'a', 'nobody takes over the exact name of a zone')
  names.set({ id: 'y', hostname: 'gone.test', zoneId: 'no such zone', metadata: {} })
  t.equal(table.find('gone.test'), undefined)
})

t.test('a name that is longer than any name can be is not looked up', async (t) => {
  const table = zoneTable([zone('a', '*.example.test')])
  t.equal(table.find(`${'a.'.repeat(120)}example.test`)?.zone.id, 'a')
  t.equal(table.find(`${'a.'.repeat(8000)}example.test`), undefined)
  t.equal(normalHost('[::1'), '')
})

t.test('a changed zone replaces itself in the table, and takes no name of another one', async (t) => {
  const names = new CustomHostnames()
  names.set({ id: '1', hostname: 'shop.customer.test', zoneId: 'b', metadata: {} })
  const before = zoneTable([zone('a', 'one.test', '*.one.test'), zone('b', 'one.test', '*.two.test', '*')], names)
  const table = before.with([{ ...zone('b', 'one.test', '*.two.test', '*'), plan: 'enterprise' }])
  t.strictSame(
    table.zones.map(({ id, plan }) => [id, plan]),
    [
      ['a', base.plan],
      ['b', 'enterprise'],
    ],
  )
  t.equal(before.zones[1]?.plan, base.plan)
  t.not(before.zones, table.zones, 'the list is another one, so that readers of it see the change')
  for (const host of ['x.two.test', 'else.test', 'shop.customer.test'])
    t.match(table.find(host)?.zone, { id: 'b', plan: 'enterprise' }, host)
  t.match(table.find('one.test')?.zone, { id: 'a' })
  const next = table.with([{ ...zone('a', 'one.test', '*.one.test'), plan: 'free' }])
  t.match(next.find('one.test')?.zone, { id: 'a', plan: 'free' })
  t.match(next.find('x.one.test')?.zone, { id: 'a', plan: 'free' })
  t.throws(() => next.with([zone('c', 'three.test')]), /zone c is not in the table/)
})

t.test('zones are added after the others, and the names of a removed one belong to the next that has them', (t) => {
  const first = zoneTable([zone('a', 'one.test', '*.one.test', '*'), zone('b', 'two.test')])
  const table = first.plus([zone('c', 'one.test', '*.one.test', '*', 'c.test'), zone('d', 'one.test', 'one.test')])
  const found = (at: typeof table) =>
    ['one.test', 'x.one.test', 'else.test', 'two.test', 'c.test'].map((host) => at.find(host)?.zone.id)
  t.same(found(table), ['a', 'a', 'a', 'b', 'c'])
  const without = table.without(new Set(['a']))
  t.same(found(without), ['c', 'c', 'c', 'b', 'c'])
  const changed = without.with([{ ...zone('b', 'two.test'), plan: 'free' }])
  t.same(
    changed.zones.map(({ id, plan }) => [id, plan]),
    [
      ['b', 'free'],
      ['c', base.plan],
      ['d', base.plan],
    ],
    'places are those of the shorter list',
  )
  const last = changed.without(new Set(['c', 'b']))
  t.same(found(last), ['d', undefined, undefined, undefined, undefined])
  t.same(found(last.without(new Set(['d'])).plus([zone('c', '*')])), ['c', 'c', 'c', 'c', 'c'])
  t.end()
})
