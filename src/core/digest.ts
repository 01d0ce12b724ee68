import { createHash } from 'node:crypto'

/** Returns the hexadecimal SHA-256 of the JSON of a value, for audit entries. Null if the value is undefined. */
export const digest = (value: unknown): string | null =>
  value === undefined ? null : digestOfJson(JSON.stringify(value))

/** Returns the hexadecimal SHA-256 of a JSON text. */
export const digestOfJson = (json: string): string => createHash('sha256').update(json).digest('hex')
