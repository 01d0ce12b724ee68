import { readdirSync, readFileSync } from 'node:fs'
import { Readable } from 'node:stream'
import { text as textOf } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import fc from 'fast-check'
import { parseFragment, type DefaultTreeAdapterTypes } from 'parse5'
import t from 'tap'
import { parse as parseYaml } from 'yaml'
import { ELEMENTS, FAMILIES } from '../../../pipelines/markdown/elements/index.js'
import {
  convert,
  Converter,
  MarkdownTransform,
  MAX_HTML_BYTES,
  NotConvertible,
  PageTooLarge,
} from '../../../pipelines/markdown/index.js'
import { canonical, render } from '../../conformance/round-trip.js'

const FIXTURES = new URL('../../fixtures/markdown/', import.meta.url)

const read = (name: string, file: string) => readFileSync(new URL(`${name}/${file}`, FIXTURES), 'utf8')

/** Returns the Markdown of a page that arrives in pieces of these lengths, repeatedly. */
function converted(html: string, lengths: readonly number[]): string {
  const converter = new Converter()
  const bytes = Buffer.from(html)
  let markdown = ''
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const length = lengths[turn % lengths.length] ?? 1
    markdown += converter.write(bytes.subarray(at, at + length))
    at += length
  }
  return markdown + converter.end()
}

function textContent(node: DefaultTreeAdapterTypes.Node): string {
  if ('value' in node) return node.value
  return 'childNodes' in node ? node.childNodes.map(textContent).join('') : ''
}

const names = readdirSync(FIXTURES)

t.test('each example page becomes its Markdown, however it is cut', async (t) => {
  for (const name of names) {
    const html = read(name, 'in.html')
    const markdown = read(name, 'out.md')
    t.equal(convert(html), markdown, name)
    t.equal(convert(Buffer.from(html)), markdown, `${name}, as bytes`)
    t.equal(converted(html, [1]), markdown, `${name}, byte by byte`)
  }
})

t.test('each element belongs to one family', async (t) => {
  const all = FAMILIES.flatMap((family) => family.names)
  t.equal(new Set(all).size, all.length)
  t.equal(ELEMENTS.size, all.length)
})

/** Pages put together from the tags and texts of all examples, in any order. */
const pieces = [...new Set(names.flatMap((name) => read(name, 'in.html').split(/(?=<)|(?<=>)/)))]
const page = fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map((parts) => parts.join(''))

t.test('the Markdown of any page is the same however it is cut', async () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 })
  fc.assert(
    fc.property(page, lengths, (html, cuts) => {
      return converted(html, cuts) === convert(html)
    }),
    { numRuns: 1500 },
  )
})

t.test('the cells of a long table for layout stay in order', async (t) => {
  const rows = Array.from({ length: 450 }, (_, at) => `r${at}`)
  const html = `<table>${rows.map((row) => `<tr><td>${row}</td></tr>`).join('')}</table>`
  t.equal(convert(html), rows.join('\n\n') + '\n')
})

t.test('a page that is read in several steps is converted as a short one', async (t) => {
  const CASES: [what: string, html: (fill: string) => string, markdown: (fill: string) => string][] = [
    ['text', (fill) => `<p>${fill}\u{1f600} b  c`, (fill) => `${fill}\u{1f600} b c\n`],
    ['a reference', (fill) => `<p>${fill}&copy;&lt; b`, (fill) => `${fill}\u00a9< b\n`],
    ['white space', (fill) => `<p>${fill} \n b<b> c</b>`, (fill) => `${fill} b **c**\n`],
    ['a line end', (fill) => `<pre>${fill}\r\n\r\nb</pre>`, (fill) => `\`\`\`\n${fill}\n\nb\n\`\`\`\n`],
    ['a code span', (fill) => `<code>${fill}  b </code>`, (fill) => `\`${fill}  b \`\n`],
    ['an end tag', (fill) => `<b>${fill}</b>c`, (fill) => `**${fill}**c\n`],
    ['an attribute', (fill) => `a <a href="/${fill}">b</a>`, (fill) => `a [b](/${fill})\n`],
  ]
  for (const [what, html, markdown] of CASES)
    for (const length of [32_760, 32_761, 32_762, 32_763, 32_764, 32_765, 32_766, 32_767, 32_768, 100_000]) {
      const fill = 'a'.repeat(length)
      t.ok(convert(html(fill)) === markdown(fill), `${what} after ${length} characters`)
    }
})

