import fc from 'fast-check'
import { Parser, type DefaultTreeAdapterMap, type Token } from 'parse5'
import t from 'tap'
import { isDeepStrictEqual } from 'node:util'
import type { Events } from '../../../../pipelines/markdown/text/events.js'
import { idOf } from '../../../../pipelines/markdown/text/names.js'
import { NotConvertible } from '../../../../pipelines/markdown/text/not-convertible.js'
import { HtmlTokenizer } from '../../../../pipelines/markdown/html/tokenizer.js'
import { XhtmlTokenizer } from '../../../../pipelines/markdown/html/xhtml.js'
import { html5lib, html5libFolder } from '../../../conformance/html5lib.js'

/** Returns the events of a page as lines that are easy to compare; elements in `skip` are not wanted. */
class Log implements Events {
  lines: string[] = []
  #text = ''
  readonly #skip: ReadonlySet<string>
  readonly #jsonLd: boolean

  constructor({ skip = [], jsonLd = false }: { skip?: string[]; jsonLd?: boolean } = {}) {
    this.#skip = new Set(skip)
    this.#jsonLd = jsonLd
  }

  #add(line: string): void {
    this.flush()
    this.lines.push(line)
  }

  flush(): this {
    if (this.#text !== '') this.lines.push(JSON.stringify(this.#text))
    this.#text = ''
    return this
  }

  open: Events['open'] = (tag) => {
    const attributes = [...tag.attributes()].map(([name, value]) => ` ${name}=${JSON.stringify(value)}`)
    this.#add(`<${tag.name}${attributes.join('')}${tag.selfClosing ? '/' : ''}>`)
    if (this.#jsonLd && tag.name === 'script') {
      return tag.attribute('type') === 'application/ld+json' ? undefined : 'skip'
    }
    return this.#skip.has(tag.name) ? 'skip' : undefined
  }
  close = (name: string) => this.#add(`</${name}>`)
  text = (text: string) => void (this.#text += text)
  comment = (text: string) => this.#add(`<!--${text}-->`)
  doctype = (...said: unknown[]) => this.#add(`<!doctype ${JSON.stringify(said)}>`)
}

function read(
  pieces: Iterable<string>,
  log = new Log(),
  Reader: typeof HtmlTokenizer | typeof XhtmlTokenizer = HtmlTokenizer,
) {
  const tokenizer = new Reader(log)
  for (const piece of pieces) tokenizer.write(piece)
  tokenizer.end()
  return log.flush().lines
}

/** Pieces of a text, cut at the given places. */
function cut(text: string, places: number[]): string[] {
  const at = [...new Set(places.map((place) => place % (text.length + 1)))].sort((a, b) => a - b)
  return [...at, text.length].map((end, index) => text.slice(at[index - 1] ?? 0, end))
}

const HTML5LIB = html5libFolder()
const skip = HTML5LIB === undefined && 'EDGED_HTML5LIB does not name a folder with the tests of html5lib'

t.test('every html5lib tokenizer case passes, whole and one character at a time', { skip }, async (t) => {
  const folder = HTML5LIB ?? ''
  let cases = 0
  for (const { name, expected, got } of await html5lib.cases(folder)) {
    cases++
    const value = got()
    if (!isDeepStrictEqual(value, expected)) t.same(value, expected, name)
  }
  t.ok(cases > 14_000, `${cases} cases`)
})

const CONTENTS: [what: string, html: string, lines: string[]][] = [
  ['a title is text with references', '<title>a &amp; <b></title>', ['<title>', '"a & <b>"', '</title>']],
  ['a style is text without', '<style>a > b &amp; </p></style >', ['<style>', '"a > b &amp; </p>"', '</style>']],
  ['noscript holds markup', '<noscript><p></noscript>', ['<noscript>', '<p>', '</noscript>']],
  ['a title in svg holds markup', '<svg><title><b>', ['<svg>', '<title>', '<b>']],
  ['a style in svg has references', '<svg><style>&lt;</style>', ['<svg>', '<style>', '"<"', '</style>']],
  ['a title after svg is text again', '<svg></svg><title><b>', ['<svg>', '</svg>', '<title>', '"<b>"']],
  ['a paragraph ends svg', '<svg><p><title><b>', ['<svg>', '<p>', '<title>', '"<b>"']],
  ['HTML in foreignObject', '<svg><foreignObject><xmp><b>', ['<svg>', '<foreignobject>', '<xmp>', '"<b>"']],
  ['CDATA in svg', '<svg><![CDATA[a<b>&amp;]]]>', ['<svg>', '"a<b>&amp;]"']],
  ['CDATA in HTML', '<p><![CDATA[a<b>]]>', ['<p>', '<!--[CDATA[a<b-->', '"]]>"']],
  ['NUL in HTML is left out', 'a\0b', ['"ab"']],
  ['NUL in svg is replaced', '<svg>a\0b', ['<svg>', '"a\ufffdb"']],
  ['a stray end tag', 'a</p>b', ['"a"', '</p>', '"b"']],
  ['a self-closing svg has no contents', '<svg/><title><b>', ['<svg/>', '<title>', '"<b>"']],
  ['all line ends are one', 'a\r\nb\rc\r\r\n', ['"a\\nb\\nc\\n\\n"']],
  ['an unclosed tag at the end is dropped', 'a<b c="', ['"a"']],
]
for (const [what, html, lines] of CONTENTS) {
  t.test(`contents: ${what}`, async (t) => {
    t.same(read([html]), lines)
    t.same(read(html.split('')), lines, 'one character at a time')
  })
}

const SKIPPED: [what: string, html: string, lines: string[], ...skip: string[]][] = [
  ['ends at its own end tag', '<nav><nav>a</nav>b</nav>c', ['<nav>', '"c"']],
  ['does not end in a comment', '<nav><!-- </nav> -->a</nav>b', ['<nav>', '"b"']],
  ['does not end in a script', '<nav><script>"</nav>"</script>a</nav>b', ['<nav>', '<script>', '"b"'], 'script'],
  ['does not end in a title', '<nav><title></nav></title>a</nav>b', ['<nav>', '"b"']],
  ['does not end in an attribute', '<nav><a b="</nav>">a</nav>b', ['<nav>', '"b"']],
  ['is not reopened by an inner end tag', '<nav></div></p>a</nav>b', ['<nav>', '"b"']],
  ['ends with the element around it', '<div><nav>a</div>b', ['<div>', '<nav>', '</div>', '"b"']],
  ['counts what is open inside', '<div><nav><div>a</div>b</nav>c', ['<div>', '<nav>', '"c"']],
  ['goes on behind a table cell', '<div><nav><table><td></div>a</nav>b', ['<div>', '<nav>']],
  ['ends with the cell around it', '<table><td><nav>a<td>b', ['<table>', '<td>', '<nav>', '<td>', '"b"']],
  ['ends with the row around it', '<table><td><nav>a</tr>b', ['<table>', '<td>', '<nav>', '</tr>', '"b"']],
  ['goes on to the end of the page', '<nav>a<p>b', ['<nav>']],
  ['has no contents when void', '<img>a', ['<img>', '"a"'], 'img'],
  ['has none when self-closing in svg', '<svg><g/>a', ['<svg>', '<g/>', '"a"'], 'g'],
  ['goes on when self-closing in HTML', '<nav/>a</nav>b', ['<nav/>', '"b"']],
  ['may be svg', '<svg><path/><title>a</title></svg>b', ['<svg>', '"b"'], 'svg'],
  ['may be a custom element', '<x-a><x-a>a</x-a>b</x-a>c', ['<x-a>', '"c"'], 'x-a'],
  ['may be an inline element', '<span>a<span>b</span>c</span>d', ['<span>', '"d"'], 'span'],
  ['may be raw text', '<style>a</style>b', ['<style>', '"b"'], 'style'],
]
for (const [what, html, lines, ...skip] of SKIPPED) {
  t.test(`an unwanted element ${what}`, async (t) => {
    const log = () => new Log({ skip: ['nav', ...skip] })
    t.same(read([html], log()), lines)
    t.same(read(html.split(''), log()), lines, 'one character at a time')
  })
}

t.test('JSON-LD is reported from within unwanted elements, and no other script', async (t) => {
  const html = '<nav>a<script>x</script><script type="application/ld+json">{"a":"</b>"}</script>b</nav>c'
  const lines = [
    '<nav>',
    '<script>',
    '<script type="application/ld+json">',
    '"{\\"a\\":\\"</b>\\"}"',
    '</script>',
    '"c"',
  ]
  t.same(read([html], new Log({ skip: ['nav'], jsonLd: true })), lines)
})

t.test('one attribute is decoded when asked for, the first of its name', async (t) => {
  const asked: unknown[] = []
  const tokenizer = new HtmlTokenizer({
    open: (tag) => void asked.push(tag.attribute('href'), tag.attribute('checked'), tag.attribute('none')),
    close() {},
    text() {},
  })
  tokenizer.write('<a HREF="?a&amp;b&copy=1" href=2 checked>')
  t.same(asked, ['?a&b&copy=1', '', undefined])
})

/** Markup that meets each part of the tokenizer, sane and not. */
const MARKUP = fc.constantFrom(
  ...(
    `<p>~</p>~<div class="a">~</div>~<br/>~<a href="?a=1&amp;b=2&copy=3">~</a>~<b~x~ ~\n~>~&amp~&amp;~` +
    `&notit;~&#x41;~&#150;~&#~&~é~\u{1f600}~\r\n~\0~=~"~'~/~<~</~<!~<!--~-->~--!>~-~<!doctype html>~` +
    `<!DOCTYPE a PUBLIC "b" 'c'>~<?php ?>~<![CDATA[~]]>~<script>~</script>~<style>~</style>~<title>~` +
    `</title>~<textarea>~</textarea >~<ul><li>~</ul>~<nav>~</nav>~<section>~</section>`
  ).split('~'),
)
const PAGES = fc.array(MARKUP, { maxLength: 40 }).map((parts) => parts.join(''))

t.test('the events do not depend on how the page is cut', async () => {
  fc.assert(
    fc.property(PAGES, fc.array(fc.nat(400), { maxLength: 12 }), fc.boolean(), (page, places, skipping) => {
      const log = () => new Log(skipping ? { skip: ['nav', 'style', 'a'], jsonLd: true } : {})
      const whole = read([page], log())
      return (
        isDeepStrictEqual(read(cut(page, places), log()), whole) &&
        isDeepStrictEqual(read(page.split(''), log()), whole)
      )
    }),
    { numRuns: 1500 },
  )
})

/** parse5's own tokenizer and tree construction, logging the tokens that pass from one to the other. */
class Oracle extends Parser<DefaultTreeAdapterMap> {
  readonly log = new Log()
  /** The text outside any `nav`. */
  outside = ''

  #inside = false

  /** Tree construction passes one token several times when it changes its mode. */
  #once(log: () => void, process: () => void): void {
    if (this.#inside) return process()
    log()
    this.#inside = true
    process()
    this.#inside = false
  }
  #text(text: string): void {
    this.log.text(text)
    const { items, stackTop } = this.openElements
    const open = items.slice(0, stackTop + 1)
    if (!open.some((item) => 'tagName' in item && item.tagName === 'nav')) this.outside += text
  }
  override onStartTag(token: Token.TagToken): void {
    const attributes = new Map(token.attrs.map(({ name, value }) => [name, value]))
    const tag = {
      name: token.tagName,
      id: idOf(token.tagName),
      attributeBits: -1,
      valueIsPlain: false,
      valueIsTitle: false,
      selfClosing: token.selfClosing,
      attribute: (name: string) => attributes.get(name),
      attributeFirst: () => 0,
      attributeUnits: () => -1,
      attributeIncludes: () => false,
      attributeStarts: () => false,
      attributes: () => attributes,
    }
    this.#once(
      () => this.log.open(tag),
      () => super.onStartTag(token),
    )
  }
  override onEndTag(token: Token.TagToken): void {
    this.#once(
      () => this.log.close(token.tagName),
      () => super.onEndTag(token),
    )
  }
  override onCharacter(token: Token.CharacterToken): void {
    this.#once(
      () => this.#text(token.chars),
      () => super.onCharacter(token),
    )
  }
  override onWhitespaceCharacter(token: Token.CharacterToken): void {
    this.#once(
      () => this.#text(token.chars),
      () => super.onWhitespaceCharacter(token),
    )
  }
  override onNullCharacter(token: Token.CharacterToken): void {
    const text = this.tokenizer.inForeignNode ? '\ufffd'.repeat(token.chars.length) : ''
    this.#once(
      () => this.#text(text),
      () => super.onNullCharacter(token),
    )
  }
  override onComment(token: Token.CommentToken): void {
    this.#once(
      () => this.log.comment(token.data),
      () => super.onComment(token),
    )
  }
  override onDoctype(token: Token.DoctypeToken): void {
    this.#once(
      () => this.log.doctype(token.name, token.publicId, token.systemId, token.forceQuirks),
      () => super.onDoctype(token),
    )
  }
}

