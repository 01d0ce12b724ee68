import fc from 'fast-check'
import t from 'tap'
import { NameFinder } from '../../src/http/name-finder.js'

const NAMES = ['te', 'date', 'vary', 'via', 'content-type', 'http2-settings', 'x-forwarded-for', 'signature-input']
const finder = new NameFinder(NAMES)

t.test('a name is found in any case, wherever it is', async (t) => {
  for (const name of NAMES)
    for (const spelt of [name, name.toUpperCase(), name[0]!.toUpperCase() + name.slice(1)])
      t.equal(finder.find(`a: b\r\n${spelt}: c`, 6, 6 + spelt.length), name, spelt)
})

const SIGNS = "!#$%&'*+-.^_`|~09AVZatvyz".split('')
const TOKEN = fc.array(fc.constantFrom(...SIGNS), { minLength: 1, maxLength: 6 }).map((signs) => signs.join(''))
/** A name with one sign replaced or added. */
const CHANGED = fc.tuple(fc.constantFrom(...NAMES), fc.nat(), fc.constantFrom(...SIGNS), fc.nat(1)).map((parts) => {
  const [name, at, sign, cut] = parts
  const place = at % name.length
  return name.slice(0, place) + sign + name.slice(place + cut)
})

t.test('no other token is found', async (t) => {
  fc.assert(
    fc.property(fc.oneof(TOKEN, CHANGED), (token) => {
      const lower = token.toLowerCase()
      const expected = NAMES.includes(lower) ? lower : ''
      if (finder.find(token, 0, token.length) !== expected) t.fail(token)
    }),
    { numRuns: 5000 },
  )
  t.equal(finder.find('a-name-that-is-longer-than-all: c', 0, 30), '')
})
