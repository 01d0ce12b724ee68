import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import t from 'tap'
import { ingest } from '../../../control/logpush/ingest.js'
import { bodyLines } from '../../../control/http/line-body.js'
import { DATASETS } from '../../../pipelines/records/index.js'
import type { Spool } from '../../../pipelines/logpush/spool/types.js'

const requestOf = (...pieces: Buffer[]) =>
  Object.assign(Readable.from(pieces), { headers: {} }) as unknown as IncomingMessage

t.test('few records of a request are read between two pauses', async (t) => {
  const perPause = [0]
  const writer = { count: 0, size: 0, add: () => void perPause.push(perPause.pop()! + 1) }
  const spool = { writer: () => writer } as unknown as Spool
  const request = requestOf(Buffer.from('{}\n'.repeat(100_000)), Buffer.from('{}'))
  await ingest(request, spool, DATASETS.get('http_requests')!, async () => void perPause.push(0))
  t.equal(
    perPause.reduce((sum, count) => sum + count),
    100_001,
  )
  t.ok(Math.max(...perPause) < 6000, `${Math.max(...perPause)} records`)
})

t.test('a line that is longer than a piece is read whole', async (t) => {
  const lines = ['a'.repeat(50_000), 'b', 'c'.repeat(20_000)]
  const read: string[] = []
  for await (const { bytes } of bodyLines(requestOf(Buffer.from(lines.join('\n'))), { bodyBytes: 1e9 }))
    read.push(String(bytes))
  t.same(read, lines)
})
