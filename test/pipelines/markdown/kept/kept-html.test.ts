import fc from 'fast-check'
import { parseFragment, type DefaultTreeAdapterTypes } from 'parse5'
import t from 'tap'
import { convert, Converter, MAX_HTML_BYTES } from '../../../../pipelines/markdown/index.js'
import { canonical, render } from '../../../conformance/round-trip.js'

type Node = DefaultTreeAdapterTypes.Node

const kept = (html: string) => convert(html, { keepHtml: true })

const lines = (...all: string[]) => all.join('\n') + '\n'

const CASES: [what: string, html: string, markdown: string][] = [
  ['an element without a mark', '<p>a <u>b</u> <x-y z="1">c</x-y></p>', 'a <u>b</u> <x-y z="1">c</x-y>\n'],
  ['one that is left open', '<p>a <u>b<p>c', 'a <u>b</u>\n\nc\n'],
  ['one that ends too late', '<p>a <em><u>b</em> c</u></p>', 'a *<u>b* c</u>\n'],
  ['one that never began', '<p>a</u> b</p>', 'a b\n'],
  ['one in a heading', '<h2>a <small>b</small></h2>', '## a <small>b</small>\n'],
  [
    'one in a table of data',
    '<table><tr><td><u>|</u><td>b<tr><td>c<td>d</table>',
    '| <u>\\|</u> | b |\n| --- | --- |\n| c | d |\n',
  ],
  ['one in a link', '<p><a href=/x>a <u>b</u></a></p>', '[a <u>b</u>](/x)\n'],
  ['one in a code span', '<p><code>a<u>b</u></code></p>', '`ab`\n'],
  ['one around a code span without end', '<p><u>a<code>b', '<u>a`b`</u>\n'],
  [
    'one that says nothing',
    '<p><span>a</span> <span class="b">c<span>d</span></span></p>',
    'a <span class="b">cd</span>\n',
  ],
  [
    'more of them than are written',
    `<p>${'<u>'.repeat(40)}a${'</u>'.repeat(40)}b`,
    `${'<u>'.repeat(32)}a${'</u>'.repeat(32)}b\n`,
  ],
  ['one without contents', '<p>a<wbr>b <x-y></x-y></p>', 'a<wbr>b <x-y></x-y>\n'],
  ['a name that Markdown does not know as one', '<p><a.b>c</a.b> <menuitem>d</p>', 'c d\n'],
  ['a tag alone in a line', '<p><wbr><br>*a*</p>', '<wbr><!-- -->  \n\\*a\\*\n'],
  ['a tag alone in an item', '<ul><li><wbr><pre>a</pre></ul>', '- <wbr><!-- -->\n  ```\n  a\n  ```\n'],
  ['a backslash in front of an end tag', '<p><u>a\\ </p>', '<u>a\\ </u>\n'],
  ['marks next to tags', '<p><u><em>a</em></u><b>b</b></p>', '<u>*a*</u>**b**\n'],
  [
    'values of attributes',
    `<p><u title='"&amp;<b>\n\n*' data-a>a</u></p>`,
    '<u title="&quot;&amp;&lt;b>&#10;&#10;*" data-a="">a</u>\n',
  ],
  ['attributes with scripts', '<p><u onclick="x" srcdoc="y" class="z">a</u></p>', '<u class="z">a</u>\n'],
  [
    'addresses',
    '<base href="http://a.test/b/"><div><a href="c">d</a> <a href=" JavaScript:e">f</a></div>',
    lines('<div>', '<a href="http://a.test/b/c">d</a> <a>f</a>', '</div>'),
  ],

  ['a container', '<div class="a"><p>b</p></div>', lines('<div class="a">', '', 'b', '', '</div>')],
  ['one with text', '<div>a <b>b</b>\n *c* &lt;p></div>', lines('<div>', 'a <b>b</b> *c* &lt;p&gt;', '</div>')],
  [
    'text before and after a paragraph',
    '<div>a<p>b</p>c</div>',
    lines('<div>', 'a', '', 'b', '', '<!-- -->c', '</div>'),
  ],
  ['one without contents', '<div></div>', lines('<div>', '</div>')],
  [
    'containers inside each other',
    '<main><section><h1>a</h1></section></main>',
    lines('<main>', '<section>', '', '# a', '', '</section>', '</main>'),
  ],
  ['one that is left open', '<div><p>a', lines('<div>', '', 'a', '', '</div>')],
  [
    'one that its container ends',
    '<section><div>a</section>b',
    lines('<section>', '<div>', 'a', '</div>', '</section>', 'b'),
  ],
  ['one that never began', '<p>a</div><div>b</div></section>', lines('a', '', '<div>', 'b', '</div>')],
  ['one that an item ends', '<ul><li><div>a<li>b</ul>', lines('- <div>', '  a', '  </div>', '- b')],
  ['one that a quote ends', '<blockquote><div>a</blockquote>b', lines('> <div>', '> a', '> </div>', '', '<!-- -->b')],
  ['one that ends a list', '<div><ul><li>a</div>b', lines('<div>', '', '- a', '', '</div>', 'b')],
  ['one below the text of an item', '<ul><li>a<div>b</div></ul>', lines('- a', '  <div>', '  b', '  </div>')],
  ['one in a heading', '<div><h2>a<div>b</div></h2></div>', lines('<div>', '', '## a b', '', '</div>')],
  [
    'one in a link in a paragraph',
    '<div><p><a href=x><div>b</div></a></div>',
    lines('<div>', '', '[b](x)', '', '</div>'),
  ],
  [
    'one in a definition',
    '<div><dl><dt>a<dd><div><p>b<p>c</div></dl></div>',
    lines('<div>', '', 'a', ': b', '', 'c', '', '</div>'),
  ],
  [
    'one around preformatted text',
    '<div><pre>a\n\nb</div>c',
    lines('<div>', '', '```', 'a', '', 'b', '```', '', '</div>', 'c'),
  ],
  ['blocks that run together', '<div>a<p></p>b<nav>c</nav></div>', lines('<div>', 'a', '<p></p>', 'b', '</div>')],
  [
    'details',
    '<details open><summary>a</summary><p>b</details>',
    lines('<details open="">', '<summary>', 'a', '</summary>', '', 'b', '', '</details>'),
  ],
  ['a hidden summary', '<details><summary hidden>a</summary>b</details>', lines('<details>', 'b', '</details>')],
  [
    'a summary that ends the head',
    '<summary>a</summary><meta name=title content=b>',
    lines('<summary>', 'a', '</summary>'),
  ],
  [
    'a figure',
    '<figure><img src=a.png width=1><figcaption>b</figcaption></figure>',
    lines('<figure>', '<img src="a.png" width="1">', '<figcaption>', 'b', '</figcaption>', '</figure>'),
  ],

  [
    'a link around blocks',
    '<div><a href="/a"><h2>b</h2></a></div>',
    lines('<div>', '<a href="/a">', '', '## b', '', '</a>', '</div>'),
  ],
  ['an element alone in its line', '<i class="a">\n*b*\n</i>', lines('<i class="a">', '*b* </i>')],
  ['one that is not', '<i class="a">*b*</i> c', '<!-- --><i class="a">*b*</i> c\n'],
  [
    'text outside of a paragraph',
    'a <b>*b*</b><p>c</p> d &amp;',
    lines('<!-- -->a <b>*b*</b>', '', 'c', '', '<!-- -->d &amp;'),
  ],
  ['text on both sides of a dropped block', '<p>a</p>b<form>c', lines('a', '', '<!-- -->b', '<!-- -->c')],
  [
    'a link that is left open',
    '<p>a <a href=x>b</p> c<p>d',
    lines('a [b](x)', '', '<!-- --><a href="x"> c</a>', '', 'd'),
  ],
  ['emphasis that is left open', '<p>a <b>b</p>c</b> d', lines('a **b**', '', '<!-- --><b>c</b> d')],
  ['a link without contents', '<p>a <a href=x></a> <a href="#y"></a></p>', 'a [](x)\n'],
  ['an anchor', '<p><a id=x></a>a</p>', '<a id="x"></a>a\n'],
  ['an image without a description', '<p>a <img src=b> <img src=c alt></p>', 'a <img src="b"> ![](c)\n'],
  ['an empty paragraph', '<p>a<p></p><ul><li><p></p></ul>', lines('a', '', '<p></p>', '', '-')],
  ['struck text', '<p><del>a</del></p>', '<del>a</del>\n'],
  ['one without contents', '<x-y z></x-y>\na', lines('<x-y z="">', '</x-y> a')],
  [
    'links inside each other',
    '<div><a href=a>b <a href=c>d</a></div>',
    lines('<div>', '<a href="a">b </a><a href="c">d</a>', '</div>'),
  ],
  [
    'what plays',
    '<video src=a><track src=b></video><p>c',
    lines('<video src="a">', '<track src="b"></video>', '', 'c'),
  ],
  [
    'a page in a page',
    '<div><iframe src=a width=9>b</iframe></div>',
    lines('<div>', '<iframe src="a" width="9"></iframe>', '</div>'),
  ],
  [
    'a formula',
    '<div><math><mi>x</mi><mspace/></math></div>',
    lines('<div>', '<math><mi>x</mi><mspace></mspace></math>', '</div>'),
  ],

  [
    'a table for layout',
    '<table class=a><tr><td>b</table>',
    lines('<table class="a">', '<tr>', '<td>', 'b', '</td>', '</tr>', '</table>'),
  ],
  [
    'one with Markdown',
    '<table><td width=1><b>a</b></table>',
    lines('<table>', '<tr>', '<td width="1">', '', '**a**', '', '</td>', '</tr>', '</table>'),
  ],
  [
    'one with blocks',
    '<table><td>a<ul><li>b</ul></td><td><div>c</td></table>',
    lines(
      '<table>',
      '<tr>',
      '<td>',
      'a',
      '',
      '- b',
      '',
      '</td>',
      '<td>',
      '<div>',
      'c',
      '</div>',
      '</td>',
      '</tr>',
      '</table>',
    ),
  ],
  [
    'one that says so',
    '<div><table role=none><caption>a<tr><th>b</table></div>',
    lines('<div>', '<table role="none">', 'a', '<tr>', '<th>', 'b', '</th>', '</tr>', '</table>', '</div>'),
  ],

  [
    'what is no content',
    '<div><script>a</script><style>b</style><p hidden>c</p><u hidden>d</u><svg><g>e</g></svg></div>',
    lines('<div>', '</div>'),
  ],
  [
    'what stands in the head',
    '<head><meta name=title content=a><x-y></head><div>b</div>',
    lines('---', 'title: a', '---', '', '<div>', 'b', '</div>'),
  ],
]

