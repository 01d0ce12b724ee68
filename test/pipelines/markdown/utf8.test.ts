import fc from 'fast-check'
import t from 'tap'
import { convert, Converter, type ConvertOptions } from '../../../pipelines/markdown/index.js'

const UTF8 = { contentType: 'text/html; charset=utf-8' }

const inPieces = (bytes: Uint8Array, length: number, options: ConvertOptions): string => {
  const converter = new Converter(options)
  let markdown = ''
  for (let at = 0; at < bytes.length; at += length) markdown += converter.write(bytes.subarray(at, at + length))
  return markdown + converter.end()
}

const decoded = (bytes: Uint8Array): string => new TextDecoder().decode(bytes)

const PARTS = [
  '<p>',
  '</p>',
  ' ',
  'text – “quoted” café &amp; &eacute; 日本語 😀 end',
  '<title>Título – 😀</title>',
  '<meta name=description content="Café – 日本">',
  '<a href="/ü?q=日本&amp;x=é" title="„Titel“">Straße</a>',
  '<img src="/a b–c.png" alt="été">',
  '<x-é>inside</x-é>',
  '<!-- комментарий –->',
  '<script type="application/ld+json">{"name": "Zoë – 日本"}</script>',
  '<script>var a = "<!-- é -->"</script>',
  '<pre><code class="lang-é">a – b\r\nc é</code></pre>',
  '<code>naïve – code</code>',
  '<table><tr><th>é</th><th>b</th></tr><tr><td>ü</td><td>–</td></tr></table>',
  '<ul><li>é\u00a0</li><li>\u00a0ü</li></ul>',
  '<h2 id="é">Überschrift §</h2>',
  '<textarea>é</textarea>',
  '<em>ä</em><b>ö</b>ü',
  '<svg><title>é</title><![CDATA[ é ]]></svg>',
  '\u00e9\u0000\ufeff',
  'é  –\n\té 日本\r\n 😀',
  '\u007f\u0080\u07ff\u0800\ud7ff\ue000\uffff\u{10000}\u{10ffff}',
  'слово '.repeat(200),
  'a'.repeat(300),
]

const page = fc.array(fc.constantFrom(...PARTS), { maxLength: 25 }).map((parts) => parts.join(''))

t.test('UTF-8 is converted as the text that it encodes, however it is cut', async (t) => {
  fc.assert(
    fc.property(page, fc.integer({ min: 1, max: 300 }), fc.boolean(), (html, length, keepHtml) => {
      const bytes = Buffer.from(html)
      const options = { ...UTF8, keepHtml }
      const expected = convert(decoded(bytes), options)
      t.equal(convert(bytes, options), expected)
      t.equal(inPieces(bytes, length, options), expected)
    }),
    { numRuns: 150 },
  )
})

t.test('malformed UTF-8 is converted as a browser decodes it, however it is cut', async (t) => {
  const bytes = fc.tuple(page, fc.array(fc.tuple(fc.nat(), fc.integer({ min: 0x80, max: 0xff })), { maxLength: 12 }))
  fc.assert(
    fc.property(bytes, fc.integer({ min: 1, max: 300 }), ([html, changes], length) => {
      const bytes = Buffer.from(html)
      for (const [at, byte] of changes) if (bytes.length > 0) bytes[at % bytes.length] = byte
      const expected = convert(decoded(bytes), UTF8)
      t.equal(convert(bytes, UTF8), expected)
      t.equal(inPieces(bytes, length, UTF8), expected)
    }),
    { numRuns: 150 },
  )
})

t.test('a page of text that is not ASCII, after a head that is', async (t) => {
  const html = `<title>ASCII</title><p>Größe</p>${'<p>Текст <b>на</b> русском, <a href="/путь">ссылка</a></p>'.repeat(2000)}`
  const bytes = Buffer.from(html)
  const expected = convert(html)
  for (const length of [100, 1024, 16_384, bytes.length])
    t.equal(inPieces(bytes, length, UTF8), expected, String(length))
})

t.test('a long comment or attribute in UTF-8 takes time in proportion to its length', async (t) => {
  const long = 'é – long '.repeat(60_000)
  const html = `<p>a</p><!-- ${long} --><p title="${long}">b</p>`
  t.equal(inPieces(Buffer.from(html), 1000, UTF8), 'a\n\nb\n')
})
