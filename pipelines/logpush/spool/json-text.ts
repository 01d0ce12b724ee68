/**
 * Returns the JSON text of a value of an event of the daemon. A bigint has all its digits. A value that JSON cannot
 * represent is null.
 */
export function jsonText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (typeof value === 'number') return Number.isFinite(value) ? String(value) : 'null'
  if (typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  if (typeof value !== 'object' || value === null) return 'null'
  if (value instanceof Date) return JSON.stringify(value)
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`
  const members: string[] = []
  for (const [name, member] of Object.entries(value))
    if (member !== undefined) members.push(`${JSON.stringify(name)}:${jsonText(member)}`)
  return `{${members.join(',')}}`
}
