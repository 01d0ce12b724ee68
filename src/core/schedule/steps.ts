/** Items that one step of long work passes. */
const STEP_ITEMS = 500

/** Work in steps. Other work can be done between the steps. */
export type Steps<T> = Generator<undefined, T>

/** Does all steps now. */
export function finished<T>(steps: Steps<T>): T {
  for (;;) {
    const { done, value } = steps.next()
    if (done === true) return value
  }
}

/** Calls `visit` with each item and its position. */
export function* eachInSteps<T>(items: Iterable<T>, visit: (item: T, at: number) => void): Steps<void> {
  let at = 0
  for (const item of items) {
    visit(item, at)
    at += 1
    if (at % STEP_ITEMS === 0) yield undefined
  }
}

/** Returns a sorted copy of a list. */
export function* sortedInSteps<T>(list: readonly T[], order: (a: T, b: T) => number): Steps<T[]> {
  let runs: T[][] = []
  for (let at = 0; at < list.length; at += STEP_ITEMS) {
    runs.push(list.slice(at, at + STEP_ITEMS).sort(order))
    yield undefined
  }
  while (runs.length > 1) {
    const longer: T[][] = []
    for (let at = 0; at < runs.length; at += 2) longer.push(yield* merged(runs[at] ?? [], runs[at + 1] ?? [], order))
    runs = longer
  }
  return runs[0] ?? []
}

/** Merges two sorted lists. Items of `a` are before equal items of `b`. */
function* merged<T>(a: T[], b: T[], order: (a: T, b: T) => number): Steps<T[]> {
  const last = a.at(-1)
  const [first] = b
  if (last === undefined || first === undefined || order(last, first) <= 0) return b.length === 0 ? a : a.concat(b)
  const all: T[] = []
  let [i, j] = [0, 0]
  while (i < a.length && j < b.length) {
    const [left, right] = [a[i] as T, b[j] as T]
    const isLeft = order(left, right) <= 0
    all.push(isLeft ? left : right)
    if (isLeft) i += 1
    else j += 1
    if (all.length % STEP_ITEMS === 0) yield undefined
  }
  return all.concat(i < a.length ? a.slice(i) : b.slice(j))
}
