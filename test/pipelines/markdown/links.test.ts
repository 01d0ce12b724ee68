import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import { parseFragment, type DefaultTreeAdapterTypes } from 'parse5'
import t from 'tap'
import { convert, Converter, type ConvertOptions } from '../../../pipelines/markdown/index.js'
import { render } from '../../conformance/round-trip.js'

const CASES: [html: string, none: string, numbered: string][] = [
  ['<p>a <a href=/u title=x>b</a> (c) <a href=/u title=x>d</a>', 'a b (c) d', 'a b [1] (c) d [1]\n\n[1]: /u "x"'],
  ['<p><a href=u>a</a> <a href=v>b</a>', 'a b', 'a [1] b [2]\n\n[1]: u\n[2]: v'],
  ['<p><a href="a b(">x</a>', 'x', 'x [1]\n\n[1]: a%20b\\('],
  ['<p>a <img src=i alt="a pic"> b <img src=i> c', 'a a pic b c', 'a ![a pic](i) b ![](i) c'],
  ['<p><a href=u><img src=i alt=x> y</a>', 'x y', '![x](i) y [1]\n\n[1]: u'],
  ['<p><b><img src=i></b> a', 'a', '**![](i)** a'],
  ['<p>a<br><img src=i><br>b', 'a  \nb', 'a  \n![](i)  \nb'],
  ['<p><img src=i>', '', '![](i)'],
  ['<p><a href=u>1. x</a>', '1\\. x', '1\\. x [1]\n\n[1]: u'],
  ['<p><a href=u># x</a>', '\\# x', '\\# x [1]\n\n[1]: u'],
  ['<h2><a href=u>a #</a></h2>', '## a \\#', '## a # [1]\n\n[1]: u'],
  ['<p>[3] <a href=u>[3]</a>(z)', '[3] [3]\\(z)', '\\[3] \\[3] [1]\\(z)\n\n[1]: u'],
  ['<p><a href=u>a</a>: b', 'a: b', 'a [1]\\: b\n\n[1]: u'],
  ['<p><code>[a](b)</code><pre>[a](b)</pre>', '`[a](b)`\n\n```\n[a](b)\n```', '`[a](b)`\n\n```\n[a](b)\n```'],
  ['<p><a href=https://x.y/>https://x.y/</a>', '<https://x.y/>', '<https://x.y/>'],
  [
    '<table><tr><th><a href=u>k</a><th>b<tr><td><img src=i><td><a href=v>c|d</a></table>',
    '| k | b |\n| --- | --- |\n| | c\\|d |',
    '| k [1] | b |\n| --- | --- |\n| ![](i) | c\\|d [2] |\n\n[1]: u\n[2]: v',
  ],
  ['<ul><li><a href=u>x</a><li>y</ul>', '- x\n- y', '- x [1]\n- y\n\n[1]: u'],
]

t.test('links are left out or numbered', async (t) => {
  for (const [html, none, numbered] of CASES) {
    t.equal(convert(html, { links: false }).trimEnd(), none, html)
    t.equal(convert(html, { links: 'numbered' }).trimEnd(), numbered, html)
    t.equal(convert(html, { links: true }), convert(html))
  }
})