t.test('elements that Markdown cannot express stay HTML', async (t) => {
  for (const [what, html, markdown] of CASES) t.equal(kept(html), markdown, what)
})

t.test('pages are unchanged after rendering', async (t) => {
  const PAGES = [
    '<div id="a"><section><h1>b</h1><p>c <u>d</u></p></section>e</div>',
    '<ul><li><div>a</div></li><li><p>b</p><div><p>c</p></div></li></ul>',
    '<blockquote><p>a</p><div>b<blockquote><p>c</p></blockquote></div></blockquote>',
    '<details><summary>\na <b>b</b>\n</summary><pre><code>c\n\nd\n</code></pre></details>',
    '<div><a href="a"><img src="b" alt="c"><h2>d</h2></a> e <code>*f*</code></div>',
  ]
  for (const page of PAGES) t.equal(canonical(render(kept(page))), canonical(page))
})

const ELEMENTS =
  `div section main details summary header p a b em code q sup u span x-y ul ol li blockquote dl dt dd h2 pre
  table caption tr td th img br wbr hr video math mi iframe label form script style textarea svg title xmp`.split(/\s+/)
const ATTRIBUTES = [
  '',
  '',
  ' class="a b"',
  ' href=/u',
  ' src=i.png',
  ' title="&quot;&lt;planted&gt;&#10;&#10;&lt;planted&gt;"',
].concat([' role=none', ' data-x="](y) ` *"', ' hidden', ' onclick=planted', ' href="javascript:planted"'])
const TEXTS = [
  'a',
  ' ',
  '\n',
  ' a ',
  '&lt;planted&gt;',
  '\\',
  ' \\ ',
  '*',
  '_',
  '`',
  '[',
  '](',
  '&#10;&#10;&lt;planted&gt;',
  '&lt;!--',
].concat([
  '--&gt;',
  '~~~',
  '- ',
  '&lt;',
  'planted&gt;',
  '|',
  '&lt;/div&gt;',
  '\u00a0',
  '&#13;',
  '&lt;div&gt;\n',
  '&amp;lt;planted&amp;gt;',
])

