// The usual loop: BullMQ on Redis with got, the same number of calls under way.
import { readFileSync } from 'node:fs'
import { Agent } from 'node:https'
import { Queue, Worker } from 'bullmq'
import got from 'got'
import { storeCpu } from './cpu-of.mjs'
import { cpuSeconds } from './measure.mjs'
import { payloadOf, URL_OF } from './webhooks-load.mjs'

const [redisPort, port, count, webhooks, clients] = process.argv.slice(2).map(Number)
const connection = { host: '127.0.0.1', port: redisPort, maxRetriesPerRequest: null }
const queue = new Queue('hooks', { connection })
await queue.waitUntilReady()

let made = 0
const client = async () => {
  while (made < count) {
    const id = `job-${made++}`
    await queue.add('send', { payload: payloadOf(id) }, { attempts: 10, jobId: id, removeOnComplete: 10_000 })
  }
}
const started = performance.now()
const before = storeCpu()
const acceptCpu = await cpuSeconds(() => Promise.all(Array.from({ length: clients }, client)))
const accepting = (performance.now() - started) / 1000
const acceptStoreCpu = storeCpu() - before

const agent = new Agent({
  keepAlive: true,
  maxSockets: 4 * webhooks,
  ca: readFileSync(new URL('../fixtures/tls/ca.pem', import.meta.url)),
  lookup: (_name, { all }, done) =>
    all ? done(null, [{ address: '127.0.0.1', family: 4 }]) : done(null, '127.0.0.1', 4),
})
let done = 0
const sending = performance.now()
const cpu = await cpuSeconds(async () => {
  await new Promise((resolve) => {
    const worker = new Worker(
      'hooks',
      async (job) => {
        const headers = { 'content-type': 'application/json', 'webhook-id': job.id }
        await got.post(URL_OF(port), {
          body: job.data.payload,
          headers,
          agent: { https: agent },
          timeout: { request: 15_000 },
          retry: { limit: 0 },
        })
      },
      { connection, concurrency: 4 * webhooks },
    )
    worker.on('completed', () => ++done === count && resolve())
  })
})
process.send({
  accepts: made / accepting,
  acceptCpu: made / acceptCpu,
  acceptAllCpu: made / (acceptCpu + acceptStoreCpu),
  deliveries: count / cpu,
  each: count / ((performance.now() - sending) / 1000),
})
process.exit()
