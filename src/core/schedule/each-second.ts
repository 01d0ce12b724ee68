export const PERIOD_MS = 1000

/** Each with the time since the last call, in milliseconds. */
type Work = (ms: number) => void

const all = new Set<Work>()
let timer: NodeJS.Timeout | undefined
let last = 0

/**
 * Calls `work` about once a second. All work of the process has one timer, because each timer of its own would wake a process
 * that is idle. Returns how to end it. Does not keep the process alive.
 */
export function eachSecond(work: Work): () => void {
  // The same function may be given twice.
  const own: Work = (ms) => work(ms)
  all.add(own)
  if (timer === undefined) {
    last = performance.now()
    timer = setInterval(tick, PERIOD_MS).unref()
  }
  return () => {
    all.delete(own)
    if (all.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

function tick(): void {
  const now = performance.now()
  const ms = now - last
  last = now
  for (const work of all) work(ms)
}

/** Calls `work` about every `ms` milliseconds, once a second at the least often. Returns how to end it. */
export function every(ms: number, work: () => void): () => void {
  if (ms >= PERIOD_MS) return eachSecond(work)
  const own = setInterval(work, ms).unref()
  return () => clearInterval(own)
}
