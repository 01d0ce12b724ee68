import t from 'tap'
import { InvalidInput } from '../../src/core/errors.js'
import { AssetConfig, HTML_HANDLING, type HtmlHandling } from '../../src/workers/assets/config.js'
import type { AssetFile } from '../../src/workers/assets/files.js'
import { parseHeaders } from '../../src/workers/assets/headers.js'
import { parseRedirects } from '../../src/workers/assets/redirects.js'
import { assetConfigIssues, AssetSite, type AssetDecision, type SiteParts } from '../../src/workers/assets/site.js'
import { parser } from '../../src/core/schema.js'

const file = (name: string): AssetFile => ({ blob: name, size: 1, type: 'text/html' })
const files = (paths: readonly string[]) => new Map(paths.map((path) => [path, file(path)]))

const site = (paths: readonly string[], config: AssetConfig = {}, more: Partial<SiteParts> = {}) =>
  new AssetSite({ files: files(paths), config, worker: false, ...more })

const get = (at: AssetSite, target: string, { method = 'GET', navigates = false } = {}) =>
  at.decide({ method, host: 'site.test', target, navigates })

/** A decision in a few characters: the file, `307 /place`, `404 file`, or its kind. */
function reported(decision: AssetDecision): string {
  if (decision.kind === 'file') return decision.status === 200 ? decision.file.blob : `404 ${decision.file.blob}`
  return decision.kind === 'redirect' ? `${decision.status} ${decision.location}` : decision.kind
}

// Request, files, and what comes of it with auto, force, drop, none.
const HTML: [request: string, files: string[], auto: string, force: string, drop: string, none: string][] = [
  ['/a', ['/a.html'], '/a.html', '307 /a/', '/a.html', 'missing'],
  ['/a', ['/a/index.html'], '307 /a/', '307 /a/', '/a/index.html', 'missing'],
  ['/a/', ['/a.html'], '307 /a', '/a.html', '307 /a', 'missing'],
  ['/a/', ['/a/index.html'], '/a/index.html', '/a/index.html', '307 /a', 'missing'],
  ['/a.html', ['/a.html'], '307 /a', '307 /a/', '307 /a', '/a.html'],
  ['/a.html', ['/a/index.html'], '307 /a/', '307 /a/', '307 /a', 'missing'],
  ['/a/index.html', ['/a/index.html'], '307 /a/', '307 /a/', '307 /a', '/a/index.html'],
  ['/a/index', ['/a/index.html'], '307 /a/', '307 /a/', '307 /a', 'missing'],
  ['/a/index.html', ['/a.html'], '307 /a', '307 /a/', '307 /a', 'missing'],
  ['/a/index', ['/a.html'], '307 /a', '307 /a/', '307 /a', 'missing'],
  ['/a/index/', ['/a/index.html'], '307 /a/index', '/a/index.html', '307 /a/index', 'missing'],
  ['/index/', ['/index.html'], '307 /index', '/index.html', '307 /index', 'missing'],
  ['/a/index', ['/a/index/index.html'], '307 /a/index/', '307 /a/index/', '/a/index/index.html', 'missing'],
  ['/', ['/index.html'], '/index.html', '/index.html', '/index.html', 'missing'],
  ['/index.html', ['/index.html'], '307 /', '307 /', '307 /', '/index.html'],
  ['/index', ['/index.html'], '307 /', '307 /', '307 /', 'missing'],
  ['/a', ['/a'], '/a', '/a', '/a', '/a'],
  ['/logo.png', ['/logo.png'], '/logo.png', '/logo.png', '/logo.png', '/logo.png'],
  ['/a/logo.png', ['/a/logo.png'], '/a/logo.png', '/a/logo.png', '/a/logo.png', '/a/logo.png'],
  ['/none', ['/a.html'], 'missing', 'missing', 'missing', 'missing'],
  ['/none/', ['/a.html'], 'missing', 'missing', 'missing', 'missing'],
  // Both forms of a page: each address serves its own, and no move ends at another file.
  ['/a', ['/a.html', '/a/index.html'], '/a.html', '307 /a/', '/a.html', 'missing'],
  ['/a/', ['/a.html', '/a/index.html'], '/a/index.html', '/a/index.html', '307 /a', 'missing'],
  ['/a.html', ['/a.html', '/a/index.html'], '307 /a', '/a.html', '307 /a', '/a.html'],
  ['/a/index.html', ['/a.html', '/a/index.html'], '307 /a/', '307 /a/', '/a/index.html', '/a/index.html'],
  // A file without an ending stands in the way of the page with that name.
  ['/a.html', ['/a', '/a.html'], '/a.html', '307 /a/', '/a.html', '/a.html'],
  ['/a/index', ['/a/index', '/a/index.html'], '/a/index', '/a/index', '/a/index', '/a/index'],
  // Queries stay; escapes have one form.
  ['/a.html?x=1&y', ['/a.html'], '307 /a?x=1&y', '307 /a/?x=1&y', '307 /a?x=1&y', '/a.html'],
  ['/b%20c', ['/b c.html'], '/b c.html', '307 /b%20c/', '/b c.html', 'missing'],
  ['/%61.png', ['/a.png'], '307 /a.png', '307 /a.png', '307 /a.png', '307 /a.png'],
  ['/a@b.png?q', ['/a@b.png'], '307 /a%40b.png?q', '307 /a%40b.png?q', '307 /a%40b.png?q', '307 /a%40b.png?q'],
  ['//a.png', ['/a.png'], '307 /a.png', '307 /a.png', '307 /a.png', '307 /a.png'],
  ['/x/../a.png', ['/a.png'], '/a.png', '/a.png', '/a.png', '/a.png'],
  ['/x/%2e%2E/a.png', ['/a.png'], '/a.png', '/a.png', '/a.png', '/a.png'],
  ['/%zz', ['/%zz'], '307 /%25zz', '307 /%25zz', '307 /%25zz', '307 /%25zz'],
  ['/%E6%97%A5', ['/日.html'], '/日.html', '307 /%E6%97%A5/', '/日.html', 'missing'],
  ['/%E6%97%A5.txt', ['/%E6%97%A5.txt'], ...(Array(4).fill('/%E6%97%A5.txt') as [string, string, string, string])],
]
t.test('every way of handling HTML', async (t) => {
  for (const [target, paths, ...expected] of HTML)
    for (const [i, handling] of HTML_HANDLING.entries())
      t.equal(
        reported(get(site(paths, { html_handling: handling }), target)),
        expected[i],
        `${target} of ${paths.join()} ${handling}`,
      )
  t.equal(reported(get(site(['/a.html']), '/a')), '/a.html', 'auto-trailing-slash by default')
})

