import { join } from 'node:path'
import t from 'tap'
import { replay } from '../../pipelines/run/replay.js'
import { silentLog as log } from '../../src/core/log.js'
import { SinkError, type Sink } from '../../src/core/sink.js'
import { testFolder } from '../helpers/folder.js'
import { HandClock } from '../helpers/hand-clock.js'
import { never } from '../helpers/sink-deps.js'

t.test('the time that a destination may fail for ends when it accepts a batch', async (t) => {
  const lines = Array.from({ length: 2500 }, (_, n) => `{"n":${n}}\n`).join('')
  const folder = testFolder(t, { 'a.log': lines })
  const clock = new HandClock()
  const tried = { attempts: 0 }
  const sink: Sink = {
    encoding: 'identity',
    limits: {},
    daily: false,
    write: async () => {
      if (++tried.attempts === 1) throw new SinkError('transient', 'down')
      // After the batch that succeeds, longer than the destination may fail for.
      if (tried.attempts > 2) await clock.advance(20_000)
    },
    check: async () => {},
    close: async () => {},
  }
  const failures: string[] = []
  const running = replay({
    path: join(folder, 'a.log'),
    isLines: true,
    sink,
    destination: 'test',
    folder,
    retryForMs: 10_000,
    failing: (message) => void failures.push(message),
    note: () => t.fail('nothing to note'),
    progress() {},
    stop: never,
    clock,
    log,
  })
  const ended = running.then(() => true)
  const tick = async () => await new Promise<false>((resolve) => setImmediate(resolve, false))
  while (tried.attempts === 0) await tick()
  while (tried.attempts === 1 && !(await Promise.race([ended, tick()]))) await clock.advance(100)
  t.strictSame(await running, { read: 2500, delivered: 2500, failed: 0, batches: 3 })
  t.strictSame(failures, ['down'])
})
