import t from 'tap'
import { convert } from '../../../pipelines/markdown/index.js'

const main = (html: string) => convert(html, { content: 'main' })

const TEXT = 'The committee met for two days and heard nine reports about bridges, ferries and tolls in the county'

t.test('numbers above the line become marks of the notes below a rule or a title', async (t) => {
  const page = (title: string, notes: string) =>
    `<article><p>${TEXT}.<sup>1</sup> ${TEXT}<sup>2</sup>, it said.</p>${title}${notes}</article>`
  const wanted = `${TEXT}.[^1] ${TEXT}[^2], it said.\n\n[^1]: The first.\n\n[^2]: The second.\n`
  for (const title of ['<hr>', '<h2>Notes</h2>', '<h3>Footnotes</h3>', '<h2>Anmerkungen</h2>'])
    for (const [first, second] of [
      ['<sup>1</sup>', '<sup>2</sup>'],
      ['<strong>1</strong>', '<strong>2.</strong>'],
      ['1.', '2.'],
      ['[1]', '[2]'],
    ])
      t.equal(main(page(title, `<p>${first} The first.</p><p>${second} The second.</p>`)), wanted, `${title} ${first}`)
  const list = '[^1]: The first.\n[^2]: The second.\n'
  t.ok(main(page('<h4>Notes</h4>', '<ol><li>The first.<li>The second.</ol>')).endsWith(list))
})

t.test('blocks between two notes belong to the first', async (t) => {
  const notes = '<p><sup>1</sup> First:</p><ul><li>a</ul><p>More.</p><p><sup>2</sup> Second.</p><p>After.</p>'
  const markdown = main(`<article><p>${TEXT}.<sup>1</sup> ${TEXT}.<sup>2</sup></p><hr>${notes}</article>`)
  t.ok(markdown.endsWith('[^1]: First:\n\n    - a\n\n    More.\n\n[^2]: Second.\n\nAfter.\n'), markdown)
})

t.test('notes between the paragraphs and beside them are found by their numbers', async (t) => {
  const between = `<article><p>${TEXT}.<sup>1</sup></p><p><sup>1</sup>A note.</p><p>${TEXT}.</p></article>`
  t.equal(main(between), `${TEXT}.[^1]\n\n[^1]: A note.\n\n${TEXT}.\n`)
  const beside =
    `<article><p>${TEXT}.<sup class="x">1</sup></p><aside><ol><li>A note.</ol></aside>` +
    `<p>${TEXT}.<sup>2</sup></p><aside><ol start="2"><li>Another.</ol></aside></article>`
  t.equal(main(beside), `${TEXT}.[^1]\n\n[^1]: A note.\n\n${TEXT}.[^2]\n\n[^2]: Another.\n`)
})

t.test('powers, units, ordinals, verses and numbers without a note stay above the line', async (t) => {
  const kept = (html: string) => t.notMatch(main(`<article><p>${TEXT}</p>${html}</article>`), /\[\^/)
  const notes = '<hr><p><sup>1</sup> A.</p><p><sup>2</sup> B.</p>'
  kept(`<p>An area of 20 km<sup>2</sup> and x<sup>1</sup>, 10<sup>2</sup>.</p>${notes}`)
  kept('<p>Made by the firm<sup>1</sup> in the north<sup>2</sup>.</p>')
  kept('<p><sup>1</sup>In the beginning. <sup>2</sup>And the earth.</p><p><sup>3</sup>And then.</p>')
  kept('<p>The firm<sup>2</sup> has it.</p><hr><p><sup>2</sup> Second without first.</p>')
  kept(`<aside><ol><li><a href="/a">Most read today</a></ol></aside><p>The firm<sup>1</sup> has it.</p>`)
  t.match(main(`<article><p>${TEXT}.<sup>1</sup></p><pre>a<sup>1</sup></pre>${notes}</article>`), /```\na1\n```/)
})

t.test('pages with many numbers above the line take little time', async (t) => {
  const marks = Array.from({ length: 2000 }, (_, at) => `<p>${TEXT}<sup>${at % 999}</sup></p>`).join('')
  const notes = Array.from({ length: 2000 }, (_, at) => `<p><sup>${at + 1}</sup> note</p>`).join('')
  t.ok(main(`<article>${marks}<hr>${notes}</article>`).length > 1000)
})
