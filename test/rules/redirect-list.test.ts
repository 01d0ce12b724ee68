import fc from 'fast-check'
import t from 'tap'
import { LIST_TYPES } from '../../src/lists/index.js'
import { itemIssues } from '../../src/lists/item-check.js'
import { RedirectTable, sourceOf, type Redirect } from '../../src/lists/redirect-table.js'

function table(...redirects: Redirect[]): RedirectTable {
  const made = new RedirectTable()
  for (const redirect of redirects) made.add(redirect)
  return made
}

const to = (source_url: string, target_url: string, more: Partial<Redirect> = {}): Redirect => ({
  source_url,
  target_url,
  ...more,
})
const below = { subpath_matching: true }
const names = { include_subdomains: true }

const FOUND: [what: string, redirects: Redirect[], url: string, location: string | undefined][] = [
  ['the very URL', [to('https://a.test/x', 'https://b.test/')], 'https://a.test/x', 'https://b.test/'],
  ['a host alone', [to('a.test', 'https://b.test/')], 'https://a.test/', 'https://b.test/'],
  ['no scheme', [to('a.test/x', 'https://b.test/')], 'http://a.test/x', 'https://b.test/'],
  ['another scheme', [to('https://a.test/x', 'https://b.test/')], 'http://a.test/x', undefined],
  ['another path', [to('a.test/x', 'https://b.test/')], 'http://a.test/xy', undefined],
  ['a path in capitals', [to('a.test/x', 'https://b.test/')], 'http://a.test/X', undefined],
  ['a host in capitals', [to('A.test/x', 'https://b.test/')], 'http://a.TEST/x', 'https://b.test/'],
  ['the query left out', [to('a.test/x', 'https://b.test/')], 'http://a.test/x?q=1', 'https://b.test/'],
  [
    'the query kept',
    [to('a.test/x', 'https://b.test/', { preserve_query_string: true })],
    'http://a.test/x?q=1',
    'https://b.test/?q=1',
  ],
  [
    'the query joined, before the fragment',
    [to('a.test/x', 'https://b.test/?r=2#top', { preserve_query_string: true })],
    'http://a.test/x?q=1#no',
    'https://b.test/?r=2&q=1#top',
  ],
  [
    'a target beyond ASCII, in bytes like the URL',
    [to('a.test/x', 'https://b.test/zo\u00eb/\u20ac', { ...below, preserve_query_string: true })],
    'http://a.test/x/\u00c3\u00bc?q=\u00c3\u00bc',
    'https://b.test/zo\u00c3\u00ab/\u00e2\u0082\u00ac/\u00c3\u00bc?q=\u00c3\u00bc',
  ],
  ['no path below', [to('a.test/x', 'https://b.test/')], 'http://a.test/x/y', undefined],
  ['a path below', [to('a.test/x', 'https://b.test/n', below)], 'http://a.test/x/y/z', 'https://b.test/n/y/z'],
  ['the path itself', [to('a.test/x', 'https://b.test/n', below)], 'http://a.test/x', 'https://b.test/n'],
  ['a longer name', [to('a.test/x', 'https://b.test/n', below)], 'http://a.test/xy', undefined],
  ['any path', [to('a.test', 'https://b.test', below)], 'http://a.test/x?q', 'https://b.test/x'],
  [
    'the suffix dropped',
    [to('a.test/x', 'https://b.test/n', { ...below, preserve_path_suffix: false })],
    'http://a.test/x/y',
    'https://b.test/n',
  ],
  [
    'suffix before the query of the target',
    [to('a.test/x/', 'https://b.test/n/?r=2', below)],
    'http://a.test/x/y',
    'https://b.test/n/y?r=2',
  ],
  ['no name below', [to('a.test/x', 'https://b.test/')], 'http://w.a.test/x', undefined],
  ['a name below', [to('a.test/x', 'https://b.test/', names)], 'http://v.w.a.test/x', 'https://b.test/'],
  ['a name that only ends alike', [to('a.test/x', 'https://b.test/', names)], 'http://aa.test/x', undefined],
  ['a port of its own', [to('a.test:8080/x', 'https://b.test/')], 'http://a.test/x', undefined],
  ['the usual port', [to('https://a.test/x', 'https://b.test/')], 'https://a.test:443/x', 'https://b.test/'],
  [
    'the longer path first',
    [to('a.test', 'https://b.test/1', below), to('a.test/x', 'https://b.test/2', below)],
    'http://a.test/x/y',
    'https://b.test/2/y',
  ],
  [
    'the longer path before the very host',
    [to('w.a.test', 'https://b.test/1', below), to('a.test/x', 'https://b.test/2', { ...below, ...names })],
    'http://w.a.test/x',
    'https://b.test/2',
  ],
  [
    'the very host before its parent, even with a scheme',
    [to('w.a.test/x', 'https://b.test/1'), to('http://a.test/x', 'https://b.test/2', names)],
    'http://w.a.test/x',
    'https://b.test/1',
  ],
  [
    'the longer parent',
    [to('a.test/x', 'https://b.test/1', names), to('w.a.test/x', 'https://b.test/2', names)],
    'http://v.w.a.test/x',
    'https://b.test/2',
  ],
  [
    'a named scheme before none',
    [to('a.test/x', 'https://b.test/1'), to('http://a.test/x', 'https://b.test/2')],
    'http://a.test/x',
    'https://b.test/2',
  ],
  [
    'none where the named scheme does not reach',
    [to('a.test/x', 'https://b.test/1', below), to('http://a.test/x', 'https://b.test/2')],
    'http://a.test/x/y',
    'https://b.test/1/y',
  ],
  ['a URL that is none', [to('a.test', 'https://b.test/', below)], '', undefined],
  ['a URL without its host', [to('a.test', 'https://b.test/', below)], '/x', undefined],
]

