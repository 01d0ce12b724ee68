/** Returns whether a value is frozen at every level and equals what its JSON reads to. */
export function isFrozenJson(value: unknown): boolean {
  if (typeof value === 'string' || typeof value === 'boolean' || value === null) return true
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0)
  if (typeof value !== 'object' || !Object.isFrozen(value)) return false
  if (Array.isArray(value)) return value.every(isFrozenJson) && Object.keys(value).length === value.length
  return Object.getPrototypeOf(value) === Object.prototype && Object.values(value).every(isFrozenJson)
}

/** Freezes a JSON value recursively. Uses a list of pending values instead of recursion, so that depth has no limit. */
export function frozenJson<T>(value: T): T {
  const left: unknown[] = [value]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next !== 'object' || next === null) continue
    Object.freeze(next)
    for (const inner of Object.values(next)) if (typeof inner === 'object' && inner !== null) left.push(inner)
  }
  return value
}
