import t from 'tap'
import { parseJson } from '../../../control/http/json-body.js'
import { parseScanned, scanJson } from '../../../src/core/json/json-slices.js'
import { randomNumbers } from '../hostile-bodies.js'

const filler = 'x'.repeat(200)
/** More than one slice. */
const items = Array.from({ length: 1000 }, (_, i) => `{"i": ${i}, "text":"${filler}, [\\"}]"}`)
const LIST = `[${items.join(' ,\n')}]`
const NAMES = Array.from({ length: 12_000 }, (_, i) => `"name ${i}" : [${i}, {"é": null}]`)

const VALID: [what: string, text: string][] = [
  ['a list', LIST],
  ['an object of many names', `{${NAMES.join(',')}}`],
  ['a list in an object', ` {"a": 1, "rules" :${LIST}, "b":[2] } `],
  ['two lists in a row', `{"first":${LIST},"second":${LIST}}`],
  ['a name that occurs twice', `{"a":${LIST},"b":1,"a":${LIST.slice(0, 1)}2]}`],
  ['lists in lists', `[[${LIST}],[], [1,${LIST} ,2]]`],
  ['white space only', `[${' '.repeat(70_000)}]`],
  ['one long text', `["${'\\u0041'.repeat(20_000)}"]`],
  ['a long text alone', ` ${JSON.stringify('é😀"\\\n'.repeat(40_000))} `],
  [
    'long texts between others',
    JSON.stringify({ a: 1, b: 'x"é'.repeat(90_000), ['n'.repeat(70_000)]: ['y'.repeat(70_000), 2], c: 3 }),
  ],
  ['a long text of escapes', `[1, "${'\\u00e9\\\\'.repeat(30_000)}" , 2]`],
  ['many escaped quotes', `{"a":"${'\\"'.repeat(50_000)}\\\\","b":"${'\\\\'.repeat(50_000)}"}`],
]
const noLimits = { depth: Infinity, members: Infinity, values: Infinity }
/** Checks a text without keeping its values. */
async function check(text: string): Promise<unknown> {
  const bytes = Buffer.from(text)
  const pause = async (): Promise<void> => {}
  return await parseScanned(bytes, await scanJson(bytes, noLimits, pause), pause, { checks: true })
}

for (const [what, text] of VALID)
  t.test(`a large text is valid like a small one: ${what}`, async (t) => {
    t.equal(await check(text), undefined)
  })

for (const [what, text] of VALID)
  t.test(`a large body is read like a small one: ${what}`, async (t) => {
    t.same(await parseJson(Buffer.from(text)), JSON.parse(text))
  })

const INVALID: [what: string, text: string][] = [
  ['a control character before it', `\u0001${LIST}`],
  ['a control character in a long text', `["${'x'.repeat(80_000)}\n"]`],
  ['a long text that ends in an escape', `"${'x'.repeat(80_000)}\\"`],
  ['two long texts', `"${'x'.repeat(80_000)}" "${'x'.repeat(80_000)}"`],
  ['a long text as an element of an object', `{"a":1,"${'x'.repeat(80_000)}"}`],
  ['an unknown escape in a long text', `["${'x'.repeat(80_000)}\\x"]`],
  ['a comma before the end', `${LIST.slice(0, -1)},]`],
  ['a comma at the start', `[,${LIST.slice(1)}`],
  ['two commas', LIST.replace(' ,\n', ',,')],
  ['a missing comma', LIST.replace(' ,\n', ' ')],
  ['a number before a list', `[1${LIST}]`],
  ['a number behind a list', `[${LIST}1]`],
  ['no comma between two lists', `[${LIST}${LIST}]`],
  ['a name without a colon', `{"a"${LIST}}`],
  ['a colon without a name', `{:${LIST}}`],
  ['two names', `{"a":"b":${LIST}}`],
  ['the wrong closing bracket', `${LIST.slice(0, -1)}}`],
  ['a bracket too many', `${LIST}]`],
  ['no closing bracket', LIST.slice(0, -1)],
  ['text behind it', `${LIST} 1`],
  ['an element in an object', `{"a":${LIST}, 1}`],
]
for (const [what, text] of INVALID)
  t.test(`a large body is refused like a small one: ${what}`, async (t) => {
    t.throws(() => JSON.parse(text))
    await t.rejects(parseJson(Buffer.from(text)), { message: /^Malformed JSON/ })
    await t.rejects(check(text), { name: 'SyntaxError' })
  })

t.test('large bodies with one changed byte are read or refused like small ones', async (t) => {
  const random = randomNumbers(1)
  const text = `{"a": 1, "rules" :${LIST}, "b":[2], "c":{"d":${LIST}}}`
  for (let n = 0; n < 60; n++) {
    const at = Math.floor(random() * text.length)
    const changed = text.slice(0, at) + ',:[]{}"\\0 '[Math.floor(random() * 10)] + text.slice(at + 1)
    let wanted: unknown
    try {
      wanted = JSON.parse(changed)
    } catch {
      wanted = undefined
    }
    const read = await parseJson(Buffer.from(changed)).catch(() => undefined)
    t.same(read, wanted, `byte ${at}`)
  }
})

t.test('names that reach into prototypes are refused in large bodies too', async (t) => {
  for (const name of ['__proto__', 'constructor', '\\u005f_proto__'])
    t.match(await parseJson(Buffer.from(`{"a":${LIST},"${name}":{"x":1}}`)).catch((error: unknown) => error), {
      issues: [{ message: 'is not a member name that is allowed' }],
    })
})

t.test('other work has its turn while a large body is read', async (t) => {
  let turns = 0
  let isDone = false
  const count = (): void => {
    turns++
    if (!isDone) setImmediate(count)
  }
  setImmediate(count)
  const names = Array.from({ length: 90_000 }, (_, i) => `"k${i}":1`)
  await parseJson(Buffer.from(`{${names.join()}}`))
  isDone = true
  t.ok(turns > 1, `${turns} turns`)
})

const NUMBERS = `[${Array.from({ length: 200_000 }, (_, i) => i).join()}]`
/** With the number of pauses. */
const LONG: [what: string, text: string, pauses: number][] = [
  ['one text of megabytes', JSON.stringify({ a: 'é"'.repeat(500_000) }), 20],
  ['a text alone', JSON.stringify('x'.repeat(2_000_000)), 20],
  ['many numbers', NUMBERS, 20],
  ['many numbers with an error at the end', `${NUMBERS.slice(0, -1)},]`, 300],
]
for (const [what, text, pauses] of LONG)
  t.test(`few bytes of a large body are read between two pauses: ${what}`, async (t) => {
    const perPause = [0]
    const { parse } = JSON
    t.capture(JSON, 'parse', (part: string) => {
      perPause.push(perPause.pop()! + part.length)
      return parse(part) as unknown
    })
    const pause = async (): Promise<void> => {
      perPause.push(0)
    }
    await parseJson(Buffer.from(text), pause).catch(() => {})
    t.ok(Math.max(...perPause) < 300_000, `${Math.max(...perPause)} bytes`)
    t.ok(perPause.length > pauses, `${perPause.length} pauses`)
  })
