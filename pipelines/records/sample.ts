/** Returns for each position whether its record is kept. */
export type Sampler = (position: number) => boolean

/**
 * Keeps the share `rate` (above 0, at most 1) of records. The decision for a position depends only on the position and
 * `seed`, such as a job's id, so a batch that is created again has the same records.
 */
export function sampler(rate: number, seed: string): Sampler {
  if (rate >= 1) return () => true
  let state = 0
  for (let i = 0; i < seed.length; i++) state = mix(state ^ seed.charCodeAt(i))
  return (position) => {
    const high = mix(mix(state ^ (position >>> 0)) ^ Math.floor(position / 2 ** 32))
    // 53 bits, so that the smallest rates are met as well.
    const share = ((high >>> 0) * 2 ** 21 + (mix(high ^ 0x9e3779b9) >>> 11)) / 2 ** 53
    return share < rate
  }
}

/** The finalizer of MurmurHash3, after a step that leads away from 0. */
function mix(value: number): number {
  let h = (value + 0x6d2b79f5) | 0
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return h ^ (h >>> 16)
}