const piece = fc.oneof(
  fc.tuple(fc.constantFrom(...ELEMENTS), fc.constantFrom(...ATTRIBUTES)).map(([name, rest]) => `<${name}${rest}>`),
  fc.constantFrom(...ELEMENTS).map((name) => `</${name}>`),
  fc.constantFrom(...TEXTS),
)
const page = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(''))

const NEVER = new Set('planted script style textarea svg title xmp'.split(' '))

/** Returns whether text or an attribute became a tag or a comment, or dropped contents were retained. */
function isUnsafe(node: Node): boolean {
  if (node.nodeName === '#comment' && 'data' in node) return node.data.trim() !== ''
  if (NEVER.has(node.nodeName)) return true
  if ('attrs' in node && node.attrs.some(({ name, value }) => /planted/.test(name) || value.startsWith('javascript')))
    return true
  return 'childNodes' in node && node.childNodes.some(isUnsafe)
}

t.test('text never becomes a tag', async () => {
  fc.assert(
    fc.property(page, (html) => !isUnsafe(parseFragment(render(kept(html))))),
    { numRuns: 3000 },
  )
})

t.test('the Markdown of any page is the same however it is cut', async () => {
  const lengths = fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 4 })
  fc.assert(
    fc.property(page, lengths, (html, cuts) => {
      const converter = new Converter({ keepHtml: true })
      const bytes = Buffer.from(html)
      let markdown = ''
      for (let at = 0, turn = 0; at < bytes.length; turn++) {
        const length = cuts[turn % cuts.length] ?? 1
        markdown += converter.write(bytes.subarray(at, at + length))
        at += length
      }
      return markdown + converter.end() === kept(html)
    }),
    { numRuns: 1500 },
  )
})

