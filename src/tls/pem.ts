import { readFileSync } from 'node:fs'
import { fileFault } from '../core/errors.js'

/** Reads a file; throws an error that names it. */
export function pem(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new Error(`cannot read ${file}: ${fileFault(cause)}`, { cause })
  }
}