t.test('the list of addresses comes before JSON-LD, and numbers count only what is kept', async (t) => {
  const words = 'one two three, four five six. '.repeat(20)
  const html = `<nav class=menu><a href=/no>no</a></nav><div class=sidebar><a href=/side>side</a></div><main><p>${words}<a href=/yes>yes</a></main><script type=application/ld+json>{"a":1}</script>`
  const markdown = convert(html, { links: 'numbered', content: 'main' })
  t.match(markdown, /yes \[1\]\n\n\[1\]: \/yes\n\n```json\n/)
  t.notMatch(markdown, /side/)
  t.notMatch(convert(html, { links: false, content: 'main' }), /\/yes|side/)
})

t.test('a noscript of links alone is dropped, and its addresses are', async (t) => {
  const links = Array.from({ length: 40 }, (_, at) => `<a href=/${at}>a link of many words ${at}</a>`).join(' ')
  for (const style of [false, 'numbered'] as const) {
    t.equal(convert(`<p>x<noscript>${links}</noscript>`, { links: style }), 'x\n')
    const kept = convert(`<p>x<noscript><p>${'words '.repeat(90)}${links}</noscript>`, { links: style })
    t.match(kept, /a link of many words 39/)
    t.equal(kept.includes('[40]: /39'), style === 'numbered')
  }
})

t.test('options that exclude each other and unknown values are rejected', async (t) => {
  t.throws(() => convert('<p>a', { links: false, keepHtml: true }), { message: /cannot be combined/ })
  // @ts-expect-error for callers without types
  t.throws(() => convert('<p>a', { links: 'none' }), {
    message: 'links: "none" is not known; use true or false or "numbered"',
  })
  // @ts-expect-error for callers without types
  t.throws(() => convert('<p>a', { content: 'body' }), {
    message: 'content: "body" is not known; use "page" or "main"',
  })
})

const FIXTURES = new URL('../../fixtures/markdown/', import.meta.url)
const pieces = readdirSync(FIXTURES).flatMap((name) =>
  readFileSync(new URL(`${name}/in.html`, FIXTURES), 'utf8').split(/(?=<)|(?<=>)/),
)
const page = fc
  .array(fc.constantFrom(...new Set([...pieces, '[', '](', '(b)', ']', ' [1]', '<a href=u>', '</a>'])), {
    maxLength: 40,
  })
  .map((parts) => parts.join(''))

t.test('without links, no page has any but those whose text is the address', async () => {
  fc.assert(
    fc.property(page, (html) => {
      const rendered = render(convert(html, { links: false, footnotes: false }))
      return [...rendered.matchAll(/<a href="(?:mailto:)?([^"]*)"[^>]*>([^<]*)/g)].every(([, url = '', text = '']) =>
        decodeURI(url).startsWith(decodeURI(text).slice(0, 4)),
      )
    }),
    { numRuns: 1000 },
  )
})

function links(html: string): string[] {
  const found: string[] = []
  const walk = (node: DefaultTreeAdapterTypes.Node): void => {
    if ('attrs' in node && node.nodeName === 'a')
      found.push(node.attrs.find(({ name }) => name === 'href')?.value ?? '')
    if ('childNodes' in node) node.childNodes.forEach(walk)
  }
  walk(parseFragment(html))
  return found
}

t.test('numbered links lead where the links of the page lead', async () => {
  fc.assert(
    fc.property(page, (html) => {
      // A renderer without footnotes reads `[^1]: word` as the address of a link.
      const inline = new Set(links(render(convert(html, { footnotes: false }))))
      const numbered = links(render(convert(html, { links: 'numbered', footnotes: false })))
      return numbered.every((url) => inline.has(url))
    }),
    { numRuns: 1000 },
  )
})

t.test('the Markdown is the same however the page is cut, in each style', async () => {
  const converted = (html: string, size: number, options: ConvertOptions): string => {
    const converter = new Converter(options)
    const bytes = Buffer.from(html)
    let markdown = ''
    for (let at = 0; at < bytes.length; at += size) markdown += converter.write(bytes.subarray(at, at + size))
    return markdown + converter.end()
  }
  fc.assert(
    fc.property(
      page,
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(false, 'numbered' as const),
      (html, size, style) => {
        return converted(html, size, { links: style }) === convert(html, { links: style })
      },
    ),
    { numRuns: 500 },
  )
})

t.test('blocks of brackets, of links and of parentheses take linear time', { timeout: 120_000 }, async (t) => {
  for (const html of [
    `<p>${'['.repeat(300_000)}`,
    `<p>${'<a href=u>x</a> '.repeat(50_000)}`,
    `<p>${'['.repeat(50_000)}${'<a href=u>x</a>]'.repeat(50_000)}`,
    `<p>${'<img src=i>'.repeat(50_000)}`,
    `<p>${'<a href="((((((((((">x</a>'.repeat(30_000)}`,
    `<p>${'<b>'.repeat(20)}${'<img src=i><i>'.repeat(30_000)}`,
  ])
    for (const style of [false, 'numbered'] as const) t.type(convert(html, { links: style }), 'string')
})

t.test('a base neither multiplies a page nor costs time for each link by its length', async (t) => {
  const links = '<a href=b>c</a> '.repeat(20_000)
  const long = `<base href="http://h/${'a'.repeat(100_000)}/">`
  t.equal(convert(long + links).length, '[c](b) '.repeat(20_000).length)
  const base = `<base href="http://h/${'a'.repeat(2000)}/">`
  t.ok(convert(base + links).length < 17 * 1024 * 1024)
  t.match(convert(`${base}<a href=b>c</a>`), /^\[c\]\(http:\/\/h\/a+\/b\)/)
})

t.test('links to addresses that no server would accept are text', async (t) => {
  const page = (length: number) =>
    `<p>a <a href="/${'('.repeat(length)}">link</a> and <img src="/${'<'.repeat(length)}" alt="b">.`
  t.equal(convert(page(140_000)), 'a link and .\n')
  t.match(convert(page(120_000)), /^a \[link\]\(.* and !\[b\]\(.*\)\.\n$/)
})
