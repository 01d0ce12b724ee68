import { readFileSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import { DeadLetterIndex } from '../../../pipelines/logpush/dead-letter-index.js'
import { StoredDeadLetters } from '../../../src/daemon/pipelines/dead-letters.js'
import { systemClock } from '../../../src/core/clock.js'
import { silentLog } from '../../../src/core/log.js'
import { RecordsRefused, SinkError, type Batch } from '../../../src/core/sink.js'
import { testFolder } from '../../helpers/folder.js'
import { ADMIN } from '../client.js'
import { HTTPS, JOBS, logpushClient } from './helper.js'

const LETTERS = `${JOBS}/1/edged/dead-letters`

const textOf = async ({ body }: Batch): Promise<string> => gunzipSync(await body.bytes()).toString()

/** The API with a job that has two dead letters: `a`, plain, and `b`, compressed and newer. */
async function withLetters(t: Test) {
  const folder = testFolder(t)
  const index = await DeadLetterIndex.open(join(folder, 'index'), silentLog)
  const deadLetters = new StoredDeadLetters({ index, clock: systemClock, log: silentLog })
  const made = await logpushClient(t, { services: { deadLetters } })
  await made.call('POST', JOBS, { destination_conf: HTTPS })
  const entry = { bytes: 20, reason: 'refused' as const, error: 'logs.example.com responded with 400' }
  const paths = { a: join(folder, 'a.log'), b: join(folder, 'b.log.gz') }
  writeFileSync(paths.a, '{"RayID":"a1"}\n{"RayID":"a2"}\n')
  writeFileSync(paths.b, gzipSync('{"RayID":"b1"}\n'))
  await index.put('1', { ...entry, id: 'a', at: '2026-11-21T10:15:00Z', records: 2, path: paths.a, replayed_at: null })
  await index.put('1', { ...entry, id: 'b', at: '2026-11-21T10:16:00Z', records: 1, path: paths.b, replayed_at: null })
  const read = async (query = '') => {
    const response = await fetch(`${made.url}${LETTERS}/records${query}`, {
      headers: { authorization: `Bearer ${ADMIN}` },
    })
    return { status: response.status, type: response.headers.get('content-type'), text: await response.text() }
  }
  return { ...made, index, paths, read }
}

t.test('dead letters of a job are listed, and their records returned', async (t) => {
  const { call, read } = await withLetters(t)
  const list = await call('GET', LETTERS)
  t.match(list, { status: 200, body: { result_info: { count: 2, total_count: 2 } } })
  t.strictSame(list.body.result[0], {
    id: 'b',
    at: '2026-11-21T10:16:00Z',
    records: 1,
    bytes: 20,
    reason: 'refused',
    error: 'logs.example.com responded with 400',
    replayed_at: null,
    is_local: true,
  })
  t.strictSame((await call('GET', `${LETTERS}?per_page=1`)).body.result.length, 1)
  t.match(await call('GET', `${LETTERS}?per_page=1001`), {
    status: 400,
    body: { errors: [{ source: { pointer: '/per_page' } }] },
  })
  t.equal((await call('GET', `${JOBS}/1`)).body.result.edged.dead_letters, 3)
  t.match(await call('GET', `${JOBS}/2/edged/dead-letters`), { status: 404 })
  const all = await read()
  t.match(all, { status: 200, type: /^application\/x-ndjson/ })
  t.equal(all.text, '{"RayID":"a1"}\n{"RayID":"a2"}\n{"RayID":"b1"}\n', 'oldest first')
  t.equal((await read('?id=b')).text, '{"RayID":"b1"}\n')
  t.equal((await read('?id=c')).status, 404)
})

t.test('a file that is damaged, deleted or elsewhere is an error that names it', async (t) => {
  const { call, read, index, paths } = await withLetters(t)
  truncateSync(paths.b, 15)
  const damaged = await read()
  t.equal(damaged.status, 409)
  t.match(damaged.text, /b is damaged behind line/)
  t.match((await call('POST', `${LETTERS}/replay`, { ids: ['b'] })).body.result.dead_letters[0].error, /damaged behind/)
  rmSync(paths.b)
  t.match((await read('?id=b')).text, /b\.log\.gz does not exist any more/)
  symlinkSync('/etc/hostname', paths.b)
  t.match((await read('?id=b')).text, /is not a file/)
  await index.put('1', { ...(await index.list('1'))[0]!, path: null })
  t.match(await call('POST', `${LETTERS}/replay`, { ids: ['b'] }), {
    status: 409,
    body: { errors: [{ message: /not a local folder/ }] },
  })
})

t.test('dead letters are sent again once, and records that are rejected again become a new dead letter', async (t) => {
  const { call, destinations, paths, index } = await withLetters(t)
  const sent: string[] = []
  destinations.write = async (batch) => {
    const text = await textOf(batch)
    if (text.includes('a2')) throw new RecordsRefused('no', { lines: ['{"RayID":"a2"}'], taken: 1 })
    sent.push(text)
  }
  const first = await call('POST', `${LETTERS}/replay`, undefined)
  t.match(first, { status: 200 })
  t.strictSame(first.body.result, {
    dead_letters: [
      { id: 'a', delivered: 1, failed: 1, left: 0, error: null },
      { id: 'b', delivered: 1, failed: 0, left: 0, error: null },
    ],
    remaining: 1,
  })
  t.strictSame(sent, ['{"RayID":"b1"}\n'])
  t.equal(readFileSync(`${paths.a}.failed`, 'utf8'), '{"RayID":"a2"}\n')
  t.match((await index.list('1'))[0], { replayed_at: null, id: 'a.failed' })
  t.equal((await call('GET', `${JOBS}/1`)).body.result.edged.dead_letters, 1)
  const again = await call('POST', `${LETTERS}/replay`, { ids: ['a.failed', 'b', 'x'] })
  t.match(again, {
    status: 400,
    body: {
      errors: [{ source: { pointer: '/ids/1' }, message: /was sent again at/ }, { source: { pointer: '/ids/2' } }],
    },
  })
  destinations.write = async (batch) => void sent.push(await textOf(batch))
  t.match((await call('POST', `${LETTERS}/replay`, { ids: ['a.failed'] })).body.result, { remaining: 0 })
  t.equal(sent.at(-1), '{"RayID":"a2"}\n')
})

t.test('a destination that fails ends the call, and the next call goes on', async (t) => {
  const { call, destinations } = await withLetters(t)
  destinations.write = async () => {
    throw new SinkError('transient', 'logs.example.com responded with 503')
  }
  const failed = await call('POST', `${LETTERS}/replay`, {})
  t.match(failed.body.result, {
    dead_letters: [{ id: 'a', delivered: 0, left: 2, error: 'logs.example.com responded with 503' }],
    remaining: 2,
  })
  destinations.write = async () => {}
  t.match((await call('POST', `${LETTERS}/replay`, {})).body.result, { remaining: 0 })
})
