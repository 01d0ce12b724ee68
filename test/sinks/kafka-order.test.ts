/** Messages with the same key arrive in order, over attempts that fail: a consumer that drops repeats sees each key in order. */
import t from 'tap'
import { kafka } from '../../sinks/kafka.js'
import { SinkError } from '../../src/core/sink.js'
import { kafkaCluster, noKafka } from '../helpers/kafka-cluster.js'
import { kafkaGate } from '../helpers/kafka-gate.js'
import { batchOf, depsFor, never } from '../helpers/sink-deps.js'

const KEYS = 7
const BATCH = 1500

/** Lines of one batch, large enough for several requests. */
const textOf = (batch: number): string =>
  Array.from({ length: BATCH }, (_, at) => {
    const n = batch * BATCH + at
    return `{"user":"u${n % KEYS}","n":${n},"x":"${'x'.repeat(900)}"}\n`
  }).join('')

for (const idempotent of [false, true])
  t.test(
    `messages of one key are in order over failed attempts${idempotent ? ', with idempotent' : ''}`,
    { skip: noKafka(t) },
    async (t) => {
      const cluster = await kafkaCluster(t)
      const deps = await depsFor(cluster.brokers.map((broker) => Number(broker.split(':')[1])))
      const gate = kafkaGate(deps.egress)
      const url = `kafka://${cluster.brokers[0]!}/logs?tls=false&key=user${idempotent ? '&idempotent=true' : ''}`
      let failures = 0
      for (let batch = 0; batch < 3; batch++) {
        // The responses of some requests are lost, so the batch is attempted again after a part of it has arrived.
        gate.lost = idempotent ? 4 : 1
        for (let isDone = false; !isDone;) {
          const sink = kafka.open(new URL(url), { ...deps, egress: gate.egress })
          try {
            await sink.write({ ...batchOf(textOf(batch), 'identity'), name: `batch${batch}` }, never)
            isDone = true
          } catch (error) {
            if (!(error instanceof SinkError)) throw error
            failures++
          }
        }
      }
      // Numbered requests are repeated within an attempt.
      t.ok(idempotent || failures >= 3, `${failures} attempts failed`)
      const seen = new Set<string>()
      const numbers = new Map<string, number[]>()
      let repeated = 0
      for (const { batch, record, value } of await cluster.messages()) {
        const { user, n } = JSON.parse(value) as { user: string; n: number }
        const id = `${batch} ${record}`
        if (seen.has(id)) repeated++
        else numbers.set(user, [...(numbers.get(user) ?? []), n])
        seen.add(id)
      }
      t.ok(repeated > 0, `${repeated} messages came twice`)
      t.equal(seen.size, 3 * BATCH, 'nothing is lost')
      for (const [user, found] of numbers)
        t.same(
          found,
          found.toSorted((a, b) => a - b),
          user,
        )
    },
  )
