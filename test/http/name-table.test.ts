import t from 'tap'
import { NameTable } from '../../src/http/name-table.js'

t.test('what is known of a name is found once, and again after many other names', (t) => {
  const asked: string[] = []
  const table = new NameTable((name) => {
    asked.push(name)
    return name.length
  })
  t.equal(table.get('accept'), 6)
  t.equal(table.get('accept'), 6)
  t.same(asked, ['accept'])
  for (let i = 0; i < 2000; i++) t.equal(table.get(`x-${i}`), `x-${i}`.length)
  t.equal(table.get('accept'), 6)
  t.equal(asked.filter((name) => name === 'accept').length, 2, 'the memory is bounded')
  t.end()
})

t.test('long names are not remembered, nor names that are rejected', (t) => {
  let asked = 0
  const table = new NameTable((name) => {
    asked++
    if (name === 'bad name') throw new TypeError('not a name')
    return true
  })
  const long = 'x'.repeat(65)
  t.ok(table.get(long))
  t.ok(table.get(long))
  t.equal(asked, 2)
  t.throws(() => table.get('bad name'), TypeError)
  t.throws(() => table.get('bad name'), TypeError)
  t.equal(asked, 4)
  t.end()
})
