import t from 'tap'
import { Insertion } from '../../../src/edge/markdown/insertion.js'

const insertions = { link: (hasBase: boolean) => (hasBase ? '[LINK, base]' : '[LINK]'), line: '[LINE]' }

/** Returns the page with its insertions, written in pieces that begin at these positions. */
function inserted(page: string | Buffer, cuts: readonly number[] = [], isXml = false): string {
  const bytes = Buffer.from(page)
  const insertion = new Insertion(insertions, isXml)
  const sent: Buffer[] = []
  let from = 0
  for (const cut of [...cuts, bytes.length]) {
    // A source may reuse the memory of a piece.
    const piece = Buffer.from(bytes.subarray(from, cut))
    sent.push(...insertion.write(piece).map((part) => Buffer.from(part)))
    piece.fill('!')
    from = cut
  }
  return Buffer.concat([...sent, ...insertion.end()]).toString()
}

/** Pages with their insertions. */
const PAGES: readonly [name: string, page: string][] = [
  [
    'a common page',
    '<!doctype html><html><head><title>x</title>[LINK]</head><body class="a > b">[LINE]<p>y</body></html>',
  ],
  ['a page in capitals', '<!DOCTYPE HTML><HTML><HEAD><TITLE>x</TITLE>[LINK]</HEAD><BODY>[LINE]<P>y'],
  ['a page after a byte order mark', '\ufeff<html><head>[LINK]</head><body>[LINE]y'],
  ['a page without a head', '<!doctype html><html>[LINK]<body>[LINE]<p>y'],
  ['a page without an end of the head', '<!doctype html><title>x</title><meta charset=utf-8>[LINK]<body>[LINE]<p>y'],
  ['a page without head and body', '<!doctype html>\n<title>x</title>\n[LINK][LINE]<p>y</p>'],
  ['a page that begins with text', '<!doctype html><title>x</title> [LINK][LINE]y'],
  ['a page without an element', '<!doctype html>\n[LINK][LINE]y'],
  ['a page without a body tag', '<html><head><title>x</title>[LINK]</head>\n<!-- c -->\n[LINE]<main>y'],
  ['a page without content', '<!doctype html><title>x</title>[LINK][LINE]'],
  ['a page whose body ends at once', '<html><head>[LINK]</head>[LINE]</body></html>'],
  ['a page without a start of the head', '<html><title>x</title>[LINK]</head><body>[LINE]y'],
  ['tags in a comment', '<html><!-- <head></head><body> --><head><!-- </head> -->[LINK]</head><body>[LINE]y'],
  ['comments that end early', '<html><head><!--><!---><!--x--!>[LINK]</head><body>[LINE]y'],
  ['a comment with dashes', '<html><head><!--- </head> -- </head> ---->[LINK]</head><body>[LINE]y'],
  ['markup that reads as a comment', '<html><head><?x </head?><! <body></1 </head>[LINK]</head><body>[LINE]y'],
  ['a processing instruction first', '<?xml version="1.0"?><!doctype html><head>[LINK]</head><body>[LINE]y'],
  [
    'tags in attributes',
    '<html lang="</head>"><head data-x=\'<body>\' y=></head>'.replace('></head>', '>[LINK]</head>') + '<body>[LINE]y',
  ],
  ['a quote that begins no value', '<html><head "x=1 y"=a">[LINK]</head><body x"=>[LINE]y'],
  ['a quote in an unquoted value', '<html><head x=a"b>[LINK]</head><body x = "a>b">[LINE]y'],
  ['a value that begins with a slash', '<html><head x=/">[LINK]</head><body/>[LINE]y'],
  ['tags in a title', '<html><head><title></head><body></title>[LINK]</head><body>[LINE]y'],
  ['tags in a script', '<html><head><script>"</head><body>"</script><style></head></style>[LINK]</head><body>[LINE]y'],
  [
    'an end tag that a script hides',
    '<html><head><script><!-- <script> </script></head><body> --></script>[LINK]</head><body>[LINE]y',
  ],
  ['a noscript in the head', '<html><head><noscript><img src=x></noscript>[LINK]</head><body>[LINE]y'],
  ['a template', '<html><head><template><p>x<template></head></template><body></template>[LINK]</head><body>[LINE]y'],
  ['names that begin like others', '<html><head><meta x></headline>[LINK]</head></header><body>[LINE]y'],
  ['an unknown element', '<html><head><title>x</title>[LINK][LINE]<linkage>y</head><body>'],
  ['a long name', `<html><head>[LINK][LINE]<${'x'.repeat(500)}>y</head><body>`],
  ['a less-than sign as text', '<html><head>[LINK][LINE]< head></head>'],
  ['a frameset', '<html><head>[LINK]</head><frameset><frame></frameset>'],
  ['a frameset without a head', '<html>[LINK]<frameset><frame></frameset>'],
  ['a base', '<html><head><base href="https://cdn.test/">[LINK, base]</head><body>[LINE]y'],
  ['a base without an address', '<html><head><base target=_top>[LINK]</head><body>[LINE]y'],
  ['a page that has a link', '<html><head><link type="text/markdown" rel=alternate href=x></head><body>y'],
  ['a page that has another link', '<html><head><link rel=stylesheet href=x>[LINK]</head><body>[LINE]y'],
  ['a second body', '<html><head>[LINK]</head><body>[LINE]</head><body>y'],
  ['a page that ends in a comment', '<html><head><title>x</title><!-- '],
  ['a page that ends in a script', '<html><head><title>x</title><script>'],
  ['a page that ends in a tag', '<html><head><title>x</title><bod'.replace('<bod', '[LINK][LINE]<bod')],
  ['plain text in a template', '<html><head><template><plaintext></template></head><body>'],
  ['a fragment', '<div><head></head><body>y'],
  ['a fragment that begins with text', 'x<html><head></head><body>y'],
  ['a fragment that begins with a comment', '<!-- x --><p>y<html><head></head><body>'],
  ['an end tag first', '</html><head></head><body>y'],
  ['nothing', ''],
  ['white space', ' \n'],
  ['two bytes', '<!'],
]

