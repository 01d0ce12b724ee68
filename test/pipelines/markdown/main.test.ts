import { readdirSync, readFileSync } from 'node:fs'
import fc from 'fast-check'
import t from 'tap'
import { convert, Converter } from '../../../pipelines/markdown/index.js'
import { MAX_BUFFERED, MainWriter } from '../../../pipelines/markdown/main/main-writer.js'
import { BlockMeasure } from '../../../pipelines/markdown/main/measure.js'
import {
  IS_BODY,
  IS_BOX,
  IS_FURNITURE,
  IS_REPLIES,
  partsInPage,
  partsNamed,
} from '../../../pipelines/markdown/main/part-names.js'

const unitsOf = (text: string) => Uint16Array.from(text, (char) => char.charCodeAt(0))
const bytesOf = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0))

function measure(markdown: string): BlockMeasure {
  const found = new BlockMeasure()
  found.read(unitsOf(`]<y:z>${markdown}\0(a>`), 6, 6 + markdown.length)
  return found
}

const main = (html: string) => convert(html, { content: 'main' })

const SENTENCE = 'The old mill by the river grinds wheat and rye for the bakers of three villages around it. '
const TEXT = SENTENCE.repeat(3)
const prose = (count: number) => `<p>${TEXT}</p>`.repeat(count)
const links = (count: number) =>
  `<ul>${Array.from({ length: count }, (_, at) => `<li><a href=/${at}>Another story ${at}</a>`).join('')}</ul>`

const cards = (count: number) =>
  Array.from(
    { length: count },
    (_, at) => `<div class="card c-${at}"><h3><a href=/${at}>Other title ${at}</a></h3><p>Teaser of ${at}</p></div>`,
  ).join('')