function oracle(page: string): Oracle {
  const parser = new Oracle({ scriptingEnabled: false })
  parser.tokenizer.write(page, true)
  parser.log.flush()
  return parser
}

t.test('line ends of every type are line feeds, however a page is cut', async () => {
  const parts = fc.constantFrom(
    ...(
      `\r~\n~\r\n~\r\r\n~a~&#13;~&amp;~<pre>~</pre>~<textarea>~</textarea>~<script>~</script\r>~<!--~-->~-~<svg>~</svg>~` +
      `<![CDATA[~]]>~<a\rhref="x\r\ny"\r\n>~<a href=x\ry>~</a\r>~<!doctype\r\nhtml>~<!x\r\ny>~<plaintext>~<`
    ).split('~'),
  )
  const pages = fc.array(parts, { maxLength: 14 }).map((all) => all.join(''))
  fc.assert(
    fc.property(pages, fc.integer({ min: 1, max: 7 }), (page, length) => {
      const cut = page.match(new RegExp(`[^]{1,${length}}`, 'g')) ?? []
      const lines = read([page])
      return isDeepStrictEqual(read(cut), lines) && isDeepStrictEqual(read([page.replace(/\r\n?/g, '\n')]), lines)
    }),
    { numRuns: 3000 },
  )
})

