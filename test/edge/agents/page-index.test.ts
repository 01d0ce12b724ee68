import t from 'tap'
import { PageIndex } from '../../../src/edge/agents/mcp/page-index.js'

const text = (words: string) => ({ title: 'x', text: words, expiresAt: Infinity })
const paths = (found: readonly { path: string }[]) => found.map(({ path }) => path)

t.test('pages are found by their words, the best first', async (t) => {
  const index = new PageIndex(1_000_000, () => 0)
  index.add('z a.test', '/one', { title: 'Herons', text: 'About birds', expiresAt: Infinity })
  index.add('z a.test', '/two', text('A heron is a bird. Herons eat fish. Fish, fish.'))
  index.add('z a.test', '/three', text('Čeština a Ελληνικά: žába'))
  index.add('z b.test', '/other', text('herons'))
  t.same(paths(index.search('z a.test', 'HERONS', 9)), ['/one', '/two'], 'the title counts more')
  t.same(paths(index.search('z a.test', 'herons fish', 9)), ['/two', '/one'])
  t.same(paths(index.search('z a.test', 'ŽÁBA', 9)), ['/three'])
  t.same(paths(index.search('z a.test', 'herons', 1)), ['/one'])
  t.same(index.search('z a.test', 'nothing', 9), [])
  t.same(index.search('z none.test', 'herons', 9), [])
})

t.test('pages expire, are replaced and purged', async (t) => {
  let now = 0
  const index = new PageIndex(1_000_000, () => now)
  index.add('z a.test:8080', '/p', { ...text('old'), expiresAt: 10 })
  index.add('z a.test:8080', '/p', { ...text('new'), expiresAt: 10 })
  index.add('z a.test:8080', '/q', text('new'))
  index.add('y a.test', '/p', text('new'))
  t.same(index.search('z a.test:8080', 'old', 9), [])
  t.same(paths(index.search('z a.test:8080', 'new', 9)), ['/p', '/q'])
  now = 10
  t.same(paths(index.search('z a.test:8080', 'new', 9)), ['/q'])
  index.purge('z', ['a.test/other'])
  t.ok(index.has('z a.test:8080', '/q'))
  index.purge('z', ['a.test/q'])
  t.notOk(index.has('z a.test:8080', '/q'))
  t.ok(index.has('y a.test', '/p'))
  index.purge('y')
  t.equal(index.bytes, 0, 'nothing is left')
})

t.test('memory is bounded, and pages that are found stay', async (t) => {
  const index = new PageIndex(300_000, () => 0)
  index.add('z a.test', '/kept', text('kept'))
  for (let i = 0; i < 2000; i++) {
    index.add(
      'z a.test',
      `/${i}`,
      text(`word${i} `.repeat(3) + Array.from({ length: 50 }, (_, w) => `w${i}x${w}`).join(' ')),
    )
    if (i % 10 === 0) t.equal(index.search('z a.test', 'kept', 1).length, 1)
  }
  t.ok(index.bytes <= 300_000)
  t.same(index.search('z a.test', 'word0', 1), [])
  t.same(paths(index.search('z a.test', 'word1999', 1)), ['/1999'])
  index.add('z a.test', '/large', text(Array.from({ length: 100_000 }, (_, w) => `v${w}`).join(' ')))
  t.equal(index.search('z a.test', 'v2000', 1).length, 0, 'only the first 2,000 words of a page count')
})
