import type { Budget } from './language/budget.js'
import type { Bytes } from './language/value.js'

/** Cost of a name or a value that is cut out of a text, in steps of the budget. */
const TEXT_STEPS = 12
/** Cost of a member that is added to a map, in steps of the budget. */
export const MEMBER_STEPS = 48

const AMPERSAND = 0x26
const EQUALS = 0x3d

/**
 * Calls `take` with the positions of each pair of a query or a form, which are its start, the end of its name, and its
 * end. A name without `=` has an empty value, and `&&` is not a pair. Charges the budget for the pass over the text.
 */
function eachPair(text: Bytes, budget: Budget, take: (from: number, nameEnd: number, to: number) => void): void {
  budget.spend(text.length >> 1)
  let from = 0
  let equals = -1
  for (let at = 0; at <= text.length; at++) {
    const byte = at === text.length ? AMPERSAND : text.charCodeAt(at)
    if (byte === EQUALS && equals < 0) equals = at
    if (byte !== AMPERSAND) continue
    if (at > from) take(from, equals < 0 ? at : equals, at)
    from = at + 1
    equals = -1
  }
}

/** Returns the names of a query or a form, in order and not decoded. */
export function pairNames(text: Bytes, budget: Budget): readonly Bytes[] {
  const names: Bytes[] = []
  eachPair(text, budget, (from, nameEnd) => {
    budget.spend(TEXT_STEPS)
    names.push(text.slice(from, nameEnd))
  })
  return names
}

/** Returns the values of a query or a form, in order and not decoded. */
export function pairValues(text: Bytes, budget: Budget): readonly Bytes[] {
  const values: Bytes[] = []
  eachPair(text, budget, (_, nameEnd, to) => {
    budget.spend(TEXT_STEPS)
    values.push(text.slice(nameEnd + 1, to))
  })
  return values
}

/** Returns a query or a form as a map from each name to its values in order, not decoded. */
export function pairMap(text: Bytes, budget: Budget): ReadonlyMap<Bytes, readonly Bytes[]> {
  const map = new Map<Bytes, Bytes[]>()
  eachPair(text, budget, (from, nameEnd, to) => {
    budget.spend(2 * TEXT_STEPS + MEMBER_STEPS)
    append(map, text.slice(from, nameEnd), text.slice(nameEnd + 1, to))
  })
  return map
}

/** Appends a value to the values of a name. */
export function append(map: Map<Bytes, Bytes[]>, name: Bytes, value: Bytes): void {
  const values = map.get(name)
  if (values === undefined) map.set(name, [value])
  else values.push(value)
}
