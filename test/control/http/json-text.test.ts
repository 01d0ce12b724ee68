import fc from 'fast-check'
import t from 'tap'
import { isLargeJson, jsonBytes, JsonText, LongText } from '../../../control/http/json-text.js'

const rules = Array.from({ length: 3000 }, (_, at) => ({
  id: at,
  text: `é${at}"\u2028`,
  of: [at, null],
  none: undefined,
}))

t.test('writes what JSON.stringify writes', async (t) => {
  const values: unknown[] = [
    { success: true, result: rules, messages: [] },
    [undefined, () => 1, Symbol('a'), new Date(0), Number.NaN, -0, 1e21, '', {}, [], [[]]],
    { a: undefined, b: () => 1, c: new Date(0), d: Object.create(null) as object, __proto__: 1, '': [] },
    'x'.repeat(100_000),
    { text: `${'a'.repeat(32_767)}😀${'b'.repeat(40_000)}\ud800` },
    null,
    12,
  ]
  for (const value of values) t.equal((await jsonBytes(value, async () => {})).toString(), JSON.stringify(value))
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), async (value) => {
      const text = (await jsonBytes([value], async () => {})).toString()
      return text === JSON.stringify([value])
    }),
    { numRuns: 200 },
  )
})

t.test('pauses between slices', async (t) => {
  let pauses = 0
  const pause = async () => void pauses++
  const bytes = await jsonBytes({ result: rules }, pause)
  t.ok(pauses >= bytes.length / 80_000, `${pauses} pauses for ${bytes.length} bytes`)
  pauses = 0
  await jsonBytes({ values: { a: 'x'.repeat(1_000_000) } }, pause)
  t.ok(pauses >= 15, `${pauses} pauses for a text of a megabyte`)
})

t.test('writes texts that exist as bytes, with pauses between slices', async (t) => {
  let pauses = 0
  const pause = async () => void pauses++
  const text = 'é😀"\ud800\n'.repeat(100_000)
  const bytes = Buffer.from(text)
  const value = { a: [new LongText(bytes), new LongText(Buffer.from([0xc3]))], b: new JsonText(Buffer.from('[1, 2]')) }
  t.ok(isLargeJson({ result: value }))
  const written = await jsonBytes(value, pause)
  t.equal(written.toString(), `{"a":[${JSON.stringify(bytes.toString())},"\ufffd"],"b":[1, 2]}`)
  t.ok(pauses >= 15, `${pauses} pauses`)
})

t.test('only large values are written in slices', (t) => {
  for (const small of [{}, null, 'a', { result: rules.slice(0, 100) }, []]) t.notOk(isLargeJson(small))
  for (const large of [
    rules,
    { a: { b: rules } },
    ['x'.repeat(200_000)],
    Object.fromEntries(rules.map((r) => [r.id, 1])),
  ])
    t.ok(isLargeJson(large))
  t.end()
})
