import { createHash } from 'node:crypto'
import t from 'tap'
import { batchName, type BatchOrigin } from '../../../pipelines/logpush/batch-name.js'

const ORIGIN: BatchOrigin = {
  spools: 'spools',
  job: 'job',
  first: { position: 10, skip: 0 },
  end: { position: 20, skip: 0 },
  records: 10,
  from: new Date('2026-11-21T10:15:00.123Z'),
  to: new Date('2026-11-21T10:15:30.456Z'),
}

t.test('a batch keeps its name only with the same records', async (t) => {
  const name = batchName(ORIGIN, undefined)
  t.match(name, /^20261121T101500Z_20261121T101530Z_[0-9a-f]{8}$/)
  t.equal(
    batchName({ ...ORIGIN, to: new Date('2026-11-21T10:15:31Z') }, name),
    name,
    'the times of held records differ',
  )
  t.not(batchName({ ...ORIGIN, records: 9 }, name), name, 'a record in the middle is gone')
  t.not(batchName({ ...ORIGIN, first: { position: 11, skip: 0 }, records: 9 }, name), name, 'the first record is gone')
  t.not(batchName({ ...ORIGIN, end: { position: 19, skip: 0 }, records: 9 }, name), name, 'a part of the batch')
})

t.test('a batch that an older version named keeps its name', async (t) => {
  const hash = createHash('sha256')
    .update(JSON.stringify(['spools', 'job', 10, 0, 20, 0]))
    .digest('hex')
  const name = `20261121T101500Z_20261121T101530Z_${hash.slice(0, 8)}`
  t.equal(batchName(ORIGIN, name), name)
  t.not(batchName({ ...ORIGIN, first: { position: 11, skip: 0 } }, name), name)
})
