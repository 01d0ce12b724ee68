import t from 'tap'
import { MAX_MERGED, SubrequestMerger } from '../../../pipelines/records/index.js'
import { httpRequests, written } from './helper.js'

const OPTIONS = { field_names: ['RayID', 'EdgeStartTimestamp'], timestamp_format: 'unix' as const }
const child = (id: string, parent = 'p') =>
  `{"RayID":"${id}","ParentRayID":"${parent}","EdgeStartTimestamp":1000000000000000000,"ClientIP":"secret"}`
const PARENT = '{"RayID":"p","ParentRayID":"00"}'

function merging(maxBytes?: number) {
  const merger = new SubrequestMerger(httpRequests, OPTIONS, maxBytes)
  const texts = (lines: readonly Uint8Array[]) => lines.map((line) => Buffer.from(line).toString())
  return {
    add: (line: string, nowMs = 0) => texts(merger.add(Buffer.from(line), nowMs)),
    expired: (nowMs: number) => texts(merger.expired(nowMs)),
    rest: () => texts(merger.rest()),
  }
}

t.test('subrequests become part of their parent, with the fields of the job', async (t) => {
  const { add, rest } = merging()
  t.strictSame(add(child('a')), [])
  t.strictSame(add(child('x', 'other')), [])
  t.strictSame(add(child('b')), [])
  const [line, ...more] = add(PARENT)
  t.strictSame(more, [])
  t.strictSame(JSON.parse(line ?? ''), {
    ...(JSON.parse(PARENT) as object),
    Subrequests: ['a', 'b'].map((RayID) => ({ RayID, EdgeStartTimestamp: 1_000_000_000 })),
  })
  t.equal(
    written({ ...OPTIONS, merge_subrequests: true }, [line ?? '']),
    '{"RayID":"p","EdgeStartTimestamp":null,"Subrequests":[{"RayID":"a","EdgeStartTimestamp":1000000000},{"RayID":"b","EdgeStartTimestamp":1000000000}]}\n',
  )
  t.strictSame(rest(), [child('x', 'other')])
  t.strictSame(rest(), [])
})

t.test('a request without subrequests, and a subrequest behind its parent', async (t) => {
  const { add, rest } = merging()
  t.strictSame(add(PARENT), [PARENT])
  t.strictSame(add('{}'), ['{}'])
  t.strictSame(add(child('a')), [])
  t.strictSame(rest(), [child('a')])
})

t.test('at most 50 are merged, the others pass', async (t) => {
  const { add } = merging()
  for (let id = 0; id < MAX_MERGED + 2; id++) add(child(String(id)))
  const [line, ...more] = add(PARENT)
  t.equal((JSON.parse(line ?? '') as { Subrequests: unknown[] }).Subrequests.length, MAX_MERGED)
  t.strictSame(more, [child('50'), child('51')])
})

t.test('a subrequest waits five minutes', async (t) => {
  const { add, expired } = merging()
  add(child('a'), 0)
  add(child('b'), 1000)
  t.strictSame(expired(299_999), [])
  t.strictSame(add(child('c', 'other'), 300_000), [child('a')])
  t.equal(add(PARENT, 300_500).length, 1)
  t.strictSame(expired(700_000), [child('c', 'other')])
})

t.test('what is held is bounded', async (t) => {
  const { add, rest } = merging(child('a').length * 2)
  t.strictSame(
    [...add(child('a')), ...add(child('b')), ...add(child('c')), ...add(child('d'))],
    [child('a'), child('b')],
  )
  t.strictSame(rest(), [child('c'), child('d')])
})

t.test('a malformed record is refused', async (t) => {
  t.throws(() => merging().add('{'), { name: 'MalformedRecord' })
})

// `slice` of a Buffer shows the same memory: what was held changed with what its reader read next.
t.test('a line that is held is a copy, also of a Buffer', (t) => {
  const merger = new SubrequestMerger(httpRequests, OPTIONS)
  const line = Buffer.from(child('a'))
  merger.add(line, 0)
  line.fill('x')
  t.strictSame(
    merger.rest().map((text) => Buffer.from(text).toString()),
    [child('a')],
  )
  t.end()
})
