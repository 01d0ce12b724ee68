/** Reading messages of the shared spool from replicas. The servers are simulated. */
import t from 'tap'
import { StreamReader } from '../../../pipelines/logpush/spool/nats/stream-reader.js'
import { RECORDS, writeHeader } from '../../../pipelines/logpush/spool/frame.js'
import { FRAME_ROOM } from '../../../pipelines/logpush/spool/layout.js'
import { silentLog } from '../../../src/core/log.js'
import { HandClock } from '../../helpers/hand-clock.js'

t.test('the leader confirms that there is no message, because another replica may lack it', async (t) => {
  const bytes = Buffer.alloc(FRAME_ROOM)
  writeHeader(bytes, { kind: RECORDS, fingerprint: 1, count: 3, first: 0, acceptedAt: 0 })
  const stored = [{ seq: 1, subject: 'edged.a', data: bytes, time: new Date(0) }]
  const find = async ({ seq }: { seq: number }) => await Promise.resolve(stored.find((one) => one.seq >= seq) ?? null)
  const jsm = {
    direct: { getMessage: async () => await Promise.resolve(null) },
    streams: { getMessage: async (_: string, query: { seq: number }) => await find(query) },
  }
  const link = { target: { stream: 'edged' }, ready: { jsm } } as unknown as ConstructorParameters<
    typeof StreamReader
  >[0]
  const reader = new StreamReader(link, { clock: new HandClock(), log: silentLog })
  t.match(await reader.next('edged.a', 1), { sequence: 1, count: 3 })
  t.equal(await reader.next('edged.a', 2), undefined)
})
