import t from 'tap'
import { Line } from '../../../pipelines/markdown/output/line.js'

const link = (url: string) => ({ url, plain: true, title: undefined, name: undefined })

function counts(write: (line: Line) => void): [markdown: string, characters: number, linked: number] {
  const line = new Line()
  write(line)
  return [line.take(), line.characters, line.linked]
}

t.test('text is counted without marks, escapes, addresses and images', async (t) => {
  t.same(
    counts((line) => {
      line.text(' a_b *c ')
      line.open('strong', 'b')
      line.text('dé')
      line.close('b')
      line.space()
      line.openLink('a', link('/x'))
      line.text('e  f')
      line.close('a')
      line.markdown('![g](h)')
    }),
    ['a_b \\*c **dé** [e f](/x)![g](h)', 6 + 1 + 2 + 1 + 3, 1 + 3],
  )
  t.same(
    counts((line) => {
      line.openCode('code')
      line.text('x = `1`')
      line.close('code')
    }),
    ['`` x = `1` ``', 7, 0],
  )
})

t.test('the name of a link without contents is counted, a link that is dropped is not', async (t) => {
  t.same(
    counts((line) => {
      line.openLink('a', { ...link('/x'), name: 'Menu' })
      line.close('a')
    }),
    ['[Menu](/x)', 4, 4],
  )
  t.same(
    counts((line) => {
      line.text('Title')
      line.openLink('a', { ...link('#t'), noise: /^#$/ })
      line.text('#')
      line.close('a')
    }),
    ['Title', 5, 0],
  )
})

t.test('the count does not depend on where a long text is cut', async (t) => {
  const text = 'ab cd '.repeat(40_000)
  const inPieces = (size: number) =>
    counts((line) => {
      for (let at = 0; at < text.length; at += size) line.text(text.slice(at, at + size))
    })
  const whole = inPieces(text.length)
  t.equal(whole[1], text.length - 1)
  for (const size of [7, 1000, 16_384, 65_537]) t.same(inPieces(size), whole)
})