t.test('the most specific redirect of a list is found', async (t) => {
  for (const [what, redirects, url, location] of FOUND) {
    t.equal(table(...redirects).find(url)?.location, location, what)
    t.equal(table(...redirects.toReversed()).find(url)?.location, location, `${what}, the other way round`)
  }
})

t.test('the status is the one of the redirect, by default 301', async (t) => {
  const made = table(to('a.test/1', 'https://b.test/'), to('a.test/2', 'https://b.test/', { status_code: 308 }))
  t.equal(made.find('http://a.test/1')?.status, 301)
  t.equal(made.find('http://a.test/2')?.status, 308)
})

const redirectIn = fc.record({
  source_url: fc
    .tuple(
      fc.constantFrom('', 'http://', 'https://'),
      fc.constantFrom('test', 'a.test', 'b.a.test', 'c.b.a.test', 'b.test'),
      fc.constantFrom('', '/', '/x', '/x/', '/x/y', '/x/y/', '/xy', '/x//y'),
    )
    .map((parts) => parts.join('')),
  target_url: fc.nat(1000).map((at) => `https://to.test/${at}`),
  include_subdomains: fc.boolean(),
  subpath_matching: fc.boolean(),
  preserve_path_suffix: fc.constant(false),
})
const urlIn = fc
  .tuple(
    fc.constantFrom('http://', 'https://', ''),
    fc.constantFrom('test', 'a.test', 'b.a.test', 'd.c.b.a.test', 'x.b.test', 'ab.test'),
    fc.constantFrom('', '/', '/x', '/x/', '/x/y', '/x/y/z', '/xy', '/x//y', '/X'),
    fc.constantFrom('', '?q=/x/y', '#/x'),
  )
  .map((parts) => parts.join(''))

