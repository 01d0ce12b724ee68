import t from 'tap'
import { Installation, VICTIMS, type Outcome } from '../drills/installation.js'
import { maxRepeats } from '../drills/limits.js'
import { testFolder } from '../helpers/folder.js'
import { NO_NATS } from '../helpers/nats.js'
import { NO_REDIS } from '../helpers/redis.js'
import { unbuilt } from './daemon.js'

t.test(
  'nothing confirmed is lost when daemons, Redis and NATS are killed in turn under load',
  { skip: unbuilt || NO_REDIS || NO_NATS, timeout: 400_000 },
  async (t) => {
    const installation = await Installation.start(t, testFolder(t))
    installation.load()
    const outcomes: Outcome[] = []
    for (const victim of VICTIMS) {
      const outcome = await installation.kill(victim)
      t.comment(JSON.stringify(outcome))
      outcomes.push(outcome)
    }
    const { confirmed, lost, repeatedRecords, repeatedDeliveries } = await installation.finish()
    t.ok(Object.values(confirmed).every((count) => count > 0))
    t.strictSame(lost, { records: 0, findings: 0, values: 0, scripts: 0 })
    const most = maxRepeats(outcomes)
    t.ok(repeatedRecords <= most.records, `${repeatedRecords} records again`)
    t.ok(repeatedDeliveries <= most.deliveries, `${repeatedDeliveries} findings again`)
  },
)
