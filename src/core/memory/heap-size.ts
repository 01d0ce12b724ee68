import { PerformanceObserver } from 'node:perf_hooks'
import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** Size of both halves, enough for the garbage of requests and jobs. */
const YOUNG_BYTES = 4 * 2 ** 20
const GARBAGE = 8 * 1024
const MAX_ATTEMPTS = 64

/**
 * Limits the heap to little more than the memory in use. While modules load, V8 would double its young generation up to
 * 32 MB permanently, because much survives. Garbage would grow to several times the memory in use.
 */
export function holdHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=60')
}

/** Grows the young generation to its working size, after everything is loaded. */
export function trimHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
  // The young generation grows when it is collected.
  for (let tries = 0; tries < MAX_ATTEMPTS && youngBytes() < YOUNG_BYTES; tries++)
    Array.from({ length: GARBAGE }, () => ({}))
  holdHeap()
}

/** Maximum size of both halves, equal to the maximum of Node.js 20 and 22. Node.js 24 would let them grow to 128 MB. */
const MAX_YOUNG_BYTES = 32 * 2 ** 20

let growing = false

/**
 * Lets the young generation grow from now on, to 32 MB. For work that creates much garbage in a short time, like the
 * conversion of pages, which is 50% slower with a small one.
 */
export function letHeapGrow(): void {
  if (growing) return
  growing = true
  setFlagsFromString('--semi-space-growth-factor=2')
  // Its maximum can be set only at the start of the process.
  const observer = new PerformanceObserver(() => {
    if (youngBytes() < MAX_YOUNG_BYTES) return
    setFlagsFromString('--semi-space-growth-factor=1')
    observer.disconnect()
  })
  observer.observe({ entryTypes: ['gc'] })
}

/** Size of both halves for a proxy with many requests, which leave only short-lived objects. */
const BUSY_YOUNG_BYTES = 16 * 2 ** 20

/**
 * Grows the young generation to the size for many requests, which saves a tenth of the processor time of cached
 * responses. Works in steps of about a millisecond, each in a separate turn. `held` contains objects that survive
 * collections, because V8 grows the young generation only if the survivors fill its capacity.
 */
export function growForTraffic(held: object[][] = [], size = youngBytes()): void {
  if (held.length === MAX_ATTEMPTS || size >= BUSY_YOUNG_BYTES) return
  letHeapGrow()
  held.push(Array.from({ length: GARBAGE }, () => ({})))
  setImmediate(() => {
    const grown = youngBytes()
    growForTraffic(grown > size ? [] : held, grown)
  })
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.space_size ?? YOUNG_BYTES
}