t.test('end tags are written for open elements only', async (t) => {
  const count = (markdown: string, tag: RegExp) => markdown.match(tag)?.length ?? 0
  for (const html of [
    '<div>',
    '<div><li>',
    '<div></section>',
    '<table role=none><td><div>',
    '</div><div></li>',
    '<blockquote><div>',
  ]) {
    const markdown = kept(html.repeat(1000) + '</div>'.repeat(500))
    t.ok(count(markdown, /<div>/g) > 0, html)
    t.equal(count(markdown, /<div>/g), count(markdown, /<\/div>/g), html)
  }
})

const rep = (text: string) => text.repeat(Math.ceil(400_000 / text.length))

const HOSTILE: [what: string, html: string][] = [
  ['containers inside each other', rep('<div>a')],
  ['containers in items', rep('<ul><li><div>a')],
  ['containers in deep quotes', `${'<blockquote>'.repeat(64)}${rep('<div>a</div>')}`],
  ['inline elements inside each other', `<div>${rep('<b>a')}`],
  ['unknown elements inside each other', `<p>${rep('<x>a')}`],
  ['elements that wait for what comes next', rep('<x-y> ')],
  ['end tags of none', `${'<div>'.repeat(200)}${rep('</b></x>')}`],
  ['cells', `<table><tr>${rep('<td>a')}`],
  ['tables inside each other', rep('<table role=none><td><div>')],
  ['attributes', `<div ${rep('a b=" ')}>a`],
  ['one long attribute', `<p><wbr title='${rep('" ')}'>`],
  ['text', `<div>${rep('&lt;')}`],
  ['text outside of paragraphs', rep('a<p>b</p>')],
  ['elements left open', `<p>${'<b>'.repeat(40)}${rep('<p>a</p> b')}`],
  ['links left open', `<p><a href="${'x'.repeat(30_000)}">a${rep('</p> <p>')}`],
]

t.test('hostile pages neither fail nor swell', async (t) => {
  for (const [what, html] of HOSTILE)
    t.ok(kept(html.slice(0, MAX_HTML_BYTES)).length < 12 * html.length + 20_000_000, what)
})