t.test('the undecoded value of an attribute is read in place', async (t) => {
  const found: [string, number][] = []
  const tokenizer = new HtmlTokenizer({
    open(tag) {
      let value = ''
      const length = tag.attributeUnits('class', (units, start, end) => {
        value = String.fromCharCode(...units.subarray(start, end))
        return end - start
      })
      found.push([value, length])
    },
    close() {},
    text() {},
  })
  tokenizer.write(`<p class="a &amp; b" id=c><p title=x><p id=d class=e><p class>`)
  tokenizer.end()
  t.strictSame(found, [
    ['a &amp; b', 9],
    ['', 0],
    ['e', 1],
    ['', 0],
  ])
})

t.test('parse5 sees the same tokens', async () => {
  fc.assert(
    fc.property(PAGES, (page) => isDeepStrictEqual(read([page]), oracle(page).log.lines)),
    { numRuns: 3000 },
  )
})

// Elements that OpenElements does not follow are closed here: left open inside foreignObject or mi, they make a browser
// ignore the end tag of those.
t.test('parse5 sees the same tokens in svg and math', async () => {
  const foreign = fc.constantFrom(
    ...(
      `<svg>~</svg>~<math>~</math>~<path></path>~<title>~</title>~<svg><foreignObject>~</foreignObject>~` +
      `<math><mi>~</mi>~<style>~</style>~<![CDATA[<b>]]>~x~&amp;~<p>.</p>~<svg/>~<div>~</div>`
    ).split('~'),
  )
  const pages = fc.array(foreign, { maxLength: 12 }).map((parts) => `<body>${parts.join('')}`)
  fc.assert(
    fc.property(pages, (page) => isDeepStrictEqual(read([page]), oracle(page).log.lines)),
    { numRuns: 2000 },
  )
})

