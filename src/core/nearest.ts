/**
 * Returns the known name most similar to a misspelt one. They differ in at most two letters, and in less than half of
 * the name.
 */
export function nearest(name: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  let least = Math.min(3, Math.ceil(name.length / 2))
  for (const candidate of known) {
    if (Math.abs(candidate.length - name.length) >= least) continue
    const found = distance(name.toLowerCase(), candidate.toLowerCase())
    if (found >= least) continue
    least = found
    best = candidate
  }
  return best
}

/** Returns the letters to add, remove, change or swap with their neighbour (optimal string alignment). */
function distance(a: string, b: string): number {
  let before: number[] = []
  let row = Array.from({ length: b.length + 1 }, (_, at) => at)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      const changed = row[j - 1]! + Number(a[i - 1] !== b[j - 1])
      let cost = Math.min(row[j]! + 1, next[j - 1]! + 1, changed)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2]! + 1)
      next.push(cost)
    }
    before = row
    row = next
  }
  return row[b.length]!
}