t.test('a redirect leads to a place that is served, whatever was asked', async (t) => {
  const paths = ['/a.html', '/a/index.html', '/b', '/b.html', '/c/index', '/c/index.html', '/d@e.html', '/index.html']
  const asked = paths.flatMap((path) => [path, `${path}/`, path.replace(/\.html$/, ''), path.replace(/index.*$/, '')])
  for (const html_handling of HTML_HANDLING) {
    const at = site(paths, { html_handling })
    for (const target of asked) {
      const first = get(at, target || '/')
      if (first.kind !== 'redirect') continue
      // An escape may be put right first.
      const second = get(at, first.location)
      const last = second.kind === 'redirect' ? get(at, second.location) : second
      t.equal(last.kind, 'file', `${target} ${html_handling} ${first.location}`)
    }
  }
})

t.test('what is missing', async (t) => {
  const paths = ['/index.html', '/404.html', '/a/404.html', '/a/b/x.txt']
  const ROWS: [AssetConfig, string, string][] = [
    [{}, '/nowhere', 'missing'],
    [{ not_found_handling: 'none' }, '/nowhere', 'missing'],
    [{ not_found_handling: '404-page' }, '/nowhere', '404 /404.html'],
    [{ not_found_handling: '404-page' }, '/a/nowhere', '404 /a/404.html'],
    [{ not_found_handling: '404-page' }, '/a/b/c/nowhere', '404 /a/404.html'],
    [{ not_found_handling: '404-page' }, '/b/nowhere', '404 /404.html'],
    [{ not_found_handling: 'single-page-application' }, '/any/where', '/index.html'],
    [{ not_found_handling: 'single-page-application', html_handling: 'none' }, '/any', '/index.html'],
  ]
  for (const [config, target, expected] of ROWS) t.equal(reported(get(site(paths, config), target)), expected, target)
  t.equal(reported(get(site(['/x'], { not_found_handling: '404-page' }), '/y')), 'missing', 'no page for it')
  for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
    t.equal(reported(get(site(paths), '/a/b/x.txt', { method })), 'method_not_allowed')
    t.equal(reported(get(site(paths), '/nowhere', { method })), 'missing')
  }
  t.equal(reported(get(site(paths), '/a/b/x.txt', { method: 'HEAD' })), '/a/b/x.txt')
})

