import t from 'tap'
import { expressionOf, rayOf, toggled } from '../../ui/src/pages/requests/request-filters.ts'
import { asCurl, cacheText, ruleFor } from '../../ui/src/pages/requests/request-texts.ts'

t.test('filters become one expression', async (t) => {
  t.equal(expressionOf({}), undefined)
  t.equal(expressionOf({ q: ' ' }), undefined)
  t.equal(expressionOf({ status: '404' }), 'http.response.code eq 404')
  t.equal(
    expressionOf({ status: '4xx,503', agent: 'GPTBot' }),
    '((http.response.code ge 400 and http.response.code lt 500) or http.response.code eq 503) and edged.agent.name eq "GPTBot"',
  )
  t.equal(expressionOf({ path: '/a"b\\c' }), String.raw`http.request.uri.path eq "/a\"b\\c"`)
  t.equal(expressionOf({ q: '/lamps' }), 'http.request.uri contains "/lamps"')
  t.equal(expressionOf({ q: '10.0.0.1' }), 'ip.src eq 10.0.0.1')
  t.equal(expressionOf({ q: '2001:db8::/32' }), 'ip.src in {2001:db8::/32}')
})

t.test('ids of requests are known with and without their place', async (t) => {
  t.equal(rayOf(' 148d24427e6c15ab '), '148d24427e6c15ab')
  t.equal(rayOf('148D24427E6C15AB-FRA'), '148d24427e6c15ab')
  t.equal(rayOf('/lamps'), undefined)
})

t.test('a second click takes a status away', async (t) => {
  t.equal(toggled(undefined, '4xx'), '4xx')
  t.equal(toggled('5xx', '4xx'), '4xx,5xx')
  t.equal(toggled('4xx', '4xx'), undefined)
})

t.test('requests become rules and commands', async (t) => {
  const request = { host: 'shop.test', path: "/it's", agent: null, client_ip: '10.0.0.1' }
  t.equal(ruleFor(request), `http.host eq "shop.test" and http.request.uri.path eq "/it's" and ip.src eq 10.0.0.1`)
  t.match(ruleFor({ ...request, agent: 'GPTBot' }), / and edged\.agent\.name eq "GPTBot"$/)
  const fields = { request: { accept: 'text/html', host: 'shop.test' }, response: {} }
  t.equal(
    asCurl({ method: 'POST', scheme: 'https', host: 'shop.test', path: "/it's", query: '?a=1', fields }),
    String.raw`curl -i -X 'POST' 'https://shop.test/it'\''s?a=1' -H 'accept: text/html'`,
  )
})

t.test('the outcome of the cache has a meaning', async (t) => {
  t.equal(cacheText('MISS', null), 'MISS: not in the cache, so the origin was asked')
  t.equal(cacheText('NEW', null), 'NEW')
  t.equal(cacheText(null, null), 'no part in it')
})