const KEPT: [what: string, html: string, gone: RegExp, kept: RegExp][] = [
  [
    'an article',
    `<div class=sidebar>${links(9)}</div><article><h1>Mill</h1>${prose(6)}</article>`,
    /Another/,
    /# Mill/,
  ],
  [
    'the main element',
    `<div>Outside it</div><main><h2>Mill</h2>${prose(4)}</main><div>Below</div>`,
    /Outside|Below/,
    /## Mill/,
  ],
  ['the body of an article', `<p>${TEXT}Top</p><div class="entry-content">${prose(5)}</div>`, /Top/, /mill/],
  [
    'no related articles',
    `<main>${prose(4)}<h2>Related articles</h2><p>Teaser</p><h2>Next</h2><p>Goes on here.</main>`,
    /Related|Teaser/,
    /## Next/,
  ],
  [
    'no share buttons',
    `<main>${prose(4)}<div class="social-share"><span>Tell your friends about it</span></div></main>`,
    /friends/,
    /mill/,
  ],
  ['no comments', `<div>${prose(4)}</div><section id=comments><p>${TEXT}Nonsense</p></section>`, /Nonsense/, /mill/],
  ['no aside', `<main>${prose(4)}<aside><p>By the way</p></aside></main>`, /By the way/, /mill/],
  [
    'images beside text only',
    `<main>${prose(4)}<div><div><ul><li><img src=c.jpg alt=Card></ul></div></div><p><img src=m.jpg alt=Picture></p></main>`,
    /Card/,
    /Picture/,
  ],
  ['no headings without contents', `<main>${prose(4)}<h2>Empty one</h2></main>`, /Empty one/, /mill/],
  [
    'lines of one word',
    `<main>${prose(4)}<dl><dt>Cushioning<dd>Maximum</dl><p>or<p>git</main>`,
    /never/,
    /Cushioning[^]*Maximum[^]*or\n\ngit/,
  ],
  [
    'items and paragraphs of any name',
    `<main>${prose(4)}<ul><li class=tags>Of an item</ul><p class=share>Of a paragraph</p><h2 class=nav>Head</h2><p>Below</main>`,
    /never/,
    /item[^]*paragraph[^]*Head[^]*Below/,
  ],
  [
    'tables for layout',
    `<table><tr><td>${links(8)}<tr><td><h2>Mill</h2>${prose(4)}<tr><td><a href=/b>Go back</a></table>`,
    /Another|Go back/,
    /## Mill\n\nThe old/,
  ],
  ['streamed segments', `<main>${prose(4)}</main><div hidden id="S:1"><p>Segment</p></div>`, /never/, /Segment/],
  ['a noscript with content', `<main>${prose(4)}</main><noscript><p>${TEXT}Posts</p></noscript>`, /never/, /Posts/],
  [
    'no cards of other articles',
    `<div><div>${prose(5)}</div><div>${cards(4)}</div></div>`,
    /Other title|Teaser/,
    /mill/,
  ],
  ['cards that are the page', `<div><p>Our stories.</p>${cards(9)}</div>`, /never/, /Other title 8[^]*Teaser/],
  [
    'no items that lead to other articles',
    `<div><div>${prose(5)}</div><ul>${'<li><h3><a href=/o>Other title</a></h3><p>Teaser of it'.repeat(4)}</ul></div>`,
    /Other title|Teaser/,
    /mill/,
  ],
  [
    'a short article whose body the page states',
    `<div><div itemprop=articleBody><p>${TEXT}</div><div><p>Cookies of ours are stored here</p></div></div>`,
    /Cookies/,
    /mill/,
  ],
  [
    'the element with the text of a page without names',
    `<div><div><p>Top of it</p></div><div><h1>Mill</h1></div><div>${prose(4)}</div><div><p>All rights reserved</p></div></div>`,
    /Top|rights/,
    /# Mill\n\nThe old/,
  ],
  [
    'text for several screens once',
    `<main>${prose(1)}<div class=wide><p>Wide: ${SENTENCE}</p></div><div class=narrow><p>Wide: ${SENTENCE}</p></div>${prose(1)}</main>`,
    /Wide[^]*Wide/,
    /mill/,
  ],
  [
    'text that a quote repeats',
    `<main>${prose(4)}<div><p>Post: ${SENTENCE}</p></div><div><blockquote><p>Post: ${SENTENCE}</p></blockquote></div></main>`,
    /never/,
    /Post[^]*> Post/,
  ],
  [
    'lines that one element repeats, as a refrain',
    `<main>${prose(4)}<div><p>Refrain: ${SENTENCE}</p><p>Refrain: ${SENTENCE}</p></div></main>`,
    /never/,
    /Refrain[^]*Refrain/,
  ],
  [
    'no profiles of authors',
    `<main>${[1, 2, 3, 4].map((at) => `<div class=post><div class=author><h4>Ann</h4><ul><li>Joined: 2009<li>Posts: 887<li>Likes: 3</ul></div><div class=text><p>Post ${at}. ${TEXT}</p></div></div>`).join('')}</main>`,
    /Joined|887/,
    /Post 4/,
  ],
  [
    'no reviews on the page of a product',
    `<script type="application/ld+json">{"@type":"Product","name":"Mill"}</script><main><h1>Mill</h1>${prose(4)}<h2>Customer reviews</h2>${`<div><p>Mine grinds. ${TEXT}</p></div>`.repeat(4)}</main>`,
    /Mine grinds/,
    /# Mill/,
  ],
  [
    'no reviews on the page of a group of products',
    `<meta property=og:type content=product.group><body><main><h1>Mill</h1>${prose(4)}<h2>Customer reviews</h2>${`<div><p>Mine grinds. ${TEXT}</p></div>`.repeat(4)}</main>`,
    /Mine grinds/,
    /# Mill/,
  ],
  [
    'reviews on a page about other things',
    `<main><h1>Mill</h1>${prose(4)}<h2>Customer reviews</h2>${`<div><p>Mine grinds. ${TEXT}</p></div>`.repeat(4)}</main>`,
    /never/,
    /Mine grinds/,
  ],
  [
    'reviews on a page with a list of products',
    `<script type="application/ld+json">{"@type":"ItemList","itemListElement":[{"@type":"Product"}]}</script><main><h1>Mills</h1>${prose(4)}<h2>Customer reviews</h2><p>Mine grinds. ${TEXT.repeat(4)}</p></main>`,
    /never/,
    /Mine grinds/,
  ],
  [
    'no articles that follow while the reader scrolls',
    `<main><article><h1>Mill</h1>${prose(3)}</article><article><h2><a href=/n>Next one</a></h2><p>Then. ${TEXT}</p></article><p>End. ${TEXT}</p></main>`,
    /Next one|Then|End/,
    /# Mill/,
  ],
  [
    'articles of a list',
    `<main>${[1, 2, 3].map((at) => `<article><h2><a href=/${at}>Story ${at}</a></h2><p>Part ${at}. ${TEXT.repeat(2)}</p></article>`).join('')}</main>`,
    /never/,
    /Part 1[^]*Part 3/,
  ],
  ['a main element behind an overlay', `<main aria-hidden=true>${prose(4)}</main>`, /never/, /mill/],
  [
    'an element with a custom property',
    `<main style="--footer-display: none; --x-visibility:hidden">${prose(4)}</main>`,
    /never/,
    /mill/,
  ],
  [
    'no text about the author, no galleries and no letters to subscribe to',
    `<main>${prose(4)}<div class=author-bio><p>Ann. ${TEXT}</p></div><div class=gallery><figure><img src=a><figcaption>Slide. ${TEXT}</figcaption></figure></div><div class=newsletter><p>Letter. ${TEXT}</p></div></main>`,
    /Ann|Slide|Letter/,
    /mill/,
  ],
  ['a page that is a gallery', `<main><div class=gallery>${prose(4)}</div></main>`, /never/, /mill/],
  [
    'nothing that the reader is asked for',
    `<main><h1>Follow us on Twitter</h1>${prose(4)}<p><i>Follow us on <a href=/t>Twitter</a> and more.</i></p><p>Sign up for our newsletter</p><p>(Image credit: Ann)</p><p>Tags: Corn, <a href=/m>Mills</a></p><p>Advertisement</p><p>Follow the path on the left.</p><p>Advertisement of mills is rare.</p><p>Click to expand...</p><p>Reactions: Bob</p><p>Sign in to comment</p></main>`,
    /more\.|newsletter|Ann|Corn|Advertisement$|expand|Bob|Sign in/m,
    /# Follow us on Twitter[^]*Follow the path[^]*rare/,
  ],
  [
    'no line below the title that says who wrote the text, and when',
    `<main><h1>Mill</h1><p>By Ann Lee</p><span>3 May 2024, 10:30</span>${prose(4)}<p>Built in 1880</p></main>`,
    /Ann Lee|2024/,
    /# Mill\n\nThe old[^]*1880/,
  ],
  [
    'lines with years above the text that are no dates of it',
    `<main><p>Before 1990</p><h1>Mill</h1><ul><li>Start: 2014</ul><p>It was built in 1880.</p>${prose(4)}</main>`,
    /never/,
    /1990[^]*2014[^]*1880/,
  ],
  [
    'links and images beside little text',
    `<main><p>${TEXT}</p><img src=a alt=Wheel><p><a href=/x>More of it</a></p></main><div class=sidebar><p>Menu of the day</p></div>`,
    /Menu/,
    /mill[^]*Wheel[^]*More of it/,
  ],
  [
    'a letter that is all that a page has and that a script opens',
    `<main><div aria-hidden=true><h1>Letter</h1>${prose(2)}</div><div>Frames: 1</div></main>`,
    /never/,
    /# Letter\n\nThe old/,
  ],
  [
    'no hidden text beside other text',
    `<main><div aria-hidden=true><p>Hidden. ${TEXT}</p></div>${prose(4)}</main>`,
    /Hidden/,
    /mill/,
  ],
  [
    'no hidden text beside a little text',
    `<main><div aria-hidden=true><p>Hidden text</p></div><p>Frames of the mill: 1</p></main>`,
    /Hidden/,
    /Frames/,
  ],
  [
    'code and tables',
    `<main>${prose(4)}<pre>x = 1</pre><table><tr><th>a<th>b<tr><td>1<td>2</table></main>`,
    /never/,
    /x = 1[^]*\| 1 \| 2 \|/,
  ],
]
for (const [what, html, gone, kept] of KEPT) {
  t.test(`the main content: ${what}`, async (t) => {
    const markdown = main(html)
    t.match(markdown, kept)
    t.notMatch(markdown, gone)
  })
}

