import { createHash } from 'node:crypto'

/** SHA-256 of the JSON of a value, hexadecimal, as audit entries have it; null where there is none. */
export const digest = (value: unknown): string | null =>
  value === undefined ? null : createHash('sha256').update(JSON.stringify(value)).digest('hex')