const XHTML: readonly [name: string, page: string][] = [
  [
    'a page of XHTML',
    '<?xml version="1.0"?>\n<!DOCTYPE html><html><head><title/>[LINK]</head><body>[LINE]<p/></body></html>',
  ],
  [
    'tags in a section',
    '<html><head><script><![CDATA[ </head> ]] ]]>]]></script>[LINK]</head><body>[LINE]</body></html>'.replace(
      ']]>]]>',
      ']]>',
    ),
  ],
  ['tags in an instruction', '<html><head><?x </head>?>[LINK]</head><body a="1/">[LINE]</body></html>'],
  ['tags in a comment', '<html><head><!--></head>-->[LINK]</head><body>[LINE]</body></html>'],
  ['a body without content', '<html><head>[LINK]</head><body/></html>'],
  ['a doctype with declarations', '<!DOCTYPE html [<!ENTITY x "</head>">]><html><head></head><body></body></html>'],
  ['elements with a prefix', '<h:html><h:head></h:head><h:body></h:body></h:html>'],
  ['names in capitals', '<html><HEAD></HEAD><BODY></BODY></html>'],
]

const plain = (page: string): string => page.replaceAll(/\[(?:LINK(?:, base)?|LINE)\]/g, '')

for (const [isXml, pages] of [
  [false, PAGES],
  [true, XHTML],
] as const)
  for (const [name, page] of pages)
    t.test(`${name}, cut anywhere`, async (t) => {
      const bytes = Buffer.from(plain(page))
      t.equal(inserted(bytes, [], isXml), page)
      const wrong: number[] = []
      for (let at = 1; at < bytes.length; at++) if (inserted(bytes, [at], isXml) !== page) wrong.push(at)
      t.same(wrong, [], 'the place of a cut changes nothing')
      t.equal(inserted(bytes, [...bytes.keys()].slice(1), isXml), page, 'a byte at a time')
    })

t.test('bytes that are not ASCII pass unchanged', async (t) => {
  const page = (before: Buffer) =>
    Buffer.concat([Buffer.from('<html><head><title>'), before, Buffer.from('</title></head><body>'), before])
  for (const before of [Buffer.from([0xe4, 0xff, 0x80]), Buffer.from('ä漢🙂')]) {
    const insertion = new Insertion(insertions)
    const sent = Buffer.concat([...insertion.write(page(before)), ...insertion.end()])
    t.equal(sent.toString('latin1'), plainWith(before.toString('latin1')))
  }
  t.equal(inserted(Buffer.from('\ufeff<html><head></head><body>', 'utf16le')).includes('['), false, 'UTF-16')
})

const plainWith = (text: string): string => `<html><head><title>${text}</title>[LINK]</head><body>[LINE]${text}`

t.test('a page whose head does not end passes while it arrives', async (t) => {
  const insertion = new Insertion(insertions)
  let [written, sent, held] = [0, 0, 0]
  const write = (text: string) => {
    written += text.length
    for (const part of insertion.write(Buffer.from(text))) sent += part.length
    held = Math.max(held, written - sent)
  }
  write('<html><head>')
  for (let i = 0; i < 1000; i++) write('<meta name="x" content="y"><!-- > --->')
  write(`<!-- ${'-x'.repeat(50_000)} --><script>`)
  for (let i = 0; i < 1000; i++) write('</scrip </body> <!-- -->')
  t.ok(held < 16, `at most ${held} bytes were buffered`)
  t.notOk(insertion.isOver)
})

t.test('pieces after the start of the body are not read', async (t) => {
  const insertion = new Insertion(insertions)
  insertion.write(Buffer.from('<html><head></head><body>'))
  t.ok(insertion.isOver)
  const piece = Buffer.from('</head><body>')
  t.equal(insertion.write(piece)[0]?.buffer, piece.buffer, 'the same memory')
  t.same(insertion.end(), [])
})