t.test('a list whose items are all dropped leaves no marker', async (t) => {
  t.equal(
    main(`<main>${prose(4)}<ol><li>one word<li><a href=/a>link</a><li>three words here</ol></main>`).match(/^\d+\./gm)
      ?.length,
    2,
  )
  t.notMatch(main(`<main>${prose(4)}${links(5)}</main>`), /^[-+] *$/m)
})

t.test('a page without recognizable content is converted completely', async (t) => {
  for (const html of ['<p>Short', links(5), `<nav>n</nav><div class=sidebar>${links(3)}<p>Only this</div>`])
    t.equal(main(html), convert(html))
  t.equal(main(''), '')
})

t.test('frontmatter and JSON-LD stay', async (t) => {
  const html = `<meta name=title content=T><body>${links(9)}<main>${prose(4)}</main><script type=application/ld+json>{"a":1}</script>`
  t.match(main(html), /^---\ntitle: T\n---\n\nThe old[^]*```json\n\{"a":1\}\n```\n$/)
})

t.test('at most 64 KB of Markdown are buffered, and the rest is classified by them', async (t) => {
  const converter = new Converter({ content: 'main' })
  let early = 0
  const html = `<div class=menu>${links(20)}</div><main>${prose(600)}</main><div class=related><p>Below</p></div>`
  for (let at = 0; at < html.length; at += 4096) early += converter.write(Buffer.from(html.slice(at, at + 4096))).length
  const rest = converter.end()
  t.ok(early > html.length / 2, `${early} characters came before the end`)
  t.ok(rest.length <= MAX_BUFFERED)
  t.notMatch(rest, /Below/)
  const writer = new MainWriter()
  writer.leaf('table', 'x'.repeat(MAX_BUFFERED - 1))
  writer.more('y')
  writer.more('z')
  t.ok(writer.take().endsWith('\ny\nz') || writer.length === 0, 'a long table is not held')
})