t.test('an unwanted nav has the text that parse5 puts into it', async () => {
  const parts = fc.constantFrom(
    ...(
      `<nav>~</nav>~<div>~</div>~<section>~</section>~<p>~<ul><li>~</ul>~<b>~</b>~</span>~<table><tr><td>~` +
      `</td>~<td>~</table>~<br>~</body>~<!--</nav>-->~<title></nav></title>`
    ).split('~'),
  )
  const pages = fc
    .array(parts, { maxLength: 14 })
    .map((all) => `<body>${all.map((part, at) => `${part}${at} `).join('')}`)
  fc.assert(
    fc.property(pages, (page) => {
      let text = ''
      const tokenizer = new HtmlTokenizer({
        open: (tag) => (tag.name === 'nav' ? 'skip' : undefined),
        close() {},
        text: (more) => void (text += more),
      })
      tokenizer.write(page)
      tokenizer.end()
      return text === oracle(page).outside
    }),
    { numRuns: 2000 },
  )
})

/** Each of these took a tokenizer minutes or never finished, if every step read the page again. */
const ATTACKS: [what: string, start: string, repeated: string][] = [
  ['open tags then stray end tags', '<b>'.repeat(50_000), '</x>'],
  ['nested elements', '', '<div>'],
  ['nested unwanted elements', '', '<nav>'],
  ['unwanted tables', '<nav><table><td>', '<section></div>'],
  ['bogus comments', '', '<!'],
  ['less-than signs', '', '<'],
  ['ampersands', '', '&'],
  ['half references', '', '&amp'],
  ['a reference that goes on', '&#', '0'],
  ['one long attribute', '<a b="', 'x'],
  ['many attributes', '<a ', 'b=c '],
  ['one long name', '<', 'a'],
  ['comment starts', '', '<!--'],
  ['a comment of dashes', '<!--', '-'],
  ['end tag starts', '', '</'],
  ['end tag starts in a title', '<title>', '</'],
  ['half end tags in a script', '<script>', '</scrip'],
  ['scripts in comments in a script', '<script>', '<!--<script>'],
  ['doctypes', '', '<!doctype '],
  ['CDATA in svg', '<svg>', '<![CDATA['],
  ['svg that paragraphs end', '', '<svg><p>'],
]
for (const [what, start, repeated] of ATTACKS) {
  t.test(`a page of ${what} is read to its end, cut or whole`, async (t) => {
    const page = start + repeated.repeat(1_000_000 / repeated.length)
    const count = (size: number) => {
      const seen = { opened: 0, closed: 0, text: 0, comments: 0 }
      const tokenizer = new HtmlTokenizer({
        open(tag) {
          seen.opened += 1 + tag.attributes().size
          return tag.name === 'nav' ? 'skip' : undefined
        },
        close: () => void seen.closed++,
        text: (text) => void (seen.text += text.length),
        comment: (text) => void (seen.comments += text.length),
      })
      for (let at = 0; at < page.length; at += size) tokenizer.write(page.slice(at, at + size))
      tokenizer.end()
      return seen
    }
    const whole = count(page.length)
    t.same(count(16_384), whole)
    t.same(count(7), whole)
  })
}

