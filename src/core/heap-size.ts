import { getHeapSpaceStatistics, setFlagsFromString } from 'node:v8'

/** Of both halves: enough for what requests and jobs leave behind. */
const YOUNG_BYTES = 4 * 2 ** 20
const GARBAGE = 8 * 1024
const MAX_ATTEMPTS = 64

/**
 * Keeps the heap near what is in use. While modules load, much survives, so that V8 would double its young generation up
 * to 32 MB, and keep that for good; and it would let garbage grow to several times what is in use.
 */
export function holdHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=1')
  setFlagsFromString('--heap-growing-percent=30')
}

/** Lets the young generation grow to a size that is good for work, once everything is loaded. */
export function trimHeap(): void {
  setFlagsFromString('--semi-space-growth-factor=2')
  // It grows when it is collected.
  for (let tries = 0; tries < MAX_ATTEMPTS && youngBytes() < YOUNG_BYTES; tries++)
    Array.from({ length: GARBAGE }, () => ({}))
  holdHeap()
}

let growing = false

/**
 * Lets the young generation grow with the work from now on: for work that leaves much behind in a short time, like the
 * conversion of pages, which takes half as much again with a small one.
 */
export function letHeapGrow(): void {
  if (growing) return
  growing = true
  setFlagsFromString('--semi-space-growth-factor=2')
}

function youngBytes(): number {
  return getHeapSpaceStatistics().find((space) => space.space_name === 'new_space')?.space_size ?? YOUNG_BYTES
}