t.test('a base path is prefixed to every file and every move', async (t) => {
  const ROWS: [base: string | null, target: string, expected: string][] = [
    ['/app', '/app/file.txt', '/file.txt'],
    ['/app', '/file.txt', 'missing'],
    ['/app', '/apple/file.txt', 'missing'],
    ['/app', '/app/', '/index.html'],
    ['/app', '/app', '307 /app/'],
    ['/app', '/app/index.html', '307 /app/'],
    ['/app', '/app/a.html?q=1', '307 /app/a?q=1'],
    ['/app/', '/app/a', '/a.html'],
    ['/', '/a', '/a.html'],
    [null, '/a', '/a.html'],
  ]
  for (const [base_path, target, expected] of ROWS)
    t.equal(reported(get(site(['/index.html', '/file.txt', '/a.html'], { base_path }), target)), expected, target)
})

const many = (count: number, line: (i: number) => string) => Array.from({ length: count }, (_, i) => line(i)).join('\n')

const REDIRECTS: [rules: string, target: string, expected: string][] = [
  ['/old /new', '/old', '302 /new'],
  ['/old /new 301', '/old', '301 /new'],
  ['/old /new 303', '/old', '303 /new'],
  ['/old /new 307', '/old', '307 /new'],
  ['/old /new 308', '/old', '308 /new'],
  ['/old https://other.test/x 301', '/old', '301 https://other.test/x'],
  ['/old /page 200', '/old', '/page'],
  ['/old /q.html 200', '/old', '307 /q'],
  ['/old /nowhere 200', '/old', 'missing'],
  ['/old /new', '/old/', 'missing'],
  ['/old /new', '/old?a=1', '302 /new?a=1'],
  ['/old /new?b=2', '/old?a=1', '302 /new?b=2'],
  ['/old /new#part', '/old?a=1', '302 /new?a=1#part'],
  ['/page /elsewhere', '/page', '302 /elsewhere'],
  ['# /old /new', '/old', 'missing'],
  ['/old /new # because', '/old', '302 /new'],
  ['/old /new#because', '/old', '302 /new#because'],
  ['\t/old\t/new\t301\t', '/old', '301 /new'],
  ['/a b /new', '/a', 'missing'],
  ['/b%20c /new', '/b%20c', '302 /new'],
  ['/日 /new', '/%E6%97%A5', '302 /new'],
  ['/blog/* /news/:splat', '/blog/2026/x?q', '302 /news/2026/x?q'],
  ['/blog/* https://blog.test/:splat 301', '/blog/a/b', '301 https://blog.test/a/b'],
  ['/blog/* /news/:splat', '/blog/', '302 /news/'],
  ['/* /page 200', '/anything/at/all', '/page'],
  ['/u/:name/edit /edit/:name', '/u/ann/edit', '302 /edit/ann'],
  ['/u/:name /p?who=:name', '/u/ann', '302 /p?who=ann'],
  ['/u/:name /p/:name', '/u/ann/x', 'missing'],
  ['/:y/:m-:d /:d.:m.:y', '/2026/11-21', '302 /21.11.2026'],
  ['/u/:a /:b', '/u/x', '302 /:b'],
  ['/a/:x-*/:y /:x+:splat+:y', '/a/1-2-3/4/5', '302 /1-2+3/4+5'],
  ['/:x-*-b /:x+:splat', '/a-b-b', '302 /a+b'],
  ['/:x-:y/* /:x+:y+:splat', '/a/b-c/d', 'missing'],
  // Two minutes went by before this one was answered.
  [many(100, (i) => `/*${'a'.repeat(1800)}b${i} /x`), `/${'a'.repeat(16_000)}`, 'missing'],
  ['/x/* https://:splat.test/', '/x/shop', '302 https://shop.test/'],
  // A visitor does not choose the site.
  ['/go/* /:splat', '/go//evil.test', '302 /evil.test'],
  ['/go* /to/:splat/x?u=//y', '/go/a', '302 /to/a/x?u=//y'],
  // The query of the rule replaces that of the request.
  ['/a /b?x=1#y', '/a?z=2', '302 /b?x=1#y'],
  ['/a https://x.test/b?x=1', '/a?z=2', '302 https://x.test/b?x=1'],
  ['/a /b#y', '/a?z=2', '302 /b?z=2#y'],
  // Static ones first; among dynamic ones the order of lines counts.
  ['/a/x /one\n/a/* /two', '/a/x', '302 /one'],
  ['/a/* /two\n/a/x /one', '/a/x', '302 /two'],
  ['/a/* /one\n/a/:x /two', '/a/b', '302 /one'],
  ['/a /one\n/a /two', '/a', '302 /one'],
]
t.test('redirects', async (t) => {
  for (const [_redirects, target, expected] of REDIRECTS)
    t.equal(reported(get(site(['/page', '/q.html'], { _redirects }), target)), expected, `${_redirects} ${target}`)
})

