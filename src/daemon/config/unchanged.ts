import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../../config/schema.js'
import type { Pause } from '../../core/schedule/event-loop-yield.js'

/**
 * Returns the configuration `next`, in which every unchanged section and every unchanged entry of a list is the same
 * object as in `old`. So an object that was created from an entry need not be created again.
 */
export async function withUnchanged<C extends Partial<Config>>(old: C, next: C, pause: Pause): Promise<C> {
  const merged: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(next)) {
    const before: unknown = old[name as keyof C]
    merged[name] =
      Array.isArray(value) && Array.isArray(before)
        ? await entries(before, value, pause)
        : isDeepStrictEqual(before, value)
          ? before
          : value
    await pause()
  }
  return merged as C
}

async function entries(old: readonly unknown[], next: readonly unknown[], pause: Pause): Promise<readonly unknown[]> {
  const before = new Map<unknown, unknown>()
  for (const entry of old) before.set(keyOf(entry), entry)
  const merged: unknown[] = []
  for (const entry of next) {
    const known = before.get(keyOf(entry))
    merged.push(known !== undefined && isDeepStrictEqual(known, entry) ? known : entry)
    await pause()
  }
  return merged.length === old.length && merged.every((entry, place) => entry === old[place]) ? old : merged
}

/** Zones and accounts have ids, other entries names; the rest is compared as a whole. */
function keyOf(entry: unknown): unknown {
  if (typeof entry !== 'object' || entry === null) return entry
  const { id, name, email } = entry as Readonly<Record<string, unknown>>
  return id ?? name ?? email
}
