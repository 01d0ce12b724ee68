// Preloaded into a daemon that was started with an IPC channel and --expose-gc: collects all garbage, and reads how much is
// allocated before and after. A collection between two reads makes their difference void.
import { PerformanceObserver } from 'node:perf_hooks'

let collections = 0
new PerformanceObserver((list) => (collections += list.getEntries().length)).observe({ entryTypes: ['gc'] })

async function answer({ collect }) {
  if (collect) {
    globalThis.gc()
    globalThis.gc()
  }
  // The observer hears of collections in a later turn.
  if (collect) await later()
  const { heapUsed, external } = process.memoryUsage()
  if (!collect) await later()
  process.send({ allocated: heapUsed + external, collections })
}

process.on('message', (message) => void answer(message))
process.channel?.unref()

const later = async () => await new Promise((resolve) => setTimeout(resolve, 50))