const BAD_REDIRECTS: [text: string, handling: HtmlHandling, rules: number, line: number, message: RegExp][] = [
  ['/a', 'none', 0, 1, /2 or 3 words/],
  ['/a /b 301 x', 'none', 0, 1, /not 4/],
  ['/a /b 404', 'none', 0, 1, /status/],
  ['/a /b x', 'none', 0, 1, /status/],
  ['/a /b 0301', 'none', 0, 1, /status/],
  ['a /b', 'none', 0, 1, /one slash/],
  ['//a /b', 'none', 0, 1, /one slash/],
  ['https://x.test/a /b', 'none', 0, 1, /one slash/],
  ['/a b', 'none', 0, 1, /destination/],
  ['/a http://x.test/', 'none', 0, 1, /https/],
  ['/a //x.test/', 'none', 0, 1, /destination/],
  ['/a https://', 'none', 0, 1, /destination/],
  ['/a https://x.test/ 200', 'none', 0, 1, /status 200/],
  ['/a/*/b/* /c', 'none', 0, 1, /more than once/],
  ['/:a/:a /c', 'none', 0, 1, /more than once/],
  [`/:a/${'x'.repeat(200)}/* /c`, 'none', 0, 1, /200 characters between/],
  // Millions of lines kept all else waiting for seconds.
  [`${'#\n'.repeat(20_000)}/a /b\n/c /d`, 'none', 0, 20_001, /20000 lines/],
  ['/* /index.html 200', 'auto-trailing-slash', 0, 1, /itself/],
  ['/* /index', 'none', 0, 1, /itself/],
  ['/ /index.html', 'auto-trailing-slash', 0, 1, /itself/],
  ['/ok /b\n/ok /c', 'none', 1, 2, /already/],
  [`/${'x'.repeat(2000)} /b\n/ok /c`, 'none', 1, 1, /2000 characters/],
  [many(2001, (i) => `/s${i} /x`), 'none', 2000, 2001, /2000 static/],
  [many(101, (i) => `/s${i}/* /x`), 'none', 100, 101, /100 dynamic/],
  [`/d/* /x\n${many(101, (i) => `/s${i} /x`)}`, 'none', 100, 101, /100 dynamic/],
]
t.test('invalid lines of _redirects are left out and reported', async (t) => {
  for (const [text, handling, rules, line, message] of BAD_REDIRECTS) {
    const read = parseRedirects(text, handling)
    t.match([read.rules, read.warnings], [rules, [{ line, message }]], text.slice(0, 60))
    t.equal(read.warnings.length, 1)
  }
  t.match(parseRedirects('/ /index.html 301', 'none'), { rules: 1, warnings: [] }, 'no loop where nothing moves')
  t.equal(
    parseRedirects(
      many(5000, () => 'x'),
      'none',
    ).warnings.length,
    100,
    'of very many, a hundred are told',
  )
})

