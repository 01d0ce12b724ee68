import { createHash } from 'node:crypto'

/** Returns the hexadecimal SHA-256 of the JSON of a value, for audit entries; null if it is undefined. */
export const digest = (value: unknown): string | null =>
  value === undefined ? null : createHash('sha256').update(JSON.stringify(value)).digest('hex')
