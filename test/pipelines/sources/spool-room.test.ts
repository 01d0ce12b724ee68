import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { DATASETS } from '../../../pipelines/records/index.js'
import { commitPatiently } from '../../../pipelines/sources/intake/record-intake.js'
import { RunStats } from '../../../pipelines/sources/intake/run-stats.js'
import { spoolInput } from '../../../pipelines/sources/intake/spool-input.js'
import { systemClock as clock } from '../../../src/core/clock.js'
import { silentLog as log } from '../../../src/core/log.js'
import { testFolder } from '../../helpers/folder.js'
import { recordOf } from './source-helper.js'

t.test('a source waits while the disk has room for locks and cursors only', async (t) => {
  let free = 1024 * 1024
  const messages: string[] = []
  const waiting = (message: string) => messages.push(message)
  const dataset = DATASETS.get('http_requests')!
  const place = { dataset, folder: testFolder(t), spoolBytes: 1e8, stats: new RunStats(() => {}) }
  const input = await spoolInput(
    { ...place, waiting, free: () => Promise.resolve(free), clock, log },
    {
      endless: true,
      async take(open, signal) {
        const writer = open()
        writer.add(Buffer.from(recordOf('a')))
        await commitPatiently(writer, clock, signal)
      },
    },
  )
  while (messages.length === 0) await setTimeout(5)
  t.strictSame(messages, ['reading waits: the disk has less than 1048576 bytes left'])
  t.match(input, { full: true, spool: { end: 0 } })
  free = 2 * 1024 * 1024
  const alive = setInterval(() => {}, 2 ** 30)
  while (input.spool.end === 0) await setTimeout(5)
  t.equal(input.full, false)
  clearInterval(alive)
  await input.close()
})