const BASE = ['content-type', 'text/html', 'cache-control', 'public']
const HEADERS: [rules: string, path: string, expected: Record<string, string>][] = [
  ['/a\n  X-One: 1', '/a', { 'x-one': '1' }],
  ['https://*.test/a\n  X-One: :splat', '/a', { 'x-one': 'site' }],
  ['/a\nX-One: 1\nX-Two: a: b', '/a', { 'x-one': '1', 'x-two': 'a: b' }],
  ['/a\n  X-One: 1', '/b', {}],
  ['/a\n  X-One: 1\n  x-one: 2', '/a', { 'x-one': '1, 2' }],
  ['/*\n  X-One: 1\n/a\n  X-One: 2', '/a', { 'x-one': '1, 2' }],
  ['/a\n  Cache-Control: no-store', '/a', { 'cache-control': 'no-store' }],
  ['/a\n  ! Cache-Control', '/a', { 'cache-control': '' }],
  ['/*\n  X-One: 1\n/a\n  ! X-One', '/a', {}],
  ['/a\n  X-One: 2\n  ! X-One', '/a', { 'x-one': '2' }],
  ['/a/*\n  X-Rest: r=:splat', '/a/b/c', { 'x-rest': 'r=b/c' }],
  ['/u/:name/x\n  X-Name: :name, :other', '/u/ann/x', { 'x-name': 'ann, :other' }],
  ['https://site.test/a\n  X-One: 1', '/a', { 'x-one': '1' }],
  ['https://other.test/*\n  X-One: 1', '/a', {}],
  ['https://:sub.test/*\n  X-Sub: :sub', '/a', { 'x-sub': 'site' }],
  ['https://SITE.test/a\n  X-One: 1', '/a', { 'x-one': '1' }],
  ['/a b\n  X-One: 1', '/a%20b', { 'x-one': '1' }],
  ['# no\n/a # b\n/a\n  # no\n  X-One: 1 # stays', '/a', { 'x-one': '1 # stays' }],
]
t.test('headers', async (t) => {
  for (const [rules, path, expected] of HEADERS) {
    const raw = parseHeaders(rules).apply('site.test', path, BASE)
    const found = new Map<string, string>()
    for (let i = 0; i < raw.length; i += 2) found.set(raw[i]!, raw[i + 1]!)
    const wanted: Record<string, string> = { 'content-type': 'text/html', 'cache-control': 'public', ...expected }
    t.same(
      Object.fromEntries(found),
      Object.fromEntries(Object.entries(wanted).filter(([, value]) => value !== '')),
      rules,
    )
  }
  t.equal(parseHeaders('/a\n X: 1').apply('site.test', '/b', BASE), BASE, 'the very list where no rule fits')
})

const BAD_HEADERS: [text: string, rules: number, line: number, message: RegExp][] = [
  ['X-One: 1', 0, 1, /no path/],
  ['/a', 0, 1, /no header below/],
  ['/a\n/b\n  X: 1', 1, 1, /no header below/],
  ['/a\n  X: 1\n  nothing', 1, 3, /a colon/],
  ['/a\n  X: 1\n  : y', 1, 3, /no name/],
  ['/a\n  X: 1\n  Y:', 1, 3, /no value/],
  ['/a\n  X: 1\n  Y Z: 1', 1, 3, /not the name/],
  ['/a\n  X: 1\n  Y: \u0001', 1, 3, /not allowed in a header/],
  ['/a\n  X: 1\n  Y: 日', 1, 3, /not allowed in a header/],
  ['/a\n  X: 1\n  ! ', 1, 3, /a colon|no name/],
  ['/a\n  X: 1\n  Content-Length: 3', 1, 3, /cannot be set/],
  ['/a\n  X: 1\n  ! Transfer-Encoding', 1, 3, /cannot be set/],
  ['//a\n  X: 1\n/b\n  X: 1', 1, 1, /one slash/],
  ['http://site.test/\n/b\n  X: 1', 1, 1, /https/],
  ['https://site.test:8080/\n/b\n  X: 1', 1, 1, /port/],
  ['/a/*/*\n/b\n  X: 1', 1, 1, /more than once/],
  ['/a/:splat/*\n/b\n  X: 1', 1, 1, /:splat/],
  ['/a b\n/b\n  X: 1', 1, 1, /no header below/],
  ['https://site.test/a b\n/b\n  X: 1', 1, 1, /white space/],
  [`/a\n  X: 1\n  Y: ${'y'.repeat(2000)}`, 1, 3, /2000/],
  [many(101, (i) => `/h${i}\n  X: 1`), 100, 201, /100 rules/],
]
t.test('invalid lines of _headers are left out and reported', async (t) => {
  for (const [text, rules, line, message] of BAD_HEADERS) {
    const read = parseHeaders(text)
    t.equal(read.rules, rules, text.slice(0, 60))
    t.match(read.warnings[0], { line, message }, text.slice(0, 60))
  }
})

