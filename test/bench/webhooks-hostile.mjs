// Receivers that send 1 GB, trickle, hang or reset, beside fifty healthy ones: bytes taken of the answers, memory of the
// sending process, and how long the healthy ones waited.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { median, sized } from './measure.mjs'
import { benchSender } from './webhooks-sender.mjs'

const SECONDS = Number(process.argv[2] ?? sized(30, 2))
const HEALTHY = 50
const HOSTILE = ['flood', 'trickle', 'hang', 'reset']

const receiver = fork(new URL('./webhooks-receiver.mjs', import.meta.url))
const [{ port }] = await once(receiver, 'message')
const folder = mkdtempSync(join(tmpdir(), 'edged-bench-'))
const { accept, completed, enable, close } = await benchSender('embedded', folder, port, [
  ...HOSTILE.map((how) => `/${how}`),
  ...Array.from({ length: HEALTHY }, () => '/hook'),
])
await enable()

const mb = (bytes) => (bytes / 2 ** 20).toFixed(0).padStart(5)
const began = performance.now()
const delays = []
for (let second = 1; second <= SECONDS; second++) {
  await Promise.all(HOSTILE.map((_, at) => accept(at)))
  await Promise.all(
    Array.from({ length: HEALTHY }, async (_, at) => {
      const from = performance.now()
      await completed(await accept(HOSTILE.length + at))
      delays.push(performance.now() - from)
    }),
  )
  await wait(Math.max(0, began + 1000 * second - performance.now()))
  if (second % 5 === 0) console.log(`${String(second).padStart(4)} s  rss MB ${mb(process.memoryUsage().rss)}`)
}
receiver.send('how')
const [{ received, flooded }] = await once(receiver, 'message')
console.log(`\n${received} requests; the floods of 1 GB each came to ${mb(flooded)} MB before the connection ended`)
console.log(
  `from accepted to completed, healthy ones: median ${median(delays).toFixed(0)} ms, most ${Math.max(...delays).toFixed(0)} ms`,
)
await close()
receiver.disconnect()
rmSync(folder, { recursive: true })
process.exit()
