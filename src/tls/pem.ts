import { readFileSync } from 'node:fs'
import { fileFault } from '../core/errors.js'

/** Reads a file. Throws an error that names the file. */
export function pem(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new Error(`cannot read ${file}: ${fileFault(cause)}`, { cause })
  }
}