t.test('a page of much Markdown is written completely and in order', async (t) => {
  const numbers = Array.from({ length: 3000 }, (_, number) => number)
  const html = (tag: string) => numbers.map((number) => `<${tag}>number ${number}</${tag}>`).join('')
  const body = `${html('p')}<ul>${html('li')}</ul><table>${numbers.map((n) => `<tr><td>a<td>${n}`).join('')}</table>`
  const blocks = [
    ...numbers.map((number) => `number ${number}`),
    numbers.map((number) => `- number ${number}`).join('\n'),
    ['| a | 0 |', '| --- | --- |', ...numbers.slice(1).map((number) => `| a | ${number} |`)].join('\n'),
  ]
  t.ok(convert(body) === `${blocks.join('\n\n')}\n`)
  t.ok(convert(`<head><meta name=title content=x>${body}`) === `---\ntitle: x\n---\n\n${blocks.join('\n\n')}\n`)
  t.ok(converted(body, [1, 70_000]) === `${blocks.join('\n\n')}\n`)
})

t.test('white space and references in code stay code', async (t) => {
  const CASES: [html: string, markdown: string][] = [
    ['<code> a</code>', '` a`\n'],
    ['<code>a<br>b</code>', '`a b`\n'],
    ['<code><label></label>a</code>', '`  a`\n'],
    ['<code>a\n  b</code>', '`a b`\n'],
    ['<code>a&#10;b</code>', '`a b`\n'],
    ['<code>a&#39;s &#xaz;&#x0d;&#x1F600;&Tab;b</code>', "`a's z; 😀\tb`\n"],
    ['<code>&grave;</code>', '`` ` ``\n'],
    ['a&#39;s&#32;&#9; b &#x27;c&#x20;<b>d&NewLine;e</b>', "a's b 'c **d e**\n"],
    ['<span>a</span> <span>b</span>\n<span>c </span> d', 'a b c d\n'],
  ]
  for (const [html, markdown] of CASES) t.equal(convert(html), markdown, html)
})

t.test('addresses, titles and cells that need no escapes differ from those that do', async (t) => {
  const CASES: [html: string, markdown: string][] = [
    ['<a href="/a_(b)(c)" title="x &amp; y">1</a>', '[1](/a_(b)(c) "x & y")'],
    ['<a href="/a)(b" title=\'q"q\'>1</a>', '[1](/a\\)\\(b "q\\"q")'],
    ['<a href="/(a" title="a&#10;b\\">1</a>', '[1](/\\(a "a&#10;b\\\\")'],
    [`<a href="/${'('.repeat(31)}${')'.repeat(31)}">1</a>`, `[1](/${'\\('.repeat(31)}${'\\)'.repeat(31)})`],
    [
      '<table><tr><th>a<th>b<tr><td>x | y<td>z<tr><td>p<br>q<td>|<tr><td>k<td>l</table>',
      '| a | b |\n| --- | --- |\n| x \\| y | z |\n| p<br>q | \\| |\n| k | l |',
    ],
    [
      '<ol><li>1. a #<li><h3>b #</h3><li>c<br>d<li><img src=/x alt="a">',
      '1. 1\\. a #\n2. ### b \\#\n3. c  \n   d\n4. ![a](/x)',
    ],
  ]
  for (const [html, markdown] of CASES) t.equal(convert(html), markdown + '\n', html)
})

t.test('emphasis at the start of a block is neither a list nor a rule', async (t) => {
  const examples: [html: string, markdown: string][] = [
    ['<p><i>a</i> b', '*a* b'],
    ['<p><i>* a</i> b', '*\\* a* b'],
    ['<p><b>*</b>', '**\\***'],
    ['<p><i></i>* a', '\\* a'],
    ['<p><b><br></b>+ a', '\\+ a'],
    ['<p><i>a</i><br>- b', '*a*  \n\\- b'],
    ['<p><del><del>a</del></del>', '\\~~~~a~~~~'],
    ['<p><a href="x">1. a</a><h2>b</h2>', '[1. a](x)\n\n## b'],
  ]
  for (const [html, markdown] of examples) t.equal(convert(html), markdown + '\n', html)
})

t.test('an element that its style hides is left out, however the style is written', async (t) => {
  const hiding = [
    'display:none',
    'DISPLAY : None',
    'display:n&#111;ne',
    'color:red;visibility:hidden',
    'visibility:h&#x69;dden',
  ]
  for (const style of hiding) t.equal(convert(`<p>a<b style="${style}"> b`), 'a\n', style)
  for (const style of ['', 'color:red', 'font:normal', 'display:inline', 'white-space:nowrap'])
    t.equal(convert(`<p>a<b style="${style}"> b`), 'a **b**\n', style)
})

