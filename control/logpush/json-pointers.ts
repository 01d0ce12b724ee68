import { InvalidInput } from '../../src/core/errors.js'

/** Runs a check of one member. If it throws InvalidInput, `point` converts pointers into the member to pointers into the body. */
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
