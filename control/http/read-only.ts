import { isDeepStrictEqual } from 'node:util'
import type { Issue } from '../../src/core/errors.js'
import { isUnknownMember } from '../../src/core/schema.js'

/** Reads the resource that a write changes, as its GET returns it. Returns undefined if the caller may not read it. */
export type ReadCurrent = () => Promise<unknown>

/** Members with the state of a resource, which changes by itself. */
const STATE: ReadonlySet<string> = new Set(['edged', 'last_used_on'])

type Members = Record<string, unknown>

const isMembers = (value: unknown): value is Members =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Removes members from `body` that its schema does not know and that have their current value, so that what GET returns can
 * be changed and written back. Returns the other issues; members with another value than the current one are read-only.
 */
export function withoutReadOnly(body: unknown, issues: readonly Issue[], current: unknown): Issue[] {
  return issues.flatMap((issue) => {
    const place = isUnknownMember(issue) ? pairAt(body, current, issue.pointer) : undefined
    if (!place || !Object.hasOwn(place.stored, place.name)) return [issue]
    const { given, stored, name } = place
    if (!STATE.has(name) && !isDeepStrictEqual(given[name], asJson(stored[name])))
      return [{ pointer: issue.pointer, message: 'is read-only, leave it out' }]
    delete given[name]
    return []
  })
}

/** Returns the object with the member at `pointer` in the body, and the object in its place in the current resource. */
function pairAt(
  body: unknown,
  current: unknown,
  pointer: string,
): { given: Members; stored: Members; name: string } | undefined {
  const steps = pointer
    .slice(1)
    .split('/')
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const name = steps.pop() ?? ''
  let given = body
  let stored = counterpart(body, current)
  for (const step of steps) {
    if (typeof given !== 'object' || given === null || typeof stored !== 'object' || stored === null) return undefined
    given = (given as Members)[step]
    stored = Array.isArray(stored) ? counterpart(given, stored, step) : counterpart(given, own(stored as Members, step))
  }
  return isMembers(given) && isMembers(stored) ? { given, stored, name } : undefined
}

const own = (members: Members, name: string): unknown => (Object.hasOwn(members, name) ? members[name] : undefined)

/** Returns what an item of the body is compared with: the item of a list with the same `id`, else the one at its index. */
function counterpart(given: unknown, stored: unknown, step?: string): unknown {
  if (!Array.isArray(stored) || Array.isArray(given)) return stored
  const items: readonly unknown[] = stored
  const id = isMembers(given) ? given['id'] : undefined
  if (id !== undefined) return items.find((item) => isMembers(item) && item['id'] === id)
  return step === undefined ? undefined : items[Number(step)]
}

/** Returns the form that a client has of a value: dates are texts, and undefined members are absent. */
const asJson = (value: unknown): unknown => (value === undefined ? undefined : JSON.parse(JSON.stringify(value)))