t.test('the body of any page never begins with the line that begins frontmatter', async () => {
  fc.assert(
    fc.property(page, (html) => html.includes('<meta') || !/^---[ \t]*(?:\n|$)/.test(convert(html))),
    { numRuns: 1000 },
  )
})

const plain = fc.string({
  unit: fc.constantFrom(
    ...'ab1 .*_`~[]()<>!#+-=|\\&;:"\'{}$^@/\n'.split(''),
    '&amp;',
    'é',
    '中',
    '。',
    '“',
    '😀',
    '\u00a0',
  ),
  maxLength: 30,
})
const escapeHtml = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;')
const collapse = (text: string) => text.replace(/[ \t\r\n]+/g, ' ').trim()

t.test('any text in a paragraph, an item, a link or emphasis is unchanged after rendering', async () => {
  const around = fc.constantFrom(
    (text: string) => `<p>${text}</p>`,
    (text: string) => `<ul><li>${text}</li></ul>`,
    (text: string) => `<p>x<em>${text}</em>y</p>`,
    (text: string) => `<h2>a${text}</h2>`,
    (text: string) => `<p>a<br>${text}</p>`,
    (text: string) => `<p><a href="/x">${text}b</a></p>`,
    (text: string) => `<p><b>${text}</b><i>${text}</i></p>`,
  )
  fc.assert(
    fc.property(plain, around, (text, wrap) => {
      const html = wrap(escapeHtml(text))
      const wanted = collapse(textContent(parseFragment(html.replace('<br>', ' '))))
      const got = collapse(textContent(parseFragment(render(convert(html)).replace('<br />', ' '))))
      // White space at the ends of a block is not retained, nor is it between two of them.
      return got.replace(/\s/g, '') === wanted.replace(/\s/g, '')
    }),
    { numRuns: 4000 },
  )
})

t.test('any nested emphasis is unchanged after rendering', async () => {
  const word = fc.constantFrom('a', 'b ', ' c', '(', ')', '"', '.', '中', '1')
  const { inline } = fc.letrec<{ inline: string }>((tie) => ({
    inline: fc.oneof(
      { depthSize: 'small' },
      word,
      fc.tuple(word, tie('inline'), word).map(([before, inner, after]) => before + inner + after),
      fc.tuple(fc.constantFrom('em', 'strong'), tie('inline')).map(([tag, inner]) => `<${tag}>x${inner}y</${tag}>`),
      fc.tuple(tie('inline'), tie('inline')).map(([left, right]) => left + right),
    ),
  }))
  const tidy = (html: string) =>
    canonical(html)
      .replace(/ (<\/)/g, '$1 ')
      .replace(/ +/g, ' ')
  // Elements of one kind inside each other and adjacent to each other have more readings than marks.
  const depth = (html: string, tag: string) =>
    Math.max(
      ...[...html.matchAll(/<\/?(\w+)>/g)].reduce(
        (depths, [each, name]) =>
          name === tag ? [...depths, (depths.at(-1) ?? 0) + (each.startsWith('</') ? -1 : 1)] : depths,
        [0],
      ),
    )
  const shallow = inline.filter((html) => depth(html, 'em') < 2 && depth(html, 'strong') < 2)
  fc.assert(
    fc.property(shallow, (html) => tidy(render(convert(`<p>${html}</p>`))) === tidy(`<p>${html.trim()}</p>`)),
    { numRuns: 3000 },
  )
})

