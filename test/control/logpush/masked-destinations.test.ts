import t from 'tap'
import { unmasked } from '../../../control/logpush/masked-destinations.js'
import { redact } from '../../../sinks/index.js'
import { InvalidInput } from '../../../src/core/errors.js'

const STORED = [
  'https://logs.example.com/in?header_Authorization=Bearer%20abc&x=1',
  's3://bucket/path?region=eu&access-key-id=AK&secret-access-key=S%2F1',
  'https://user:pa$$wd@logs.example.com/in?header_x-a=$1',
]

t.test('a destination that is written as it was read stays', async (t) => {
  for (const stored of STORED) {
    const shown = redact(stored)
    t.match(shown, '***')
    t.equal(unmasked(shown, stored, shown), stored)
  }
})

t.test('other parts of a destination change, and its secrets stay', async (t) => {
  t.equal(
    unmasked('https://other.example.com/new?header_Authorization=***&y=2', STORED[0], 'shown'),
    'https://other.example.com/new?header_Authorization=Bearer%20abc&y=2',
  )
  t.equal(
    unmasked('https://***@logs.example.com/else?header_x-a=***', STORED[2], 'shown'),
    'https://user:pa$$wd@logs.example.com/else?header_x-a=$1',
  )
  t.equal(unmasked('https://a.example/***', 'https://b.example/secret/path?x=1', 's'), 'https://a.example/secret/path')
  t.equal(unmasked('https://a.example/in', STORED[0], 'shown'), 'https://a.example/in')
})

t.test('*** without a stored secret is refused', async (t) => {
  for (const [given, stored] of [
    ['https://a.example/in?header_b=***', STORED[0]],
    ['https://***@a.example/in', STORED[0]],
    ['https://a.example/in?header_b=***', undefined],
  ] as const)
    t.throws(() => unmasked(given, stored, 'shown'), InvalidInput, given)
})
