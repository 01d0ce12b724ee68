/** Returns all entries of a list of the official client, page by page. */
export async function all<T>(pages: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const one of pages) found.push(one)
  return found
}