const XHTML: [what: string, xml: string, lines: string[]][] = [
  [
    'elements and text',
    '<html><p class="a&amp;b">c &lt; d</p></html>',
    ['<html>', '<p class="a&b">', '"c < d"', '</p>', '</html>'],
  ],
  ['void elements have no end', '<p><br/>a<img src="b"></img></p>', ['<p>', '<br/>', '"a"', '<img src="b">', '</p>']],
  ['an empty element has one', '<p><b/></p>', ['<p>', '<b/>', '</b>', '</p>']],
  ['HTML references', '<p>&nbsp;&copy;&NotEqualTilde;&#8364;</p>', ['<p>', '"\u00a0©≂̸€"', '</p>']],
  ['CDATA', '<p><![CDATA[<b>&amp;]]></p>', ['<p>', '"<b>&amp;"', '</p>']],
  ['a title has markup', '<title><b/></title>', ['<title>', '<b/>', '</b>', '</title>']],
  [
    'prefixes of XHTML are taken off, others stay',
    '<h:p xmlns:h="http://www.w3.org/1999/xhtml" xmlns:o="urn:o"><h:b xmlns:h="urn:h"/><o:b/><h:b/></h:p>',
    [
      '<p xmlns:h="http://www.w3.org/1999/xhtml" xmlns:o="urn:o">',
      '<h:b xmlns:h="urn:h"/>',
      '</h:b>',
      '<o:b/>',
      '</o:b>',
      '<b/>',
      '</b>',
      '</p>',
    ],
  ],
  ['a doctype', '<!DOCTYPE html PUBLIC "a" "b"><p/>', ['<!doctype ["html","a","b",false]>', '<p/>', '</p>']],
  ['a comment', '<p><!-- a --></p>', ['<p>', '<!-- a -->', '</p>']],
  ['an unwanted element', '<p><nav>a<nav/>b</nav>c</p>', ['<p>', '<nav>', '"c"', '</p>']],
  ['line ends', '<p>a\r\nb\rc</p>', ['<p>', '"a\\nb\\nc"', '</p>']],
  ['names of methods of objects', '<p constructor="a" toString="b"/>', ['<p constructor="a" tostring="b"/>', '</p>']],
]
for (const [what, xml, lines] of XHTML) {
  t.test(`XHTML: ${what}`, async (t) => {
    t.same(read([xml], new Log({ skip: ['nav'] }), XhtmlTokenizer), lines)
    t.same(read(xml.split(''), new Log({ skip: ['nav'] }), XhtmlTokenizer), lines, 'one character at a time')
  })
}

