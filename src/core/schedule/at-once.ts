/** Calls `work` with each item and its position, at most `max` at the same time. */
export async function eachAtOnce<T>(
  items: Iterable<T>,
  max: number,
  work: (item: T, at: number) => Promise<void>,
): Promise<void> {
  let at = 0
  const rest = items[Symbol.iterator]()
  const worker = async (): Promise<void> => {
    for (let next = rest.next(); next.done !== true; next = rest.next()) await work(next.value, at++)
  }
  await Promise.all(Array.from({ length: max }, worker))
}