t.test('of short blocks, few are buffered', async (t) => {
  const converter = new Converter({ content: 'main' })
  const early = converter.write(Buffer.from('<p>x'.repeat(17_000)))
  t.match(early, /^x\n\nx\n/)
  t.ok((early + converter.end()).length < MAX_BUFFERED)
})

t.test('keepHtml and the main content exclude each other', async (t) => {
  t.throws(() => convert('<p>a', { content: 'main', keepHtml: true }), { message: /cannot be combined/ })
})

const FIXTURES = new URL('../../fixtures/markdown/', import.meta.url)
const pieces = [
  ...new Set(
    readdirSync(FIXTURES).flatMap((name) =>
      readFileSync(new URL(`${name}/in.html`, FIXTURES), 'utf8').split(/(?=<)|(?<=>)/),
    ),
  ),
  `<p>${TEXT}`,
  '<article>',
  '</article>',
  '<main>',
  '</main>',
  '<div class=entry-content>',
  '<div class=sidebar>',
]

t.test('the main content of any page is the same however it is cut', async () => {
  const page = fc.array(fc.constantFrom(...pieces), { maxLength: 60 }).map((parts) => parts.join(''))
  fc.assert(
    fc.property(page, fc.integer({ min: 1, max: 40 }), (html, size) => {
      const converter = new Converter({ content: 'main' })
      const bytes = Buffer.from(html)
      let markdown = ''
      for (let at = 0; at < bytes.length; at += size) markdown += converter.write(bytes.subarray(at, at + size))
      return markdown + converter.end() === main(html)
    }),
    { numRuns: 400 },
  )
})

t.test('blocks are measured without addresses and descriptions of images', async (t) => {
  t.same(measure('a [bc](/d "e f") ![gh](i.png) <https://j.k> l'), { text: 20, links: 14 })
  t.same(measure('a | b\n'), { text: 4, links: 0 })
  t.same(measure(''), { text: 0, links: 0 })
  t.same(measure('a <b:c d [e](f'), { text: 9, links: 1 })
  t.same(measure('![a\\](b) [c] <d'), { text: 4, links: 0 })
  t.match(measure('['.repeat(100_000)), { text: 0 })
})