t.test('who gets a request first', async (t) => {
  const code = { worker: true }
  const page = { not_found_handling: '404-page' as const }
  const dated = { ...code, compatibilityDate: '2025-04-01' }
  const ROWS: [AssetConfig, Partial<SiteParts>, target: string, navigates: boolean, expected: string][] = [
    [{}, code, '/a', false, '/a.html'],
    [{}, code, '/nowhere', false, 'worker'],
    [{ run_worker_first: true }, code, '/a', false, 'worker'],
    [{ run_worker_first: false }, code, '/a', false, '/a.html'],
    [{ serve_directly: false }, code, '/a', false, 'worker'],
    [{ serve_directly: true }, code, '/a', false, '/a.html'],
    [{ run_worker_first: true }, {}, '/a', false, '/a.html'],
    [{ run_worker_first: ['/api/*'] }, code, '/api/x', false, 'worker'],
    [{ run_worker_first: ['/api/*'] }, code, '/a', false, '/a.html'],
    [{ run_worker_first: ['/*', '!/a'] }, code, '/a', false, '/a.html'],
    [{ run_worker_first: ['/*', '!/b/*'] }, code, '/a', false, 'worker'],
    [{ run_worker_first: ['/*', '!/b/*'] }, code, '/b/x', false, 'missing'],
    [{ run_worker_first: ['/x*y/z'] }, code, '/x-1-y/z', false, 'worker'],
    [{ run_worker_first: ['/x.y'] }, code, '/xay', false, 'worker'],
    [{ run_worker_first: ['/a'], _redirects: '/b /c' }, code, '/b', false, '302 /c'],
    [page, code, '/nowhere', true, 'worker'],
    [page, dated, '/nowhere', true, '404 /404.html'],
    [page, dated, '/nowhere', false, 'worker'],
    [{}, dated, '/nowhere', true, 'worker'],
    // With rules, the assets have what no rule names, their page for what is missing included.
    [{ ...page, run_worker_first: ['/api/*'] }, code, '/nowhere', false, '404 /404.html'],
    [{ ...page, run_worker_first: ['/api/*'] }, code, '/api/nowhere', true, 'worker'],
    [{ run_worker_first: ['/api/*'] }, code, '/nowhere', false, 'worker'],
    // Without that page, the Worker responds.
    [{ not_found_handling: 'single-page-application' }, dated, '/nowhere', true, 'worker'],
    [
      page,
      { ...code, compatibilityFlags: ['assets_navigation_prefers_asset_serving'] },
      '/nowhere',
      true,
      '404 /404.html',
    ],
    [page, { ...dated, compatibilityFlags: ['assets_navigation_has_no_effect'] }, '/nowhere', true, 'worker'],
  ]
  for (const [config, parts, target, navigates, expected] of ROWS)
    t.equal(
      reported(get(site(['/a.html', '/404.html'], config, parts), target, { navigates })),
      expected,
      JSON.stringify(config),
    )
})

t.test('a configuration that cannot be is refused where it is wrong', async (t) => {
  const ROWS: [config: unknown, pointer: string][] = [
    [{ html_handling: 'sometimes' }, '/html_handling'],
    [{ not_found_handling: '500-page' }, '/not_found_handling'],
    [{ run_worker_first: 'yes' }, '/run_worker_first'],
    [{ run_worker_first: [1] }, '/run_worker_first/0'],
    [{ run_worker_first: ['api'] }, '/run_worker_first/0'],
    [{ run_worker_first: [] }, '/run_worker_first'],
    [{ run_worker_first: ['!/a'] }, '/run_worker_first'],
    [{ run_worker_first: ['/a', '/a'] }, '/run_worker_first/1'],
    [{ run_worker_first: ['/a/b', '/a/*'] }, '/run_worker_first/0'],
    [{ run_worker_first: [`/${'a'.repeat(100)}`] }, '/run_worker_first/0'],
    [{ run_worker_first: Array.from({ length: 101 }, (_, i) => `/${i}`) }, '/run_worker_first'],
    [{ run_worker_first: true, serve_directly: true }, '/serve_directly'],
    [{ base_path: 'app' }, '/base_path'],
    [{ base_path: '//app' }, '/base_path'],
    [{ base_path: '/a/../b' }, '/base_path'],
    [{ base_path: '/a?b' }, '/base_path'],
    [{ base_path: '/a b' }, '/base_path'],
    [{ base_path: 3 }, '/base_path'],
    [{ _headers: 1 }, '/_headers'],
    [{ _redirects: [] }, '/_redirects'],
    [{ other: 1 }, '/other'],
  ]
  const parse = parser(AssetConfig)
  const issues = (config: unknown) => {
    try {
      return assetConfigIssues(parse(config), '')
    } catch (error) {
      if (!(error instanceof InvalidInput)) throw error
      return error.issues
    }
  }
  for (const [config, pointer] of ROWS)
    t.equal(issues(config)[0]?.pointer, pointer, JSON.stringify(config).slice(0, 60))
  t.same(issues({ base_path: null, run_worker_first: ['/api/*', '!/api/docs'], html_handling: 'none' }), [])
  t.same(issues({ base_path: '/app/', run_worker_first: true }), [])
})