t.test('frontmatter is YAML that contains exactly the fields of the page', async () => {
  const value = fc.string({
    unit: fc.oneof(
      fc.constantFrom(...'-:#"\'\\\n{}[]&*!|>%@`yesno1.~ \t'.split('')),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    ),
    maxLength: 20,
  })
  const attribute = (text: string) => text.replace(/&/g, '&amp;').replace(/"/g, '&quot;').replace(/\r/g, '&#13;')
  fc.assert(
    fc.property(value, value, (title, description) => {
      const markdown = convert(
        `<meta name=title content="${attribute(title)}"><meta name=description content="${attribute(description)}"><p>x`,
      )
      // NUL is not a character of HTML.
      const expected = Object.fromEntries(
        Object.entries({ title, description })
          .map(([key, text]) => [key, text.replaceAll('\0', '\ufffd').trim()])
          .filter(([, text]) => text !== ''),
      )
      if (Object.keys(expected).length === 0) return markdown === 'x\n'
      const [, yaml = ''] = /^---\n([^]*?\n)---\n\nx\n$/.exec(markdown) ?? []
      return JSON.stringify(parseYaml(yaml)) === JSON.stringify(expected)
    }),
    { numRuns: 2000 },
  )
})

t.test('half a surrogate pair in a title becomes a replacement character', async (t) => {
  t.equal(convert('<meta name=title content="a\ud800b">'), '---\ntitle: "a\ufffdb"\n---\n')
})

t.test('blocks are written as soon as they are complete', async (t) => {
  const converter = new Converter({ contentType: 'text/html; charset=utf-8' })
  const write = (html: string) => converter.write(Buffer.from(html))
  t.equal(write('<head><meta name=title content=T>'), '')
  t.equal(write('</head>'), '---\ntitle: T\n---')
  t.equal(write('<p>One</p><p>Tw'), '\n\nOne')
  t.equal(write('o</p><ul><li>a<li>'), '\n\nTwo\n\n- a')
  t.equal(write('<pre>x'), '')
  t.equal(write('</pre>'), '\n- ```\n  x\n  ```')
  t.equal(converter.end(), '\n')
})

t.test('a head that is never ended delays a page only up to a limit', async (t) => {
  const converter = new Converter({ contentType: 'text/html; charset=utf-8' })
  t.not(converter.write(Buffer.from(`<head>${'<p>some text</p>'.repeat(40_000)}`)), '')
})

t.test('the Content-Type determines how bytes are decoded', async (t) => {
  const bytes = Buffer.from('<p>\x80\xe9</p>', 'latin1')
  t.equal(convert(bytes, { contentType: 'text/html; charset=windows-1252' }), '€é\n')
  t.equal(convert(bytes, { contentType: 'text/html;Charset="ISO-8859-1"' }), '€é\n')
  t.equal(convert(bytes), '€é\n')
  t.equal(convert(bytes, { contentType: 'text/html; charset=utf-8' }), '\ufffd\ufffd\n')
  const xhtml = '<html xmlns="http://www.w3.org/1999/xhtml"><body><p>a<br/>b</p><script/><p>c</p></body></html>'
  t.equal(convert(xhtml, { contentType: 'application/xhtml+xml' }), 'a  \nb\n\nc\n')
  t.throws(() => convert('<p>a', { contentType: 'application/xhtml+xml' }), NotConvertible)
})

t.test('a page above the maximum size is rejected', async (t) => {
  const page = Buffer.alloc(MAX_HTML_BYTES, 'a ')
  t.equal(convert(page).length, MAX_HTML_BYTES)
  t.throws(() => convert(Buffer.concat([page, Buffer.from('a')])), PageTooLarge)
  t.throws(() => convert('é'.repeat(MAX_HTML_BYTES / 2 + 1)), PageTooLarge)
})

t.test('the stream writes what the function returns, and ends in the same errors', async (t) => {
  const html = read('lists-with-blocks', 'in.html') + read('json-ld', 'in.html')
  const stream = Readable.from(
    Buffer.from(html)
      .toString('latin1')
      .match(/[^]{1,7}/g) ?? [],
  )
  const bytes = stream.map((piece: string) => Buffer.from(piece, 'latin1'))
  t.equal(await textOf(bytes.pipe(new MarkdownTransform())), convert(html))
  const refused = pipeline(
    Readable.from([Buffer.from('<p>')]),
    new MarkdownTransform({ contentType: 'application/xhtml+xml' }),
    async (markdown) => void (await textOf(markdown)),
  )
  await t.rejects(refused, NotConvertible)
})

const LENGTH = 2_000_000
const rep = (text: string) => text.repeat(LENGTH / text.length)
const HOSTILE: [what: string, html: string][] = [
  ['quotes inside each other', rep('<blockquote><p>a')],
  ['lists inside each other', rep('<ul><li>a')],
  ['items without a list', rep('<li>a')],
  ['tables inside each other', rep('<table><tr><td>a')],
  ['links without end', rep('<a href=x>t')],
  ['one link around everything', `<a href=x>${rep('<div>t</div>')}`],
  ['emphasis inside emphasis', rep('<em>a<b>')],
  ['emphasis that ends in the wrong order', rep('<em>a<strong>b</em>c</strong>')],
  ['a row of cells', `<table><tr>${rep('<td>a')}`],
  ['rows', `<table>${rep('<tr><td>a<td>b')}`],
  ['cells of many columns', `<table>${rep('<tr><td colspan=1000>a<td>b')}`],
  ['cells of many rows', `<table>${rep('<tr><td rowspan=65534>a<td rowspan=9999 colspan=1000>b')}`],
  ...'*_[]`\\~#-|<'
    .split('')
    .map((char): [string, string] => [`text of ${char}`, `<p>${rep(char).replace(/</g, '&lt;')}`]),
  ['code of backticks', `<pre>${rep('`')}`],
  ['a code span of spaces', `<code>a${rep(' ')}\n${rep(' ')}b</code>`],
  ['code spans side by side', rep('<code>a</code>')],
  ['scripts of JSON-LD', rep('<script type=application/ld+json>{}</script>')],
  ['a script of spaces', `<script type=application/ld+json>{${rep(' ')}}</script>`],
  ['a long title', `<meta name=title content="${rep(':\n')}">`],
  ['a set of images', `<img srcset="${rep('a, ')}">`],
  ['a set of images without end', `<img srcset="${rep('a ')}">`],
  ['a set of one long address', `<img srcset="${rep('a')} b">`],
  ['a set with a long size', `<img srcset="a ${rep('1')} b">`],
  ['names of placeholders', rep(`<img src="${'lazy'.repeat(25_000)}">`)],
  ['an address of spaces', `<a href="a${rep(' ')}b">x</a>`],
  ['deep quotes of empty lines', `${'<blockquote>'.repeat(64)}<pre>${rep('\n')}`],
  ['deep items of paragraphs', `${'<ul><li>'.repeat(64)}${rep('<p>a')}`],
  ['everything at once', rep('<ul><li><blockquote><table><tr><td><b><a href=x>')],
]

t.test('hostile pages neither fail nor swell', async (t) => {
  for (const [what, html] of HOSTILE) {
    const markdown = convert(html.slice(0, MAX_HTML_BYTES))
    t.ok(markdown.length < 12 * html.length + 20_000_000, what)
  }
})

t.test('footnotes, callouts and formulas have a plain form', async (t) => {
  const html =
    '<p>Fact<sup><a href="#fn1" class="footnote-ref">1</a></sup> and <span class="math">\\(x_1\\)</span></p>' +
    '<div class="admonition tip"><p class="admonition-title">Tip</p><p>Do.</p></div><ol><li id="fn1">Note</li></ol>'
  t.equal(convert(html), 'Fact[^1] and $`x_1`$\n\n> [!TIP]\n> Do.\n\n[^1]: Note\n')
  t.equal(
    convert(html, { footnotes: false, callouts: false, math: false }),
    'Fact[1](#fn1) and `x_1`\n\nTip\n\nDo.\n\n1. Note\n',
  )
  // @ts-expect-error for callers without types
  t.throws(() => convert('<p>a', { math: 'tex' }), { message: 'math: "tex" is not known; use true or false' })
})

t.test('notes of the main content are kept with the text that has their marks, and no others', async (t) => {
  const text = 'The text of the article is long enough to be its main content, as a paragraph with some sentences. '
  const html =
    `<main><article>${`<p>${text.repeat(5)}<sup><a href="#fn1">1</a></sup></p>`.repeat(3)}</article></main>` +
    `<aside class="related"><p>Else<sup><a href="#fn2">2</a></sup></p></aside>` +
    '<div class="sidebar"><ol><li id="fn1">First</li><li id="fn2">Second</li></ol></div>'
  const markdown = convert(html, { content: 'main' })
  t.match(markdown, '[^1]: First')
  t.notMatch(markdown, 'Second')
  t.notMatch(markdown, '[^2]')
})

t.test('many marks and notes take linear time and bounded memory', async (t) => {
  const marks = Array.from({ length: 10_000 }, (_, at) => `<p>a<sup><a href="#fn${at}">${at}</a></sup></p>`).join('')
  const notes = Array.from({ length: 10_000 }, (_, at) => `<li id="fn${at}">Note ${at}</li>`).join('')
  const markdown = convert(`${marks}<ol>${notes}</ol>`)
  t.match(markdown, '[^999]: Note 999')
  t.match(markdown, '[2000](#fn2000)')
  t.match(markdown, '. Note 9999')
})

t.test('marks and links to the page itself are recognized if addresses become absolute', async (t) => {
  const html =
    '<p>Fact<sup><a href="#fn1">1</a></sup>, <a href="#other">other</a>.</p><h2 id="a">A<a href="#a">#</a></h2>' +
    '<ol><li id="fn1">Note <a href="#ref1">↩</a></li></ol>'
  t.equal(
    convert(html, { base: 'https://example.com/page' }),
    'Fact[^1], [other](https://example.com/page#other).\n\n## A\n\n[^1]: Note\n',
  )
})