// Each `<` that begins a scheme searched the whole block for its `>`: a page of 6 MB took ten seconds.
t.test('a block of opened autolinks is measured in linear time', async (t) => {
  const before = process.cpuUsage()
  t.same(measure('<a:'.repeat(1_000_000)), { text: 2_000_000, links: 0 })
  const elapsed = process.cpuUsage(before).user / 1000
  t.ok(elapsed < 2000, `${elapsed.toFixed(0)} ms`)
})

// A description of an image has no text. A pattern that searches in it for the end of a sentence took minutes.
t.test('lines below the title are read in linear time', async (t) => {
  const before = process.cpuUsage()
  const alt = '&quot;'.repeat(200_000)
  t.match(
    main(`<main><h1>Mill</h1><p>1880 <img src=a alt="${alt}x"></p>${`<p>By ${'"'.repeat(80)}x`.repeat(500)}</main>`),
    /Mill/,
  )
  const elapsed = process.cpuUsage(before).user / 1000
  t.ok(elapsed < 2000, `${elapsed.toFixed(0)} ms`)
})

const NAMED: [name: string, parts: number][] = [
  ['', 0],
  ['wrapper col-md-8', 0],
  ['entry-content', IS_BODY],
  ['Article__Body', IS_BODY],
  ['article-____text', IS_BODY],
  ['article_-text', 0],
  ['article_x', 0],
  ['entry-contents', 0],
  ['c-StoryBody2', IS_BODY],
  ['toriybody storybod', 0],
  ['sidebar prose', IS_BODY],
  ['left side-bar', IS_FURNITURE],
  ['js-post-nav_x', IS_FURNITURE],
  ['sidebars navy', 0],
  ['comments', IS_FURNITURE | IS_REPLIES],
  ['comment-list', IS_FURNITURE | IS_REPLIES],
  ['disqus_thread', IS_FURNITURE | IS_REPLIES],
  ['commentlist', IS_REPLIES],
  ['x\ttags\fy', IS_FURNITURE],
  [`${'x '.repeat(249)}ad`, IS_BOX],
  [`${'x '.repeat(249)}ads`, IS_BOX],
  [`${'x '.repeat(250)}ads`, 0],
]
for (const [name, parts] of NAMED)
  t.test(`the parts that ${JSON.stringify(name.slice(-20))} names`, async (t) => {
    t.equal(partsNamed(name), parts)
    t.equal(partsInPage(bytesOf(`<${name}>`), 1, name.length + 1), parts)
  })

t.test('names that have to be decoded are not read in the page', async (t) => {
  for (const name of ['nav &amp; x', 'x\r\nnav', 'café nav']) t.equal(partsInPage(bytesOf(name), 0, name.length), -1)
  t.equal(partsNamed('café\u00a0nav'), IS_FURNITURE)
  const page = (name: string) =>
    `<main>${prose(4)}<div class="${name}"><span>Tell your friends about it</span></div></main>`
  for (const name of ['caf&eacute; share', 'café share', 'x\r\nshare', '&#x73;hare'])
    t.notMatch(main(page(name)), /friends/)
  t.match(main(page('café')), /friends/)
})

t.test('pages that are converted in turns do not share the rows of their blocks', async (t) => {
  const html = (name: string) => `<div class=menu>${links(9)}</div><main><h1>${name}</h1>${prose(5)}</main>`
  const whole = (name: string) => main(html(name))
  for (const order of [
    ['a', 'b', 'c'],
    ['d', 'e', 'f'],
  ]) {
    const open = order.map((name) => ({ name, converter: new Converter({ content: 'main' }), markdown: '' }))
    for (let at = 0; at < 4000; at += 100)
      for (const page of open) page.markdown += page.converter.write(Buffer.from(html(page.name).slice(at, at + 100)))
    for (const page of open) t.equal(page.markdown + page.converter.end(), whole(page.name))
  }
})
