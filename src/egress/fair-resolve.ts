import PQueue from 'p-queue'

/** All addresses of a name. */
export type Resolve = (name: string) => Promise<readonly string[]>

/** Of the four threads that Node does lookups and files with, one is left to the files. */
const FAST_CONCURRENCY = 2
const SLOW_CONCURRENCY = 1
/** A name that took longer is slow from then on, until it is quick again. */
const SLOW_MS = 1000
const MAX_SLOW = 10_000

/**
 * Lookups that hold up neither the disk nor each other: whoever asks for a name that is being looked up gets the same
 * answer, and names whose servers take their time wait for each other only.
 */
export function fairResolve(resolve: Resolve, now: () => number = () => performance.now()): Resolve {
  const quick = new PQueue({ concurrency: FAST_CONCURRENCY })
  const slow = new PQueue({ concurrency: SLOW_CONCURRENCY })
  const slowNames = new Set<string>()
  const underWay = new Map<string, Promise<readonly string[]>>()

  const timed: Resolve = async (name) => {
    const started = now()
    try {
      return await resolve(name)
    } finally {
      slowNames.delete(name)
      if (now() - started > SLOW_MS && slowNames.size < MAX_SLOW) slowNames.add(name)
      underWay.delete(name)
    }
  }

  return async (name) => {
    const known = underWay.get(name)
    if (known !== undefined) return await known
    const response = (slowNames.has(name) ? slow : quick).add(async () => await timed(name))
    underWay.set(name, response)
    return await response
  }
}
