import { InvalidInput } from '../../src/core/errors.js'

/** Runs a check of one member: where it throws InvalidInput, `point` makes pointers into the member those into the body. */
export function pointed<T>(point: (pointer: string) => string, check: () => T): T {
  try {
    return check()
  } catch (error) {
    if (!(error instanceof InvalidInput)) throw error
    throw new InvalidInput(error.issues.map(({ pointer, message }) => ({ pointer: point(pointer), message })))
  }
}

/** All issues are at one place. */
export const only = (pointer: string) => (): string => pointer