/** Checks every redirect, and compares those that match, as documented. */
function naive(redirects: readonly Redirect[], url: string): Redirect | undefined {
  const [, scheme, host = '', path = ''] = /^(?:(\w+):\/\/)?([^/?#]*)([^?#]*)/.exec(url) ?? []
  const asked = path === '' ? '/' : path
  const matching = redirects.flatMap((redirect) => {
    const source = sourceOf(redirect.source_url)
    if (typeof source === 'string') throw new Error(source)
    const own = host === source.host
    const reachesHost = own || (redirect.include_subdomains === true && host.endsWith(`.${source.host}`))
    const dir = source.path.endsWith('/') ? source.path : `${source.path}/`
    const reachesPath = asked === source.path || (redirect.subpath_matching === true && asked.startsWith(dir))
    if (!reachesHost || !reachesPath || (source.scheme !== undefined && source.scheme !== scheme)) return []
    return [{ redirect, order: [source.path.length, own ? 1 : 0, source.host.length, source.scheme ? 1 : 0] }]
  })
  matching.sort((a, b) => {
    const at = a.order.findIndex((value, index) => value !== b.order[index])
    return at === -1 ? 0 : b.order[at]! - a.order[at]!
  })
  return matching[0]?.redirect
}

t.test('any list finds the same as a sequential search, also after some redirects were removed', async (t) => {
  const { key } = LIST_TYPES.redirect
  let hits = 0
  const property = fc.property(
    fc.array(redirectIn, { minLength: 5, maxLength: 40 }),
    fc.array(urlIn, { minLength: 1, maxLength: 10 }),
    fc.nat(3),
    (given, urls, removed) => {
      const bySource = new Map(given.map((redirect) => [key({ redirect }), redirect]))
      const made = table(...given)
      for (const [source, redirect] of [...bySource].slice(0, removed)) {
        made.remove(redirect)
        bySource.delete(source)
      }
      for (const url of urls) {
        const expected = naive([...bySource.values()], url)?.target_url
        if (expected !== undefined) hits++
        if (made.find(url)?.location !== expected)
          throw new Error(`${url}: ${made.find(url)?.location}, not ${expected}`)
      }
    },
  )
  t.doesNotThrow(() => fc.assert(property, { numRuns: 2000 }))
  t.ok(hits > 1000, `${hits} of the URLs were redirected`)
})

t.test('a long URL is looked up at most as often as a source can have slashes', async (t) => {
  const made = table(to('a.test/a', 'https://b.test/', below))
  t.equal(made.find(`http://a.test/a${'/a'.repeat(15_000)}`)?.location.length, 14 + 30_000)
  t.equal(made.find(`http://${'a.'.repeat(15_000)}test/a`), undefined)
  t.equal(
    table(to(`a.test${'/a'.repeat(16)}`, 'https://b.test/', below)).find(`http://a.test${'/a'.repeat(40)}`)?.status,
    301,
  )
})

const BAD: [what: string, redirect: object, pointer: string][] = [
  ['no source', { source_url: '' }, '/redirect/source_url'],
  ['a source with a query', { source_url: 'a.test/?q' }, '/redirect/source_url'],
  ['a source with a fragment', { source_url: 'a.test/#f' }, '/redirect/source_url'],
  ['a source with a wildcard', { source_url: '*.a.test/' }, '/redirect/source_url'],
  ['a source with a space', { source_url: 'a.test/a b' }, '/redirect/source_url'],
  ['a source of another scheme', { source_url: 'ftp://a.test/' }, '/redirect/source_url'],
  ['a source with a user', { source_url: 'http://u:p@a.test/' }, '/redirect/source_url'],
  ['a source without a host', { source_url: '/x' }, '/redirect/source_url'],
  [
    'seventeen slashes with paths below',
    { source_url: `a.test${'/a'.repeat(17)}`, subpath_matching: true },
    '/redirect/source_url',
  ],
  ['a target that is a path', { target_url: '/x' }, '/redirect/target_url'],
  ['a target that is a script', { target_url: 'javascript:alert(1)' }, '/redirect/target_url'],
  ['a target with a line break', { target_url: 'https://b.test/\r\nx' }, '/redirect/target_url'],
  ['a target of another scheme', { target_url: 'ftp://b.test/' }, '/redirect/target_url'],
  ['a status that is no redirect', { status_code: 200 }, '/redirect/status_code'],
  ['303', { status_code: 303 }, '/redirect/status_code'],
  ['an unknown member', { wildcard: true }, '/redirect/wildcard'],
]

t.test('invalid redirects are reported with their position', async (t) => {
  for (const [what, change, pointer] of BAD) {
    const item = { redirect: { source_url: 'a.test', target_url: 'https://b.test/', ...change } }
    t.same(
      itemIssues('redirect', item).map((issue) => issue.pointer),
      [pointer],
      what,
    )
  }
  t.same(itemIssues('redirect', { redirect: to(`a.test${'/a'.repeat(17)}`, 'https://b.test/') }), [])
})
