import t from 'tap'
import { liveRecords } from '../../../control/logpush/live-elsewhere.js'
import type { LiveLines } from '../../../control/logpush/live-session.js'
import { newCounts, type Watched } from '../../../pipelines/logpush/monitor.js'
import { silentLog } from '../../../src/core/log.js'
import { account, zone, type Scope } from '../../../src/core/scope.js'
import { until } from '../../helpers/web.js'

const ZONE = zone('9f1839b6152d298aca64c4e906b6d074')

const watched = (name: string, scope: Scope | undefined): Watched => ({
  kind: scope ? 'job' : 'pipeline',
  name,
  dataset: 'http_requests',
  source: 'zone',
  destination: '',
  scope,
  settings: { dataset: 'http_requests', output_options: { field_names: ['RayID'] } },
  counts: newCounts(),
  progress: () => ({ lagRecords: 0, lagSeconds: 0, inFlight: 0 }),
  state: () => 'running',
  error: () => null,
})

/** What a machine sends of two lines in its spool. */
async function sent(
  input: object,
  {
    scope = ZONE,
    isSpoolShared = false,
    running = [],
  }: { scope?: Scope; isSpoolShared?: boolean; running?: Watched[] } = {},
) {
  let read = 0
  const lines: LiveLines = async function* (_scope, { dataset }) {
    for (const n of [1, 2]) {
      yield Buffer.from(`${dataset.name} ${n}\nmore\n`)
      read = n
    }
    throw new Error('the disk is gone')
  }
  const texts: [text: string, records: number][] = []
  let ended = false
  const sender = {
    send: (text: string | Uint8Array, records: number) => void texts.push([Buffer.from(text).toString(), records]),
    end: () => void (ended = true),
  }
  const source = liveRecords({ lines, running: () => running, isSpoolShared, log: silentLog })
  await source({ scope, input }, sender, new AbortController().signal)
  await until(() => ended)
  return { texts, read }
}

const BOTH = [
  ['http_requests 1\nmore\n', 2],
  ['http_requests 2\nmore\n', 2],
]

t.test('a machine sends its records to a session of another one, and ends the stream after a failure', async (t) => {
  t.same((await sent({ edge: { sample: 1 } })).texts, BOTH)
  t.same((await sent({ tail: {} })).texts, BOTH)
  t.same((await sent({ tail: { job: 7 } }, { running: [watched('7', ZONE)] })).texts, BOTH)
})

t.test('records of a shared spool are created and not sent: the other machine reads them there', async (t) => {
  t.same(await sent({ tail: {} }, { isSpoolShared: true }), { texts: [], read: 2 })
})

t.test('a session does not see jobs of another scope', async (t) => {
  const running = [watched('7', account('a'))]
  await t.rejects(sent({ tail: { job: 7 } }, { running }), { message: /is not running here/ })
})
