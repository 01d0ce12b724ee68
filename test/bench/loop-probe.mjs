// Loaded into a daemon with `--import`: reports the longest turn of its event loop over an IPC channel, in elapsed time
// and, on Linux, in processor time of the main thread, which other processes of a busy machine do not change.
import { openSync, readSync } from 'node:fs'

const ticks = openCpuClock()
const bytes = Buffer.alloc(64)
let last = now()
let longest = { elapsed: 0, cpu: 0 }

function openCpuClock() {
  try {
    return openSync(`/proc/self/task/${process.pid}/schedstat`)
  } catch {
    return undefined
  }
}

function now() {
  const elapsed = performance.now()
  if (ticks === undefined) return { elapsed, cpu: elapsed }
  const length = readSync(ticks, bytes, 0, bytes.length, 0)
  return { elapsed, cpu: Number(bytes.toString('latin1', 0, length).split(' ')[0]) / 1e6 }
}

function tick() {
  const { elapsed, cpu } = now()
  longest = {
    elapsed: Math.max(longest.elapsed, elapsed - last.elapsed - 1),
    cpu: Math.max(longest.cpu, cpu - last.cpu),
  }
  last = { elapsed, cpu }
}

setInterval(tick, 1).unref()
process.on('message', () => {
  tick()
  process.send(longest)
  longest = { elapsed: 0, cpu: 0 }
})
process.channel?.unref()
