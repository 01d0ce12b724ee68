import fc from 'fast-check'
import t from 'tap'
import { ANYTHING } from '../../../pipelines/markdown/text/text-traits.js'
import { convert, Converter } from '../../../pipelines/markdown/index.js'
import { Line } from '../../../pipelines/markdown/output/line.js'
import { canonical, render } from '../../conformance/round-trip.js'

/** Parts of text that mean something in Markdown, and white space that is collapsed. */
const PARTS = [
  'word',
  'a',
  '*',
  '**',
  '_',
  '~',
  '`',
  '[',
  ']',
  '](',
  '(',
  '\\',
  '&amp;',
  '&lt;',
  'lt;',
  'amp;',
  '😀',
  'é',
  ' ',
  '\n',
  '  \t',
]

/** Returns the Markdown of a page that arrives in pieces. */
function inPieces(html: string, bytes: number): string {
  const converter = new Converter()
  const all = Buffer.from(html)
  let markdown = ''
  for (let at = 0; at < all.length; at += bytes) markdown += converter.write(all.subarray(at, at + bytes))
  return markdown + converter.end()
}

const longText = fc
  .array(fc.constantFrom(...PARTS), { minLength: 20, maxLength: 400 })
  .map((parts) => parts.join('').repeat(Math.ceil(150_000 / parts.join('').length)))

t.test('a long text is the same Markdown whether it is escaped at once or as it arrives', async (t) => {
  fc.assert(
    fc.property(longText, fc.constantFrom('p', 'b', 'del'), fc.constantFrom(4096, 60_001), (text, element, bytes) => {
      const html = `<body><p>x<${element}>${text}</${element}>y`
      t.equal(inPieces(html, bytes), convert(html))
    }),
    { numRuns: 12 },
  )
})

t.test('brackets of a long text of a link do not end it', async (t) => {
  for (const text of ['[ word ', 'word ] ', 'a ]( b ', '[ a ] ', '[', '] [']) {
    const html = `<body><p><a href="/x">${text.repeat(20_000)}</a>`
    const want = canonical(`<p><a href="/x">${text.repeat(20_000).trim()}</a></p>`)
    t.ok(canonical(render(inPieces(html, 4096))) === want, text)
  }
})

class SeenLine extends Line {
  get written(): number {
    return this.writtenLength
  }
}

t.test('a text that goes on is written piece by piece', async (t) => {
  for (const piece of ['a*b ', '*', ' ', 'a', '\\', '😀', '\u3042_']) {
    const line = new SeenLine()
    let given = 0
    while (given < 400_000) {
      line.text(piece.repeat(1000), ANYTHING)
      given += piece.length * 1000
      if (piece !== ' ') t.ok(line.written > given - 70_000, piece)
    }
  }
})
