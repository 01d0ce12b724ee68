import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { storedDataset } from '../../../../pipelines/records/index.js'
import { FileSpool } from '../../../../pipelines/sources/files/file-spool.js'
import type { Frame } from '../../../../pipelines/logpush/spool/types.js'
import { RunStats } from '../../../../pipelines/sources/intake/run-stats.js'
import { systemClock } from '../../../../src/core/clock.js'
import { testFolder } from '../../../helpers/folder.js'
import { until } from '../../../helpers/web.js'

const LINES = 2000

for (const follow of [false, true])
  t.test(
    `after a save that failed, records behind the saved position are read again (follow: ${follow})`,
    async (t) => {
      const folder = testFolder(t)
      const state = join(folder, 'state')
      mkdirSync(state)
      const paths = ['a', 'b'].map((name) => join(folder, `${name}.log`))
      for (const path of paths)
        writeFileSync(path, Array.from({ length: LINES }, (_, i) => `{"RayID":"${i}-${'x'.repeat(500)}"}\n`).join(''))
      const spool = await FileSpool.open({
        dataset: storedDataset('http_requests')!,
        paths,
        follow,
        lost: (path) => t.fail(path),
        missing: (path) => t.fail(path),
        folder: state,
        leftOver: () => undefined,
        resume: false,
        clock: systemClock,
        stats: new RunStats(() => undefined),
      })
      t.teardown(async () => await spool.close())
      const read = async (from: number, to: number) => {
        let at = from
        while (at < to) {
          let frame: Frame | undefined
          await until(async () => (frame = await spool.frame(at)) !== undefined)
          t.ok(frame!.first <= at, `position ${at}`)
          at = frame!.first + frame!.count
          frame!.release()
        }
        return at
      }
      await read(0, LINES)
      const end = await read(LINES, 2 * LINES)
      // A file cannot replace a folder.
      mkdirSync(join(state, 'cursor.json'))
      await t.rejects(spool.save({ next: end }))
      t.strictSame(spool.state, { next: 0 })
      await read(0, end)
      rmSync(join(state, 'cursor.json'), { recursive: true })
      await spool.save({ next: end })
      t.strictSame(spool.state, { next: end })
    },
  )
