import t from 'tap'
import { convert } from '../../../pipelines/markdown/index.js'

const main = (html: string) => convert(html, { content: 'main' })

const TEXT =
  'The lamp has a foot of solid oak and a shade of linen, and it stands on the desks of two hundred libraries in the north. '
const LONG = `<p>${TEXT.repeat(7)}</p>`
const REVIEWS =
  '<h2>Customer reviews</h2><p>I bought it in May, and it has never failed me since then, in any weather.</p>'

t.test('the page of one product has no reviews', async (t) => {
  const page = (head: string, body: string) => main(`<head>${head}</head><body>${body}${LONG}${REVIEWS}</body>`)
  const product = '<div itemscope itemtype="http://schema.org/Product"><h1>Lamp</h1></div>'
  t.notMatch(page('', product), /reviews/)
  t.notMatch(page('<meta property="product:price:amount" content="20">', '<h1>Lamp</h1>'), /reviews/)
  const facts = '<h1>Lamp</h1><p>$20.00</p><h2>Specifications</h2><p>Height 40 cm, width 20 cm.</p>'
  t.notMatch(page('', facts), /reviews/, 'sections of a product, and a price')
  t.match(page('', facts.replace('$', '')), /reviews/, 'without a price')
  t.match(page('', '<h1>Lamp</h1>'), /reviews/)
  t.match(page('', product + product), /reviews/, 'a list of products')
  t.match(page('', product.replace('Product', 'ProductCollection')), /reviews/)
})

t.test('offers that the page of a product repeats are dropped', async (t) => {
  const offer = '<div><p>Small lamp</p><p>$19</p></div>'
  const page = `<meta property="og:type" content="product"><body><h1>Lamp</h1>${LONG}<p>$49 <a href="/cart">Add to cart</a></p>`
  t.equal(main(`${page}${offer.repeat(3)}<p>One piece</p></body>`), `# Lamp\n\n${TEXT.repeat(7).trim()}\n\nOne piece\n`)
  t.match(main(`${page}${offer.repeat(2)}`), /\$19/)
})

t.test('a block that only repeats the title is dropped', async (t) => {
  const page = `<div><a href="/lamp">Desk *Lamp*</a></div><h1>Desk *Lamp*</h1>${LONG}<p>Desk <b>*Lamp*</b></p>`
  t.equal(main(`<body>${page}</body>`), `# Desk \\*Lamp\\*\n\n${TEXT.repeat(7).trim()}\n`)
  t.match(main(`<body>${page}<ul><li>Desk *Lamp*</ul></body>`), /- Desk/, 'an item of a list stays')
})

t.test('a part that a script moves into the page has no furniture', async (t) => {
  const part = (html: string) => main(`<body><div hidden id="S:1">${LONG}${html}</div></body>`)
  t.equal(part('<h2>Related</h2><p>Another lamp.</p>'), `${TEXT.repeat(7).trim()}\n`)
  t.equal(part('<div class="newsletter"><p>Letters every month.</p></div>'), `${TEXT.repeat(7).trim()}\n`)
})

const post = (name: string, text: string) =>
  `<div class="message"><div class="user"><div><a href="/u/${name}">${name.slice(0, 1)}</a></div>` +
  `<h4><a href="/u/${name}">${name}</a></h4><dl><dt>Joined</dt><dd>May 1, 2020</dd><dt>Posts</dt><dd>1,200</dd></dl>` +
  `<p>1 May 2024 at 10:20</p></div><div class="text"><p>${text}</p></div></div>`

t.test('of a profile in a discussion, the name and the time of the post stay', async (t) => {
  const posts = (last: string) =>
    ['anna', 'berta', 'carl'].map((name) => post(name, `I am ${name}. ${TEXT.repeat(2)}`)).join('') + post('dora', last)
  for (const last of [`And ${TEXT}`, 'Yes.']) {
    const markdown = main(`<body><h1>Lamps</h1>${posts(last)}</body>`)
    for (const name of ['anna', 'berta', 'carl', 'dora']) t.match(markdown, `[${name}](/u/${name})`, last)
    t.notMatch(markdown, /Joined|Posts|1,200|\[a\]/)
    t.match(markdown, /10:20/)
    t.ok(markdown.trimEnd().endsWith(last.trim()))
  }
})

t.test('lines of forum software and signatures are dropped', async (t) => {
  const lines =
    '<p>Welcome to the forum of lamps</p><p>You <b>may not</b> post replies</p><p><a href="/bb">BB code</a> is <b>On</b></p>' +
    '<p>All times are GMT +1. The time now is 14:01.</p><div class="post-signature"><p>Sent by light.</p></div><p>Share:</p>'
  t.equal(main(`<body>${LONG}${lines}</body>`), `${TEXT.repeat(7).trim()}\n`)
  t.match(main(`<body>${LONG}<p>You may now post lamps.</p></body>`), /may now/)
})

t.test('the last section of a noscript is dropped if its heading names other pages', async (t) => {
  const page = (title: string) =>
    `<body><p>Loading</p><noscript>${LONG}<h3>${title}</h3><p>Other.</p></noscript></body>`
  t.notMatch(main(page('Related topics')), /Other/)
  t.match(main(page('Conclusion')), /Other/)
  t.match(convert(page('Related topics')), /Other/)
})
