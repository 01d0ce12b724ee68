// edged's queue and sender: durable accepts from 64 callers, then deliveries with their CPU.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { storeCpu } from './cpu-of.mjs'
import { cpuSeconds } from './measure.mjs'
import { benchSender } from './webhooks-sender.mjs'

const [store, port, count, webhooks, clients] = [process.argv[2], ...process.argv.slice(3).map(Number)]
const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
const paths = Array.from({ length: webhooks }, () => '/hook')
const { accept, all, enable, close } = await benchSender(store, folder, port, paths)
const over = all(count)

let made = 0
const client = async () => {
  while (made < count) await accept(made++ % webhooks)
}
const started = performance.now()
const before = storeCpu()
const acceptCpu = await cpuSeconds(() => Promise.all(Array.from({ length: clients }, client)))
const accepting = (performance.now() - started) / 1000
const acceptStoreCpu = storeCpu() - before

const sending = performance.now()
const cpu = await cpuSeconds(async () => {
  await enable()
  await over
})
process.send({
  accepts: made / accepting,
  acceptCpu: made / acceptCpu,
  acceptAllCpu: made / (acceptCpu + acceptStoreCpu),
  deliveries: count / cpu,
  each: count / ((performance.now() - sending) / 1000),
})
await close()
rmSync(folder, { recursive: true })
process.exit()