t.test('JSON-LD in XHTML is reported from within unwanted elements', async (t) => {
  const xml = '<p><nav>a<script>x</script><script type="application/ld+json">{}</script>b</nav></p>'
  const lines = ['<p>', '<nav>', '<script>', '<script type="application/ld+json">', '"{}"', '</script>', '</p>']
  t.same(read([xml], new Log({ skip: ['nav'], jsonLd: true }), XhtmlTokenizer), lines)
})

const MALFORMED: [what: string, xml: string][] = [
  ['an unclosed element', '<p>'],
  ['a stray end tag', '<p></b></p>'],
  ['an attribute without quotes', '<p a=b/>'],
  ['an attribute without a value', '<p a/>'],
  ['an unknown reference', '<p>&nosuch;</p>'],
  ['a reference named like a method', '<p>&constructor;</p>'],
  ['a bare ampersand', '<p>a & b</p>'],
  ['two roots', '<p/><p/>'],
  ['text outside', '<p/>a'],
  ['no element', ' '],
  ['a declaration in the page', '<p><!a></p>'],
  ['a declaration that does not end', `<p><!${'x'.repeat(5000)}`],
  ['an attribute that sax trips over', '<p hasOwnProperty="a" b="c"/>'],
  ['two attributes of one name', '<p><a href="1" title="t" href="1"/></p>'],
  ['two namespaces for one prefix', '<p xmlns:a="x" xmlns:a="y"/>'],
  ['an unfinished comment', '<p/><!-- '],
]
for (const [what, xml] of MALFORMED) {
  t.test(`XHTML with ${what} is not convertible`, async (t) => {
    t.throws(() => read([xml], new Log(), XhtmlTokenizer), NotConvertible)
  })
}
